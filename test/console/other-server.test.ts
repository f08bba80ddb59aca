// Owns what a command says where something else answers at the server's address: a proxy, a network's sign-in, another program.
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { openCredentials } from '../../src/cli/credentials.ts';
import { inProcess } from '../helpers/cli.ts';

const page = '<!doctype html><title>Sign in to the network</title>';
let folder: string;
let server: Server;
let url: string;
/** What is answered to every request. */
let answer: { readonly status: number; readonly body: string };

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'deskbell-other-'));
  vi.stubEnv('DESKBELL_CONFIG', folder);
  vi.stubEnv('DESKBELL_DATA', join(folder, 'no-data'));
  server = createServer((_request, response) => {
    response.writeHead(answer.status, { 'Content-Type': 'text/html' }).end(answer.body);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterEach(async () => {
  vi.unstubAllEnvs();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  await rm(folder, { recursive: true, force: true });
});

async function keepSignIn(): Promise<void> {
  await openCredentials({ folder, warn: () => undefined }).save({
    url,
    organization: 'acme',
    organizationName: 'Acme',
    token: 'a-token',
    expiresAt: '2100-01-01T00:00:00.000Z',
    member: { id: '0198c000-0000-7000-8000-000000000000', name: 'Ann', email: 'ann@acme.example' },
  });
}

const said = (status: number): string =>
  `What answers at ${url} (HTTP ${status}) is no Deskbell. Is the address right, or does a proxy answer in its place?\n`;

it.each([
  [200, page],
  [201, page],
  [201, ''],
  [302, ''],
  [401, page],
  [404, page],
])('a sign-in that is answered with %i and %j says so', async (status, body) => {
  answer = { status, body };
  vi.stubEnv('DESKBELL_PASSWORD', 'correct horse battery');
  const outcome = await inProcess(['login', '--url', url, '--org', 'acme', '--email', 'ann@acme.example']);
  expect(outcome).toEqual({ code: 1, stdout: '', stderr: said(status) });
});

it('a token that is answered with a page is not kept', async () => {
  answer = { status: 200, body: page };
  const outcome = await inProcess(['login', '--url', url, '--token-stdin'], { input: 'a-token\n' });
  expect(outcome).toEqual({ code: 1, stdout: '', stderr: said(200) });
  expect(await openCredentials({ folder, warn: () => undefined }).list()).toEqual([]);
});

it.each([
  ['inbox'],
  ['show', '0198c000'],
  ['reply', '0198c000-0000-7000-8000-000000000001', 'Hello'],
  ['tags', 'list'],
  ['notify', 'list'],
  ['tail', '--follow'],
])('%s says so, where a page comes in place of the answer', async (...words) => {
  await keepSignIn();
  answer = { status: 200, body: page };
  expect(await inProcess(words)).toEqual({ code: 1, stdout: '', stderr: said(200) });
});
