// Owns: a start on a disk without room for a database, or for the change of an older one's schema: the server says so and
// what to do, and the database stays what it was. Only where this user can make a file system in a namespace.
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { migrations } from '../../migrations/index.ts';
import { databaseFile } from '../../src/engine/open-engine.ts';
import { openConnection } from '../../src/engine/sqlite/connection.ts';
import { migrate, schemaVersion } from '../../src/engine/sqlite/migrate.ts';
import { ensureBuilt } from '../helpers/built.ts';
import { cleanEnvironment, repository, Running } from '../helpers/command.ts';

function canMount(): boolean {
  try {
    execFileSync('unshare', ['-Urm', 'sh', '-c', 'mount -t tmpfs none /tmp'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

const bin = join(repository, 'bin/deskbell.js');
const oldSchema = 19;

let parent: string | undefined;
afterEach(async () => {
  if (parent !== undefined) await rm(parent, { recursive: true });
});

it.runIf(canMount())('a change of the schema that finds no room leaves the database as it was', async () => {
  await ensureBuilt();
  const made = await mkdtemp(join(tmpdir(), 'deskbell-upgrade-'));
  parent = made;
  const inside = (name: string): string => join(made, name);
  const [before, disk, after] = [inside('before'), inside('disk'), inside('after')];
  for (const folder of [before, disk]) await mkdir(folder, { mode: 0o700 });
  await writeFile(join(before, 'secret.key'), randomBytes(32).toString('base64'), { mode: 0o600 });
  const old = openConnection(databaseFile(before), { durability: 'full', lockTimeoutMs: 1_000 });
  await migrate(old, async () => undefined, migrations.slice(0, oldSchema));
  old.exec("insert into meta values ('large', hex(zeroblob(900000)))");
  old.close();
  // The database fits, and a copy of it does not.
  const script = `
    mount -t tmpfs -o size=3m none "$1" && cp -r "$0/." "$1" &&
    { "$3" "$4" serve --port 0 --data "$1"; code=$?; cp -r "$1" "$2"; exit $code; }`;
  const { code, stderr } = await new Running(
    'unshare',
    ['-Urm', 'sh', '-c', script, before, disk, after, process.execPath, bin],
    { env: cleanEnvironment() },
  ).ended;
  expect(stderr).toMatch(
    /^There is not enough room in \S+ to open the database\. .* \d MiB\. Make room and start again; nothing/,
  );
  expect(code).toBe(1);
  expect((await readdir(after)).filter((name) => name.startsWith('deskbell-before-schema-'))).toEqual([]);
  const kept = openConnection(databaseFile(after), { durability: 'full', lockTimeoutMs: 1_000 });
  expect(schemaVersion(kept)).toBe(oldSchema);
  expect(kept.pragma('integrity_check', { simple: true })).toBe('ok');
  kept.close();
});

it.runIf(canMount())('a first start that finds no room says so', async () => {
  await ensureBuilt();
  parent = await mkdtemp(join(tmpdir(), 'deskbell-upgrade-'));
  const script = 'mount -t tmpfs -o size=64k none "$0" && exec "$@"';
  const { code, stderr } = await new Running(
    'unshare',
    [
      '-Urm',
      'sh',
      '-c',
      script,
      parent,
      process.execPath,
      bin,
      'serve',
      '--port',
      '0',
      '--data',
      join(parent, 'data'),
    ],
    { env: cleanEnvironment() },
  ).ended;
  expect(stderr).toMatch(
    /^There is not enough room in \S+data to make a database\. Make room, or choose another/,
  );
  expect(code).toBe(1);
});
