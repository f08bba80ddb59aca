// A disk that is really full: a small file system of its own, made in a namespace of this user. Reads go on, writes get
// 503, a purge frees the server, nothing that was acknowledged is lost, and the reserve comes back by itself.
import { execFileSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { cleanEnvironment, repository, Running } from '../helpers/command.ts';

const mounted = 'mount -t tmpfs -o size=96m none "$0"';

function canMount(): boolean {
  try {
    execFileSync('unshare', ['-Urm', 'sh', '-c', mounted, tmpdir()], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

it.skipIf(!canMount())('full disk (needs namespaces of users)', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'deskbell-full-'));
  const life = join(repository, 'test/engine/full-disk-life.ts');
  const { code, stdout, stderr } = await new Running(
    'unshare',
    ['-Urm', 'sh', '-c', `${mounted} && TMPDIR="$0" exec "$1" "$2"`, folder, process.execPath, life],
    { cwd: repository, env: cleanEnvironment() },
  ).ended;
  expect([code, stderr]).toEqual([0, '']);
  expect(stdout).toMatch(/^\d+ messages acknowledged, none lost\n$/);
  await rm(folder, { recursive: true });
});
