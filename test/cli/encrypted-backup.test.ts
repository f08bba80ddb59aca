// Backups with a passphrase as a person and a script make them: asked for on a terminal, from standard input, from a
// file; wrong, short, left out; damaged and cut off; killed in the middle.
import { copyFile, readdir, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { main } from '../../src/cli/main.ts';
import { openConnection } from '../../src/engine/sqlite/connection.ts';
import {
  deskbellJson,
  deskbellProcessJson,
  ensureBuilt,
  inProcess,
  outputStream,
  start,
  temporaryFolder,
} from '../helpers/cli.ts';
import { eventually } from '../helpers/eventually.ts';
import { usualPriority } from '../helpers/idle-class.ts';

const passphrase = 'correct horse battery staple';
const marker = 'an organization of this name';
let folder: string;
let remove: () => Promise<void>;
let data: string;
let file: string;
let made: Awaited<ReturnType<typeof typed>>;
let names = 0;
const fresh = (): string => join(folder, `data-${(names += 1)}`);

beforeAll(async () => {
  ({ folder, remove } = await temporaryFolder());
  data = fresh();
  await deskbellJson(['org', 'create', marker, '--slug', 'acme', '--data', data]);
  file = join(folder, 'sealed.backup');
  made = await typed(
    ['backup', file, '--encrypt', '--data', data],
    ['too short', passphrase, 'another one, typed wrongly', passphrase, passphrase],
  );
});
afterAll(() => remove());

/** Runs a command whose person types these answers, each once its question is there. */
async function typed(
  args: readonly string[],
  answers: readonly string[],
): Promise<{ code: number; stdout: string; stderr: string }> {
  const input = Object.assign(new PassThrough(), { isTTY: true, setRawMode: () => input });
  const [output, errors] = [outputStream(true), outputStream(true)];
  const done = main(args, { input, output, errors, outputClosed: new AbortController().signal });
  for (const [index, answer] of answers.entries()) {
    await eventually(() =>
      expect(errors.text().match(/\(not shown\): |Once more: /g)?.length ?? 0).toBeGreaterThan(index),
    );
    input.write(`${answer}\r`);
  }
  return { code: await done, stdout: output.text(), stderr: errors.text() };
}

const organizationsIn = async (of: string): Promise<unknown> =>
  (await deskbellJson<{ items: unknown }>(['org', 'list', '--data', of])).items;

it('gives nothing away, and comes back whole with the key', async () => {
  const bytes = await readFile(file);
  const key = (await readFile(join(data, 'secret.key'), 'utf8')).trim();
  for (const secret of [marker, key, 'SQLite format', passphrase]) expect(bytes.includes(secret)).toBe(false);
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  expect((await readdir(data)).filter((name) => name.includes('unsealed'))).toEqual([]);
  const to = fresh();
  const secret = join(folder, 'passphrase');
  await writeFile(secret, `${passphrase}\r\n`);
  await deskbellJson(['restore', file, '--passphrase-file', secret, '--data', to]);
  expect(await organizationsIn(to)).toEqual(await organizationsIn(data));
  expect((await readFile(join(to, 'secret.key'), 'utf8')).trim()).toBe(key);
});

it('asks twice on a terminal, refuses a short one, and never shows it', () => {
  expect(made.code).toBe(0);
  expect(made.stderr).toMatch(/at least 12 characters[\s\S]*The two differ/);
  expect(made.stdout).toMatch(/is encrypted/);
  expect(made.stdout + made.stderr).not.toContain(passphrase);
});

it('asks three times for the passphrase of a backup, and leaves nothing behind', async () => {
  const to = fresh();
  const outcome = await typed(['restore', file, '--data', to], ['one', 'two', 'three']);
  expect(outcome.code).toBe(1);
  expect(outcome.stderr.match(/not the passphrase/g)).toHaveLength(3);
  expect(outcome.stderr.match(/Once again/g)).toHaveLength(2);
  expect(outcome.stderr).not.toMatch(/three/);
  expect(await stat(to).catch(() => null)).toBeNull();
});

describe('refuses, and leaves everything as it was', () => {
  const restore = (which: string, to: string, more: readonly string[] = [], input = '') =>
    inProcess(['restore', which, '--data', to, ...more], { input });

  it('a damaged file and one cut off, each by its name', async () => {
    const damaged = join(folder, 'damaged.backup');
    const bytes = await readFile(file);
    bytes.writeUInt8(bytes.readUInt8(5_000) ^ 1, 5_000);
    await writeFile(damaged, bytes);
    const cut = join(folder, 'cut.backup');
    await copyFile(file, cut);
    await truncate(cut, 20_000);
    for (const [which, pattern] of [
      [damaged, /is damaged: its contents are not what was backed up\.$/m],
      [cut, /is cut off: it has 20000 bytes of \d+/],
    ] as const) {
      const to = fresh();
      const outcome = await restore(which, to, ['--passphrase-stdin'], passphrase);
      expect(outcome, which).toMatchObject({ code: 1, stderr: expect.stringMatching(pattern) });
      expect(await stat(to).catch(() => null)).toBeNull();
    }
  });

  it('an encrypted one without a passphrase, and a plain one with it', async () => {
    const to = fresh();
    expect(await restore(file, to)).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/no terminal .*--passphrase-file/),
    });
    const plain = join(folder, 'plain.backup');
    await deskbellJson(['backup', plain, '--data', data]);
    expect(await restore(plain, to, ['--passphrase-stdin'], passphrase)).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/has no passphrase/),
    });
    expect(await stat(to).catch(() => null)).toBeNull();
  });

  it.each([
    [['--encrypt'], '', /no terminal/],
    [['--passphrase-stdin'], 'short', /at least 12 characters/],
    [['--passphrase-stdin'], '', /Nothing came on standard input.*--passphrase-stdin/],
    [['--passphrase-stdin', '--passphrase-file', '/nowhere'], passphrase, /once/],
    [['--passphrase-file', '/nowhere'], '', /can't be read/],
  ])('a backup with %j and %j', async (options, input, pattern) => {
    const target = join(folder, 'refused.backup');
    const outcome = await inProcess(['backup', target, ...options, '--data', data], { input });
    expect(outcome).toMatchObject({ stdout: '', stderr: expect.stringMatching(pattern) });
    expect(outcome.code).not.toBe(0);
    expect(await stat(target).catch(() => null)).toBeNull();
  });
});

