// Owns: what a command writes where only a part of it finds room, be it a file that it makes or its output in one: it fails
// and says so. The room is a limit on the size of files: the system takes what fits of a write, as on a full disk, and
// refuses the next one.
import { existsSync } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { explain } from '../../src/cli/errors.ts';
import { StoreUnavailableError } from '../../src/engine/engine.ts';
import { ensureBuilt, temporaryFolder } from '../helpers/cli.ts';
import { cleanEnvironment, repository, Running, type Outcome } from '../helpers/command.ts';

/** POSIX counts `ulimit -f` in so many bytes. */
const blockBytes = 512;
const blocks = 16;
const room = blocks * blockBytes;

let folder: string;
let remove: () => Promise<void>;
beforeAll(async () => {
  await ensureBuilt();
  ({ folder, remove } = await temporaryFolder());
});
afterAll(() => remove());

/** Runs Node where no file grows beyond the room, with its output in a file. */
function limited(output: string, ...args: string[]): Promise<Outcome> {
  const script = 'ulimit -f "$0" && output="$1" && shift && exec "$@" > "$output"';
  return new Running('sh', ['-c', script, String(blocks), output, process.execPath, ...args], {
    env: cleanEnvironment(),
  }).ended;
}

const sizeOf = (path: string): Promise<number | null> =>
  stat(path).then(
    ({ size }) => size,
    () => null,
  );

describe('a file that a command makes', () => {
  const program = `
    const { writeNew } = await import(process.argv[1]);
    const lines = Number(process.argv[3]);
    await writeNew(process.argv[2], async (put) => {
      for (let at = 0; at < lines; at += 1) await put('x'.repeat(1023));
    }).catch((error) => {
      console.error(error.message);
      process.exitCode = 1;
    });`;
  const write = (file: string, lines: number): Promise<Outcome> =>
    limited(
      '/dev/null',
      '--input-type=module',
      '-e',
      program,
      join(repository, 'src/cli/new-file.ts'),
      file,
      String(lines),
    );

  it('is there where all of it has room', async () => {
    const file = join(folder, 'fits');
    expect(await write(file, room / 1024)).toMatchObject({ code: 0, stderr: '' });
    expect(await sizeOf(file)).toBe(room);
  });

  it('is not made where there is no folder for it, and the folder is named', async () => {
    const none = join(folder, 'none');
    expect(await write(join(none, 'file'), 1)).toMatchObject({
      code: 1,
      stderr: `There is no folder ${none}. Make it, or choose another.\n`,
    });
  });

  // One and three writes: the last one is what would look complete.
  it.each([room / 1024 + 1, 600])('is not left where a part has none: %i lines', async (lines) => {
    const file = join(folder, 'cut');
    expect(await write(file, lines)).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(
        /cut can't be written: EFBIG.* make room, or name a file on another disk/,
      ),
    });
    expect(await sizeOf(file)).toBeNull();
    expect((await readdir(folder)).filter((name) => name.startsWith('cut'))).toEqual([]);
  });

  it('has its name only when it is whole: what is killed leaves none, and the next one takes away what it left', async () => {
    const file = join(folder, 'killed');
    const left = (): Promise<string[]> =>
      readdir(folder).then((names) => names.filter((name) => name.startsWith('killed')));
    const dying = `
      const { writeNew } = await import(process.argv[1]);
      await writeNew(process.argv[2], async (put) => {
        for (let at = 0; at < 600; at += 1) await put('x'.repeat(1023));
        process.kill(process.pid, 'SIGKILL');
        await new Promise(() => setInterval(() => 0, 1_000));
      });`;
    const modules = ['--input-type=module', '-e', dying, join(repository, 'src/cli/new-file.ts'), file];
    await new Running(process.execPath, modules, { env: cleanEnvironment() }).ended;
    expect(await left()).toEqual([expect.stringMatching(/^killed\..+\.partial$/)]);
    expect(await write(file, 3)).toMatchObject({ code: 0, stderr: '' });
    expect(await left()).toEqual(['killed']);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    // One that is there already is left as it is.
    expect(await write(file, 4)).toMatchObject({ code: 1, stderr: expect.stringMatching(/exists already/) });
    expect([await sizeOf(file), await left()]).toEqual([3 * 1024, ['killed']]);
  });
});

it('an output in a file that has no room for all of it fails', async () => {
  const output = join(folder, 'output');
  expect(await limited(output, join(repository, 'bin/deskbell.js'), 'openapi')).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^The output could not be written: EFBIG/),
  });
  expect(await sizeOf(output)).toBe(room);
});

it.runIf(existsSync('/dev/full')).each(['help', '--version', 'org create --help'])(
  '%s fails where it could not be written',
  async (words) => {
    const program = [process.execPath, join(repository, 'bin/deskbell.js'), ...words.split(' ')];
    const { ended } = new Running('sh', ['-c', 'exec "$0" "$@" > /dev/full', ...program], {
      env: cleanEnvironment(),
    });
    expect(await ended).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^The output could not be written: ENOSPC/),
    });
  },
);

it.each(['ENOSPC', 'EDQUOT', 'SQLITE_FULL'])('%s from anywhere says what to do', (code) => {
  const error = Object.assign(new Error(`${code}: no space, write`), { code });
  const typed = { command: (text: string) => text, hasOption: () => false };
  const refusedBy = (cause: unknown): Error => new StoreUnavailableError('Storage refused.', { cause });
  for (const one of [error, refusedBy(error)])
    expect(explain(one, typed)).toEqual({
      code: 1,
      line: `There is no room left on the disk (${code}: no space, write). Make room, then run the command again.`,
    });
  expect(explain(refusedBy(new Error('gone')), typed).line).toBe(
    'Storage refused (gone). Find out with doctor what is wrong, then run the command again.',
  );
});

/** Runs a command where no file may be longer than so many blocks, or as usual. */
function runWithin(most: number | null, ...words: string[]): Promise<Outcome> {
  const script = `${most === null ? '' : `ulimit -f ${most} && `}exec "$0" "$@"`;
  const program = [process.execPath, join(repository, 'bin/deskbell.js'), ...words];
  return new Running('sh', ['-c', script, ...program], { env: cleanEnvironment() }).ended;
}

it('a first run that has no room leaves no key that the next one would refuse', async () => {
  const data = join(folder, 'first');
  const create = ['org', 'create', 'Acme', '--data', data];
  expect(await runWithin(0, ...create)).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^The secret key .* can't be written: EFBIG.* Give the folder room/),
  });
  expect(await readdir(data)).toEqual([]);
  expect(await runWithin(null, ...create)).toMatchObject({ code: 0, stderr: '' });
});

it('a database that has no room to be opened says so, and nothing advises a backup', async () => {
  const data = join(folder, 'no-room');
  expect(await runWithin(null, 'org', 'create', 'Acme', '--data', data)).toMatchObject({ code: 0 });
  for (const words of [
    ['org', 'list'],
    ['backup', join(folder, 'no-room.backup')],
  ]) {
    const { code, stderr } = await runWithin(1, ...words, '--data', data);
    expect([code, stderr], words[0]).toEqual([1, expect.stringContaining('There is not enough room')]);
    expect(stderr).not.toContain('restore');
  }
  const { code, stdout } = await runWithin(1, 'doctor', '--data', data);
  expect([code, stdout]).toEqual([1, expect.stringContaining('See whether the disk is full')]);
  expect(stdout).not.toContain('restore');
});
