// What the largest file and the largest mail add to the memory of the built server, at its peak. The kernel keeps the
// peak, so that nothing depends on when it is looked at.
import { randomBytes } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { readConfig } from '../../src/config.ts';
import { openService } from '../../src/open-service.ts';
import { fileLimits, sizeLimits } from '../../src/protocol/codes.ts';
import type { OperationName, Output, RawInput } from '../../src/protocol/operations.ts';
import type { Actor } from '../../src/services/core/actor.ts';
import { execute } from '../../src/services/execute.ts';
import { request } from '../helpers/client.ts';
import { serve, type ServerProcess } from '../helpers/process.ts';

const mebibyte = 1_048_576;

let folder: string;
let server: ServerProcess;
let token: string;
let key: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'deskbell-large-'));
  const config = readConfig({ data: join(folder, 'data') }, {});
  const { service, close } = await openService(config, 'command', () => null, { passwordCost: 4 });
  const call = <N extends OperationName>(actor: Actor, name: N, input: RawInput<N>): Promise<Output<N>> =>
    execute({ service, actor, address: null, contentLimit: sizeLimits.contentRest }, name, input);
  const local: Actor = { kind: 'local' };
  await call(local, 'organizations.create', { name: 'Large', slug: 'large' });
  const { id: applicationId } = await call(local, 'applications.create', {
    organization: 'large',
    name: 'Site',
    domains: [],
  });
  await call(local, 'applications.update', { applicationId, email: { mode: 'inbox' } });
  ({ key } = await call(local, 'email.createKey', { applicationId }));
  const password = 'correct horse battery staple';
  const account = { organization: 'large', email: 'olivia@large.example', password };
  await call(local, 'members.add', { ...account, name: 'Olivia', role: 'admin' });
  const session = await call({ kind: 'anonymous' }, 'session.create', account);
  if (!('token' in session) || session.token === undefined) throw new Error('no session');
  ({ token } = session);
  await close();
  server = await serve(join(folder, 'data'), {
    environment: { DESKBELL_MAIL_ADDRESS: 'reply@chat.example.com' },
  });
});

afterAll(async () => {
  await server.stop();
  await rm(folder, { recursive: true, force: true });
});

async function upload(bytes: number): Promise<void> {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/octet-stream' };
  const body = 'x'.repeat(bytes);
  const { status, text } = await request(server.url, 'POST', '/api/v1/staff/files', headers, body);
  expect(status, text).toBe(201);
}

async function handIn(sizes: readonly number[]): Promise<void> {
  const part = (bytes: number, at: number): string[] => [
    '--cut',
    'Content-Type: application/octet-stream',
    `Content-Disposition: attachment; filename="f${at}.bin"`,
    'Content-Transfer-Encoding: base64',
    '',
    randomBytes(bytes).toString('base64').replace(/.{76}/g, '$&\r\n'),
  ];
  const raw = [
    'From: Rosa <rosa@example.net>',
    'To: help@example.com',
    'Subject: pictures',
    'Content-Type: multipart/mixed; boundary=cut',
    '',
    '--cut',
    'Content-Type: text/plain',
    '',
    'See these.',
    ...sizes.flatMap(part),
    '--cut--',
    '',
  ].join('\r\n');
  expect(raw.length).toBeLessThan(25 * mebibyte);
  const type = { 'content-type': 'message/rfc822' };
  const { status, text } = await request(server.url, 'POST', `/api/v1/inbound/email/${key}`, type, raw);
  expect([status, text]).toEqual([200, '{"state":"taken"}']);
}

/** @returns by how many MiB the process was larger at most while `act` ran than it was before */
async function peakOf(act: () => Promise<void>): Promise<number> {
  const status = async (name: string): Promise<number> => {
    const text = await readFile(`/proc/${server.pid}/status`, 'utf8');
    return Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(text)?.[1]) / 1_024;
  };
  // What was loaded or left over before is neither's.
  await setTimeout(1_500);
  await writeFile(`/proc/${server.pid}/clear_refs`, '5');
  const before = await status('VmRSS');
  await act();
  return (await status('VmHWM')) - before;
}

it('an upload of 25 MiB adds at most 20 MiB', async () => {
  await upload(100_000);
  expect(await peakOf(() => upload(fileLimits.staffBytes))).toBeLessThan(20);
});

it('a mail of nearly 25 MiB adds at most 60 MiB', async () => {
  await handIn([100_000]);
  expect(await peakOf(() => handIn([9e6, 9e6, 1.2e5, 1e4]))).toBeLessThan(60);
});
