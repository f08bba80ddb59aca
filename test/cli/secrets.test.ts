// Owns: that a password never stands where others can read it: not on the command line
// of a process, not in what a command prints, not in the files it leaves.
import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { spawn } from 'node:child_process';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { deskbell, deskbellJson, ensureBuilt, inProcess, temporaryFolder } from '../helpers/cli.ts';
import { cleanEnvironment, repository } from '../helpers/command.ts';
import { eventually } from '../helpers/eventually.ts';

const password = 'pässword-that-stays-hidden';
const add = ['member', 'add', '--org', 'acme', '--name', 'Ada', '--role', 'admin', '--email'];

let data: string;
let remove: () => Promise<void>;

beforeAll(async () => {
  await ensureBuilt();
  ({ folder: data, remove } = await temporaryFolder());
  await deskbellJson(['org', 'create', 'Acme', '--data', data]);
});
afterAll(() => remove());

test('a waiting command shows no password to ps, and its answer and its files hold none', async () => {
  const child = spawn(
    process.execPath,
    [join(repository, 'bin/deskbell.js'), ...add, 'ada@example.com', '--password-stdin', '--data', data],
    { env: cleanEnvironment(), stdio: ['pipe', 'pipe', 'pipe'] },
  );
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => (output += text));
  const ended = new Promise((resolve) => child.once('close', resolve));
  child.stdin.write(password);
  // Every user of the machine can run ps.
  const ps = (): Promise<string> =>
    new Promise((resolve) => {
      let text = '';
      const asked = spawn('ps', ['-o', 'args=', '-p', String(child.pid)]);
      asked.stdout.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
      asked.once('close', () => resolve(text));
    });
  const seen = await eventually(async () => {
    const text = await ps();
    expect(text).toContain('member add');
    return text;
  });
  expect(seen).not.toContain(password);
  child.stdin.end('\n');
  expect(await ended).toBe(0);
  expect(output).not.toContain(password);
  for (const name of await readdir(data))
    expect((await readFile(join(data, name))).includes(password)).toBe(false);
});

describe('where a password comes from', () => {
  test('nowhere: exit 2 and a sentence that names the ways', async () => {
    const outcome = await deskbell([...add, 'none@example.com', '--data', data]);
    expect(outcome).toMatchObject({
      code: 2,
      stdout: '',
      stderr: expect.stringMatching(/^No password:[^\n]*--password-stdin[^\n]*DESKBELL_PASSWORD[^\n]*\n$/),
    });
  });

  test.each([
    ['nothing', '', /Nothing came/],
    ['only a line end', '\n', /Nothing came/],
    ['two lines', 'first line\nsecond line\n', /one line/],
    ['a short one', 'short', /The password must have at least 8 characters/],
    ['too much', 'x'.repeat(20_000), /too long/],
  ])('%s on standard input: exit 2, and it is not repeated', async (_what, input, said) => {
    const outcome = await inProcess([...add, 'x@example.com', '--password-stdin', '--data', data], { input });
    expect(outcome).toMatchObject({ code: 2, stdout: '', stderr: expect.stringMatching(said) });
    if (input.trim() !== '') expect(outcome.stderr).not.toContain(input.trim());
  });

  test('a line end behind it does not belong to it; blanks do', async () => {
    const { id } = await deskbellJson([...add, 'eve@example.com', '--password-stdin', '--data', data], {
      input: ' with blanks \r\n',
    });
    const { execute } = await import('../../src/services/execute.ts');
    const { openService } = await import('../../src/open-service.ts');
    const { readConfig } = await import('../../src/config.ts');
    const { service, close } = await openService(readConfig({ data }, {}), 'command', () => null);
    const call = { service, actor: { kind: 'anonymous' }, address: '127.0.0.1', contentLimit: 5000 } as const;
    const session = await execute(call, 'session.create', {
      organization: 'acme',
      email: 'eve@example.com',
      password: ' with blanks ',
    });
    expect(session.member.id).toBe(id);
    await close();
  });
});
