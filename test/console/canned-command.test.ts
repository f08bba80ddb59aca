// Owns: the command that keeps canned replies, against a real server. What the console does with them is tested there.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import type { CannedReply } from '../../src/protocol/entities.ts';
import { startApp, type TestApp } from '../helpers/app.ts';
import { inProcess } from '../helpers/cli.ts';
import { createMember, createOrganization, memberPassword } from '../helpers/fixtures.ts';

let app: TestApp;
let folder: string;

beforeAll(async () => {
  app = await startApp({ realTime: true });
  folder = await mkdtemp(join(tmpdir(), 'deskbell-canned-'));
  vi.stubEnv('DESKBELL_CONFIG', folder);
  await createOrganization(app, 'acme');
  const ann = await createMember(app, 'acme', 'operator', 'Ann');
  await inProcess(['login', '--url', app.url, '--org', 'acme', '--email', ann.email, '--password-stdin'], {
    input: `${memberPassword}\n`,
  });
});
afterAll(async () => {
  vi.unstubAllEnvs();
  await app.stop();
  await rm(folder, { recursive: true, force: true });
});

async function kept(): Promise<CannedReply[]> {
  const { stdout } = await inProcess(['canned', 'list', '--json']);
  return (JSON.parse(stdout) as { items: CannedReply[] }).items;
}

test('a text is kept, changed and forgotten under its shortcut, with or without the slash', async () => {
  expect(await kept()).toEqual([]);
  expect((await inProcess(['canned', 'set', '/Hello', 'Good morning!'])).stdout).toContain('/hello');
  expect(await kept()).toMatchObject([
    { shortcut: 'hello', content: 'Good morning!', contentFormat: 'plain' },
  ]);
  const [first] = await kept();
  await inProcess(['canned', 'set', 'hello', '-', '--markdown'], { input: 'Good **evening**!\n' });
  expect(await kept()).toMatchObject([
    { id: first?.id, contentFormat: 'lexical', contentHtml: '<p>Good <strong>evening</strong>!</p>' },
  ]);
  expect((await inProcess(['canned', 'list'])).stdout).toMatch(/\/hello\s+Good evening!/);
  expect(await inProcess(['canned', 'remove', 'hello'])).toMatchObject({ code: 0 });
  expect(await kept()).toEqual([]);
});

test('all of them are listed, however many pages they fill', async () => {
  for (let index = 0; index < 103; index += 1) await inProcess(['canned', 'set', `r${index}`, 'x']);
  expect(await kept()).toHaveLength(103);
});

test('what can not be is one sentence that says what to do', async () => {
  const gone = await inProcess(['canned', 'remove', 'nothing']);
  expect(gone).toMatchObject({ code: 1, stdout: '' });
  expect(gone.stderr).toMatch(/no canned reply \/nothing.*canned list/);
  const wrong = await inProcess(['canned', 'set', 'two words', 'x']);
  expect(wrong).toMatchObject({ code: 2, stdout: '' });
  expect(wrong.stderr).toMatch(/shortcut/);
  expect(await inProcess(['canned', 'set', 'empty', '-'], { input: '' })).toMatchObject({
    code: 2,
    stderr: 'Nothing came on standard input; nothing was saved.\n',
  });
});
