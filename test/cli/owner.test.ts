// Files that do not belong to the user of the server: what root makes in the data folder of another user is refused, and
// what is there already is found. Root takes the place of another user by its effective id alone, so that the checkout
// may be closed to others.
import { chmod, chown, mkdtemp, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { createApp, type App } from '../../src/app.ts';
import { readConfig } from '../../src/config.ts';
import { createLog } from '../../src/log.ts';
import { inProcess, outputStream } from '../helpers/cli.ts';

const isRoot = process.geteuid?.() === 0;
/** Whose folder it is: for root another user’s, for others their own, in which root is played. */
const owner = isRoot ? 65_534 : (process.geteuid?.() ?? -1);
let folder: string;

beforeEach(async () => {
  // The tests' own folder is closed to other users, below all others of the system.
  folder = await mkdtemp('/var/tmp/deskbell-owner-');
  await chmod(folder, 0o711);
});
afterEach(async () => {
  vi.restoreAllMocks();
  await rm(folder, { recursive: true, force: true });
});

const make = (data: string) => inProcess(['org', 'create', 'Acme', '--json', '--data', data]);

function serverOf(data: string): App {
  return createApp(readConfig({ data, port: '0' }, {}), { log: createLog('error', outputStream(false)) });
}

it('root makes no database there, restores and imports nothing, and is told as whom to do it', async () => {
  const mine = join(folder, 'mine');
  expect(await make(mine)).toMatchObject({ code: 0 });
  const archive = join(folder, 'a.jsonl');
  const backup = join(folder, 'a.backup');
  expect(await inProcess(['backup', backup, '--data', mine])).toMatchObject({ code: 0 });
  expect(await inProcess(['export', archive, '--org', 'acme', '--data', mine])).toMatchObject({ code: 0 });
  const theirs = await mkdtemp(join(folder, 'theirs-'));
  if (isRoot) await chown(theirs, owner, owner);
  vi.spyOn(process, 'getuid').mockReturnValue(0);
  for (const command of [
    ['org', 'create', 'Acme'],
    ['restore', backup],
    ['import', archive],
  ])
    expect(await inProcess([...command, '--data', theirs]), command[0]).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(`sudo -u '#${owner}'`),
    });
  expect(await readdir(theirs)).toEqual([]);
});

it('a server that may not read the database says whose it must be, and doctor advises no backup', async () => {
  const data = join(folder, 'data');
  expect(await make(data)).toMatchObject({ code: 0 });
  // Once as one who may: what is loaded on use is loaded by then.
  const usual = serverOf(data);
  await usual.start();
  await usual.stop();
  await inProcess(['doctor', '--json', '--data', data]);
  const database = join(data, 'deskbell.db');
  if (isRoot) {
    await chown(data, owner, owner);
    for (const name of await readdir(data))
      if (name !== 'deskbell.db') await chown(join(data, name), owner, owner);
    process.seteuid?.(owner);
  } else await chmod(database, 0);
  try {
    // Whose the database is already may not own it anew, but write it again.
    await expect(serverOf(data).start()).rejects.toThrow(
      isRoot ? `chown -R ${owner} ${data}` : `chmod -R u+rwX ${data}`,
    );
    const { stdout } = await inProcess(['doctor', '--json', '--data', data]);
    expect(stdout).toContain("it can't be opened");
    expect(stdout).not.toContain('Restore a backup');
  } finally {
    if (isRoot) process.seteuid?.(0);
  }
  // Only root can have made files for others, and sees them.
  const { stdout } = await inProcess(['doctor', '--json', '--data', data]);
  expect(stdout.includes(`${database} belongs to user 0, and the folder to user ${owner}`)).toBe(isRoot);
});

it('a folder whose files may only be read is named with what to do, and doctor advises no backup', async () => {
  const data = join(folder, 'data');
  expect(await make(data)).toMatchObject({ code: 0 });
  const commands = [['org', 'list'], ['purge'], ['reindex']];
  // Once as one who may: what is loaded on use is loaded by then.
  for (const command of commands)
    expect(await inProcess([...command, '--data', data]), command[0]).toMatchObject({ code: 0 });
  const usual = serverOf(data);
  await usual.start();
  await usual.stop();
  for (const name of await readdir(data)) {
    await chmod(join(data, name), 0o400);
    if (isRoot) await chown(join(data, name), owner, owner);
  }
  await chmod(data, 0o500);
  if (isRoot) {
    await chown(data, owner, owner);
    process.seteuid?.(owner);
  }
  const advice = `chmod -R u+rwX ${data}`;
  try {
    for (const command of commands)
      expect(await inProcess([...command, '--data', data]), command[0]).toMatchObject({
        code: 1,
        stderr: expect.stringContaining(advice),
      });
    await expect(serverOf(data).start()).rejects.toThrow(advice);
    const { stdout } = await inProcess(['doctor', '--json', '--data', data]);
    expect(stdout).toContain("it can't be opened");
    expect(stdout).not.toContain('Restore a backup');
  } finally {
    if (isRoot) process.seteuid?.(0);
    await chmod(data, 0o700);
  }
});