it('killed in the middle leaves no file of that name, and the next one removes what is left in the clear', async () => {
  await ensureBuilt();
  const big = fresh();
  await deskbellJson(['org', 'create', 'Acme', '--slug', 'acme', '--data', big]);
  // Enough to be found at work: what a copy takes depends on its bytes.
  const fill = (rows: number): void => {
    const connection = openConnection(join(big, 'deskbell.db'), { durability: 'full', lockTimeoutMs: 5_000 });
    connection.exec(
      `insert into audit with recursive n(i) as (select 1 union all select i + 1 from n where i < ${rows}) select hex(randomblob(16)), null, 'local', 'filled', 'x', json_object('text', hex(randomblob(2000))), null, 0 from n`,
    );
    connection.close();
  };
  fill(4_000);
  const target = join(folder, 'killed.backup');
  const secret = join(folder, 'killed-passphrase');
  const env = await usualPriority(fresh());
  await writeFile(secret, passphrase);
  const inTheClear = async (): Promise<string[]> =>
    (await readdir(big)).filter((name) => name.startsWith('deskbell-unsealed'));
  // One that was done before the test looked is followed by another, of more.
  for (let more = 2_000; (await inTheClear()).length === 0; more *= 2) {
    if ((await stat(target).catch(() => null)) !== null) fill(more);
    await rm(target, { force: true });
    const running = start(['backup', target, '--passphrase-file', secret, '--data', big], env);
    await eventually(async () => {
      if ((await inTheClear()).length === 0 && running.child.exitCode === null) throw new Error('not begun');
    });
    await running.stop('SIGKILL');
  }
  expect((await readdir(folder)).includes('killed.backup')).toBe(false);
  await deskbellProcessJson(['backup', target, '--passphrase-file', secret, '--data', big], { env });
  expect(await inTheClear()).toEqual([]);
  expect((await readdir(folder)).filter((name) => name.startsWith('killed.backup'))).toEqual([
    'killed.backup',
  ]);
});
