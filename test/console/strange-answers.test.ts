// Owns what commands make of answers that no Deskbell gives: JSON of another form, at whatever depth, and what does not end.
// One sentence and an exit code come of each, and no stack.
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { openCredentials } from '../../src/cli/credentials.ts';
import { inProcess } from '../helpers/cli.ts';

let folder: string;
let server: Server;
let url: string;
let answer: (response: ServerResponse, method: string, path: string) => void;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'deskbell-strange-'));
  vi.stubEnv('DESKBELL_CONFIG', folder);
  vi.stubEnv('DESKBELL_DATA', join(folder, 'no-data'));
  server = createServer((request, response) => {
    request.resume().on('end', () => answer(response, request.method ?? '', request.url ?? ''));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  await openCredentials({ folder, warn: () => undefined }).save({
    url,
    organization: 'acme',
    organizationName: 'Acme',
    token: 'a-token',
    expiresAt: '2100-01-01T00:00:00.000Z',
    member: { id, name: 'Ann', email: 'ann@acme.example' },
  });
});
afterEach(async () => {
  vi.unstubAllEnvs();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  await rm(folder, { recursive: true, force: true });
});

const id = '0198c000-0000-7000-8000-000000000000';

const commands: readonly (readonly string[])[] = [
  ['inbox'],
  ['inbox', '--view', 'Mine'],
  ['show', id],
  ['show', '0198c000'],
  ['transcript', id],
  ['accept', id],
  ['release', id],
  ['resolve', id],
  ['transfer', id, 'Ann'],
  ['tag', id, 'sales'],
  ['untag', id, 'sales'],
  ['snooze', id, '--for', '2h'],
  ['wake', id],
  ['priority', id, 'high'],
  ['bulk', id, '--tag', 'sales'],
  ['tags', 'list'],
  ['tags', 'create', 'sales'],
  ['tags', 'rename', 'sales', 'shop'],
  ['tags', 'delete', 'sales', '--yes'],
  ['views', 'list'],
  ['views', 'save', 'Mine', '--unread'],
  ['views', 'delete', 'Mine'],
  ['canned', 'list'],
  ['canned', 'set', 'hi', 'Hello'],
  ['canned', 'remove', 'hi'],
  ['session', 'list'],
  ['session', 'end', id],
  ['token', 'list'],
  ['token', 'create', '--name', 'n', '--scope', 'conversations:read'],
  ['token', 'revoke', id],
  ['notify', 'list'],
  ['notify', 'test'],
  ['block', 'list'],
  ['block', 'visitor', id, '--app', id],
  ['block', 'lift', id],
  ['second-factor', 'status'],
  ['second-factor', 'disable', '--password-stdin'],
];

const names = [
  ['conversations', 'messages', 'tags', 'views', 'tokens', 'sessions', 'blocks', 'devices', 'members'],
  ['cannedReplies', 'ways', 'passkeys', 'results', 'happenings', 'methods'],
  ['conversation', 'message', 'token', 'tag', 'view', 'member', 'organization', 'session', 'secondFactor'],
] as const;

/** Every field that an answer may have, with the same in each. */
const with_ = (list: unknown, one: unknown): object => ({
  ...Object.fromEntries([...names[0], ...names[1]].map((name) => [name, list])),
  ...Object.fromEntries(names[2].map((name) => [name, one])),
  total: 1,
  limit: 20,
  offset: 0,
  success: true,
});

const documents: readonly unknown[] = [
  null,
  [],
  { success: 'no' },
  with_([], {}),
  with_([null], null),
  with_([{}], { id: 5 }),
  with_([[]], []),
];

describe.each(documents.map((document) => [JSON.stringify(document).slice(0, 60), document] as const))(
  'an answer %s',
  (_text, document) => {
    it.each([
      [200, []],
      [201, ['--json']],
      [404, []],
    ])('with %i ends no command with a stack', async (status, more) => {
      answer = (response) =>
        response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(document));
      const wrong: object[] = [];
      for (const words of commands) {
        const { code, stderr } = await inProcess([...words, ...more], { input: 'secret\n' });
        const isStack = /\(at |^TypeError|Unexpected:|\[object /m.test(stderr);
        const isSentence = code === 0 || /^[^\n]+\n$/.test(stderr);
        if (isStack || !isSentence || (status >= 400 && code === 0))
          wrong.push({ words: words.join(' '), code, stderr });
      }
      expect(wrong).toEqual([]);
    });
  },
);

it('what is not what the command asked for is no success', async () => {
  answer = (response) => response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
  const done: string[] = [];
  for (const words of [...commands, ['reply', id, 'Hello']])
    if ((await inProcess(words, { input: 'secret\n' })).code === 0) done.push(words.join(' '));
  expect(done).toEqual([]);
});

it('an answer without end is read no further than the longest there is', async () => {
  let written = 0;
  answer = (response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    const piece = Buffer.alloc(1_048_576, 0x20);
    const pour = (): void => {
      while (!response.destroyed && written < 400 * piece.length) {
        written += piece.length;
        if (!response.write(piece)) {
          response.once('drain', pour);
          return;
        }
      }
    };
    pour();
  };
  expect(await inProcess(['inbox'])).toEqual({
    code: 1,
    stdout: '',
    stderr: expect.stringContaining(`What answers at ${url} (HTTP 200) is no Deskbell.`),
  });
  expect(written).toBeLessThan(200 * 1_048_576);
});

it('a Deskbell of another version is named as one', async () => {
  const json = (response: ServerResponse, status: number, body: object): void => {
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  };
  const older = `The Deskbell at ${url} is older or newer than this command (`;
  const outcome = { code: 1, stdout: '', stderr: expect.stringContaining(older) };
  // A field of the list that this version knows is not there yet, or not any more.
  answer = (response, _method, path) =>
    path === '/openapi.json'
      ? json(response, 200, { openapi: '3.1.0', info: { title: 'Deskbell', version: '1' } })
      : json(response, 200, { conversations: [], limit: 20, offset: 0 });
  expect(await inProcess(['inbox', '--json'])).toEqual(outcome);
  // Another thing that describes itself is none.
  answer = (response, _method, path) =>
    json(response, 200, path === '/openapi.json' ? { info: { title: 'Shop' } } : { conversations: [] });
  expect((await inProcess(['inbox', '--json'])).stderr).toContain('is no Deskbell');
  // What the command asks for is not there at all.
  const error = { error: 'not_found', message: 'No such path. The API lives below /api/v1.' };
  answer = (response) => json(response, 404, error);
  expect(await inProcess(['tags', 'list'])).toEqual(outcome);
});
