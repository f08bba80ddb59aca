// Owns: how a command finds the server of its data folder: the file that the server leaves,
// its rights, its end, and what is made of a left-over.
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { announceServer, serverHere } from '../../src/cli/running-server.ts';
import { ensureBuilt } from '../helpers/cli.ts';
import { serve, type ServerProcess } from '../helpers/process.ts';

let folder: string;
let served: ServerProcess | null;
const file = (): string => join(folder, 'deskbell-server.json');

beforeAll(() => ensureBuilt());
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'deskbell-running-'));
  served = null;
});
afterEach(async () => {
  await served?.kill().catch(() => undefined);
  await rm(folder, { recursive: true, force: true });
});

test('a server says where it is, to its owner only, for as long as it serves', async () => {
  served = await serve(folder, { umask: '000' });
  const { url, pid } = JSON.parse(await readFile(file(), 'utf8')) as { url: string; pid: number };
  expect({ url, mode: (await stat(file())).mode & 0o777 }).toEqual({ url: served.url, mode: 0o600 });
  expect(await serverHere({ data: folder, databaseUrl: null })).toEqual({ url, pid });
  await served.stop();
  await expect(stat(file())).rejects.toThrow(/ENOENT/);
  expect(await serverHere({ data: folder, databaseUrl: null })).toBeNull();
});

test('what a killed server left behind is no server, and the next one takes its place', async () => {
  const first = await serve(folder);
  await first.kill();
  expect(JSON.parse(await readFile(file(), 'utf8'))).toMatchObject({ url: first.url });
  expect(await serverHere({ data: folder, databaseUrl: null })).toBeNull();
  served = await serve(folder);
  expect(await serverHere({ data: folder, databaseUrl: null })).toMatchObject({ url: served.url });
});

test('a server that can’t leave its address leaves no half of it either', async () => {
  await mkdir(file());
  await expect(announceServer(folder, { url: 'http://127.0.0.1:1', pid: process.pid })).rejects.toThrow(
    'EISDIR',
  );
  expect(await readdir(folder)).toEqual(['deskbell-server.json']);
});

describe('a file that says something else', () => {
  test.each([
    '',
    '{',
    'null',
    '{"url":"http://127.0.0.1:1"}',
    '{"url":"not a url","pid":1}',
    '{"url":"http://127.0.0.1:1","pid":-1}',
  ])('%j is no server', async (text) => {
    await writeFile(file(), text);
    expect(await serverHere({ data: folder, databaseUrl: null })).toBeNull();
  });

  test('a living process that does not answer is no server', async () => {
    await announceServer(folder, { url: 'http://127.0.0.1:1', pid: process.pid });
    expect(await serverHere({ data: folder, databaseUrl: null })).toBeNull();
  });

  test('the end of one server does not take away the word of another', async () => {
    const withdraw = await announceServer(folder, { url: 'http://127.0.0.1:1', pid: 1 });
    await announceServer(folder, { url: 'http://127.0.0.1:2', pid: 2 });
    await withdraw();
    expect(JSON.parse(await readFile(file(), 'utf8'))).toEqual({ url: 'http://127.0.0.1:2', pid: 2 });
  });
});
