// Attacks backups: taken under load, killed in the middle, damaged, foreign, newer,
// of another key; restored into folders that are taken, served or broken.
import { randomBytes } from 'node:crypto';
import {
  copyFile,
  mkdir,
  mkdtemp,
  open,
  readdir,
  readFile,
  rm,
  stat,
  truncate,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Redacted, readConfig, type Config } from '../../src/config.ts';
import { backUpDataFolder, restoreDataFolder } from '../../src/data-folder.ts';
import { readBackup, type BackupFiles } from '../../src/engine/sqlite/backup.ts';
import { enterWal, openConnection } from '../../src/engine/sqlite/connection.ts';
import { startApp, type TestApp } from '../helpers/app.ts';
import { rowsOf } from '../helpers/database.ts';
import { createConversation, createMessage, createOrganization, createVisitor } from '../helpers/fixtures.ts';

const now = Date.UTC(2026, 10, 21, 12);
let app: TestApp;
let scratch: string;
let backup: string;
let key: string;
const configOf = (data: string): Config => readConfig({ data }, {});

beforeAll(async () => {
  scratch = await mkdtemp(join(tmpdir(), 'deskbell-backup-'));
  app = await startApp();
  const { application } = await createOrganization(app, 'acme');
  const visitor = createVisitor(app, application);
  const id = await createConversation(visitor);
  for (let index = 0; index < 20; index += 1) await createMessage(visitor, id, `message ${index}`);
  backup = join(scratch, 'good.backup');
  await backUpDataFolder(configOf(app.folder), backup, false, now);
  key = (await readFile(join(app.folder, 'secret.key'), 'utf8')).trim();
});
afterAll(async () => {
  await app.stop();
  await rm(scratch, { recursive: true, force: true });
});

let count = 0;
const fresh = (): string => join(scratch, `folder-${(count += 1)}`);

/** What a folder's database holds of messages, in order, and that it is whole. */
function messagesIn(folder: string): unknown[] {
  const connection = openConnection(join(folder, 'deskbell.db'), {
    durability: 'full',
    lockTimeoutMs: 1_000,
  });
  try {
    expect(connection.pragma('integrity_check', { simple: true })).toBe('ok');
    expect(connection.pragma('foreign_key_check')).toEqual([]);
    return connection.prepare('select * from messages order by conversation_id, seq').all();
  } finally {
    connection.close();
  }
}

/** A copy of the good backup with one byte turned over. */
async function damagedAt(position: number): Promise<string> {
  const file = join(scratch, `damaged-${(count += 1)}`);
  await copyFile(backup, file);
  const handle = await open(file, 'r+');
  const { buffer } = await handle.read(Buffer.alloc(1), 0, 1, position);
  await handle.write(Buffer.of(buffer.readUInt8() ^ 1), 0, 1, position);
  await handle.close();
  return file;
}

it('holds every message and the key, in one file for its owner alone, and comes back whole', async () => {
  expect((await stat(backup)).mode & 0o777).toBe(0o600);
  const facts = await readBackup(backup);
  expect(facts).toMatchObject({ madeAt: now, key: expect.any(String) });
  expect(Buffer.from(facts.key, 'base64')).toEqual(Buffer.from(key, 'base64'));
  const folder = fresh();
  expect((await restoreDataFolder(configOf(folder), backup, false, now)).before).toBeNull();
  expect(messagesIn(folder)).toEqual(
    await rowsOf(app, 'select * from messages order by conversation_id, seq'),
  );
  expect((await readFile(join(folder, 'secret.key'), 'utf8')).trim()).toBe(facts.key);
  for (const name of ['deskbell.db', 'secret.key'])
    expect((await stat(join(folder, name))).mode & 0o777, name).toBe(0o600);
  expect((await stat(folder)).mode & 0o777).toBe(0o700);
  expect((await readdir(scratch)).filter((name) => name.includes('partial'))).toEqual([]);
});

