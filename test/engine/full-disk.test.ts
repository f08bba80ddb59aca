// A full disk: reads go on, writes get 503, a purge frees the server, nothing that was acknowledged is lost, and the
// reserve comes back by itself. Everywhere by a limit on the database's pages; where this user can make a file system in
// a namespace, also on one that is really full.
import { execFileSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { cleanEnvironment, repository, Running } from '../helpers/command.ts';

const mounted = 'mount -t tmpfs -o size=96m none "$TMPDIR"';

function canMount(): boolean {
  try {
    execFileSync('unshare', ['-Urm', 'sh', '-c', mounted], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

/** By a limit on pages; and where the machine lets a user make a file system, on one: the reserve and the log, too. */
const forms: readonly (readonly [kind: string, command: readonly [string, ...string[]]])[] = [
  ['quota', ['env']],
  ...(canMount()
    ? [['disk', ['unshare', '-Urm', 'sh', '-c', `${mounted} && exec "$@"`, '--']] as const]
    : []),
];

it.each(forms)('a server lives on without room, and loses nothing: %s', async (kind, [command, ...words]) => {
  const folder = await mkdtemp(join(tmpdir(), 'deskbell-full-'));
  const life = join(repository, 'test/engine/full-disk-life.ts');
  const { code, stdout, stderr } = await new Running(command, [...words, process.execPath, life, kind], {
    cwd: repository,
    env: cleanEnvironment({ TMPDIR: folder }),
  }).ended;
  expect([code, stderr]).toEqual([0, '']);
  expect(stdout).toMatch(/^\d+ messages acknowledged, none lost\n$/);
  await rm(folder, { recursive: true });
});