describe('says what is wrong with the place that it was given', () => {
  const backUp = (file: string, force = false): Promise<unknown> =>
    backUpDataFolder(configOf(app.folder), file, force, now);

  it.each([[false], [true]])('a folder, told to replace: %s', async (force) => {
    const at = fresh();
    await mkdir(at);
    await expect(backUp(at, force)).rejects.toThrow(`${at} is a folder. Name a file in it.`);
    expect(await readdir(at)).toEqual([]);
  });

  it('no folder, a file as a folder, a name that is too long', async () => {
    const missing = fresh();
    await expect(backUp(join(missing, 'x'))).rejects.toThrow(`There is no folder ${missing}.`);
    await expect(backUp(join(backup, 'x'))).rejects.toThrow(`${backup} is not a folder.`);
    await expect(backUp(join(scratch, 'x'.repeat(250)))).rejects.toThrow('The name of the file is too long');
  });

  it.each([
    ['EACCES', 'This user may not write to the folder'],
    ['EPERM', 'This user may not write to the folder'],
    ['EROFS', "is on a file system that can't be written to"],
  ])('%s, which no test can bring about as root', async (code, sentence) => {
    const file = join(scratch, 'refused.backup');
    const refusal = (path: string): Error => Object.assign(new Error(`${code}: raw`), { code, path });
    const refusing = (about: (files: BackupFiles) => string): Promise<unknown> =>
      backUpDataFolder(configOf(app.folder), file, false, now, null, (_database, files) =>
        Promise.reject(refusal(about(files))),
      );
    await expect(refusing(({ target }) => target)).rejects.toThrow(sentence);
    // What can't be read is not the target's fault.
    await expect(refusing(() => join(app.folder, 'deskbell.db'))).rejects.toThrow(
      `The database ${join(app.folder, 'deskbell.db')} can't be written.`,
    );
  });
});

it('never replaces a file that it was not told to, nor one of its own folder', async () => {
  const config = configOf(app.folder);
  const mine = join(scratch, 'mine');
  await writeFile(mine, 'mine');
  await expect(backUpDataFolder(config, mine, false, now)).rejects.toThrow(/exists already/);
  expect(await readFile(mine, 'utf8')).toBe('mine');
  for (const name of ['deskbell.db', 'deskbell.db-wal', 'deskbell.lock', 'secret.key'])
    await expect(backUpDataFolder(config, join(app.folder, name), true, now), name).rejects.toThrow(
      /itself keeps/,
    );
  await expect(backUpDataFolder(config, join(scratch, 'nowhere', 'x'), false, now)).rejects.toThrow(
    /no folder/,
  );
  await backUpDataFolder(config, mine, true, now);
  expect((await readBackup(mine)).bytes).toBeGreaterThan(0);
  expect((await stat(mine)).mode & 0o777).toBe(0o600);
});

describe('a file that is no whole backup is refused, and nothing is made', () => {
  const cases: Readonly<Record<string, () => Promise<string>>> = {
    'a missing one': async () => join(scratch, 'none'),
    'an empty one': async () => {
      const file = join(scratch, 'empty');
      await writeFile(file, '');
      return file;
    },
    noise: async () => {
      const file = join(scratch, 'noise');
      await writeFile(file, randomBytes(100_000));
      return file;
    },
    'a bare database': async () => {
      const file = join(scratch, 'bare.db');
      const connection = openConnection(file, { durability: 'full', lockTimeoutMs: 0 });
      connection.exec('create table t (x); insert into t values (1)');
      connection.close();
      return file;
    },
    'one cut off': async () => {
      const file = join(scratch, 'cut');
      await copyFile(backup, file);
      await truncate(file, (await stat(file)).size - 100);
      return file;
    },
    'one cut off in the database': async () => {
      const file = join(scratch, 'cut-early');
      await copyFile(backup, file);
      await truncate(file, 8_192);
      return file;
    },
    "one byte of a message's page turned over": async () =>
      damagedAt(Math.floor((await readBackup(backup)).bytes / 2)),
    'the first byte turned over': () => damagedAt(0),
    'the trailer turned over': async () => damagedAt((await readBackup(backup)).bytes + 3),
    'the mark turned over': async () => damagedAt((await stat(backup)).size - 10),
  };
  it.each(Object.keys(cases))('%s', async (name) => {
    const file = (await cases[name]?.()) ?? '';
    const folder = fresh();
    await expect(restoreDataFolder(configOf(folder), file, true, now)).rejects.toThrow(
      /is not a Deskbell backup|is damaged|can't be read|There is no file/,
    );
    expect(await stat(folder).catch(() => null)).toBeNull();
  });

  it('a key that is not the one of the database, though everything else fits', async () => {
    const facts = await readBackup(backup);
    const bytes = (await readFile(backup)).subarray(0, facts.bytes);
    const trailer = JSON.stringify({ ...facts, key: randomBytes(32).toString('base64') });
    const file = join(scratch, 'other-key');
    await writeFile(
      file,
      Buffer.concat([
        bytes,
        Buffer.from(trailer),
        Buffer.from(`DESKBELL-BACKUP-1:${String(trailer.length).padStart(6, '0')}`),
      ]),
    );
    const folder = fresh();
    await expect(restoreDataFolder(configOf(folder), file, true, now)).rejects.toThrow(/another key/);
    expect((await readdir(folder)).filter((name) => name !== 'deskbell.lock')).toEqual([]);
  });
});

describe('what a restore does not touch', () => {
  it('a folder with a database, unless told; then what was there is kept', async () => {
    const folder = fresh();
    await restoreDataFolder(configOf(folder), backup, false, now);
    const connection = openConnection(join(folder, 'deskbell.db'), { durability: 'full', lockTimeoutMs: 0 });
    connection.exec('delete from messages');
    connection.close();
    await expect(restoreDataFolder(configOf(folder), backup, false, now)).rejects.toThrow(/--force/);
    expect(messagesIn(folder)).toEqual([]);
    const { before } = await restoreDataFolder(configOf(folder), backup, true, now);
    expect(messagesIn(folder)).toHaveLength(20);
    expect(messagesIn(before ?? '')).toEqual([]);
    expect((await readFile(join(before ?? '', 'secret.key'), 'utf8')).trim()).toBe(
      (await readBackup(backup)).key,
    );
  });

  it('a broken database is kept aside with its log, and replaced', async () => {
    const folder = fresh();
    await mkdir(folder, { mode: 0o700 });
    await writeFile(join(folder, 'deskbell.db'), randomBytes(50_000));
    await writeFile(join(folder, 'deskbell.db-wal'), randomBytes(5_000));
    const { before } = await restoreDataFolder(configOf(folder), backup, true, now);
    expect(messagesIn(folder)).toHaveLength(20);
    expect((await readdir(before ?? '')).toSorted()).toEqual(['deskbell.db', 'deskbell.db-wal']);
  });

  it('a folder that a server uses, whatever it is told', async () => {
    await expect(restoreDataFolder(configOf(app.folder), backup, true, now)).rejects.toThrow(
      /server \(process \d+\) is running/,
    );
  });

  it('a database that another program has open', async () => {
    const folder = fresh();
    await restoreDataFolder(configOf(folder), backup, false, now);
    const shell = openConnection(join(folder, 'deskbell.db'), { durability: 'full', lockTimeoutMs: 0 });
    enterWal(shell);
    shell.prepare('select count(*) from messages').get();
    await expect(restoreDataFolder(configOf(folder), backup, true, now)).rejects.toThrow(/has .* open/);
    shell.close();
    expect(messagesIn(folder)).toHaveLength(20);
    await restoreDataFolder(configOf(folder), backup, true, now + 1);
  });

  it('a folder under another key from the environment', async () => {
    const config = { ...configOf(fresh()), secretKey: new Redacted(randomBytes(32).toString('base64')) };
    await expect(restoreDataFolder(config, backup, true, now)).rejects.toThrow(/DESKBELL_SECRET_KEY/);
  });

  it('a key that lies there without a database', async () => {
    const folder = fresh();
    await mkdir(folder, { mode: 0o700 });
    await writeFile(join(folder, 'secret.key'), `${randomBytes(32).toString('base64')}\n`, { mode: 0o600 });
    await expect(restoreDataFolder(configOf(folder), backup, false, now)).rejects.toThrow(/another key/);
  });
});
