// Owns that the built program is that of the sources: tests run it as a user would.
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { acquireServerLock } from '../../src/engine/sqlite/server-lock.ts';
import { cleanEnvironment, repository, run } from './command.ts';
import { eventually } from './eventually.ts';

async function newestChange(folder: string): Promise<number> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const times = await Promise.all(
    entries
      // What lies in widget/dist was built, too.
      .filter((entry) => entry.isFile() && !/[/\\]dist($|[/\\])/.test(entry.parentPath))
      .map(async (entry) => (await stat(join(entry.parentPath, entry.name))).mtimeMs),
  );
  return Math.max(0, ...times);
}

/** Folders and files that decide what is built. */
const sources = ['src', 'migrations', 'widget', 'docs'];
const settings = ['esbuild.config.mjs', 'package.json', 'package-lock.json'];

async function isBuilt(): Promise<boolean> {
  const built = await stat(join(repository, 'dist/cli.mjs')).catch(() => null);
  if (built === null) return false;
  const changes = await Promise.all([
    ...sources.map((folder) => newestChange(join(repository, folder))),
    ...settings.map(async (file) => (await stat(join(repository, file))).mtimeMs),
  ]);
  return built.mtimeMs >= Math.max(...changes);
}

/** Builds dist/ unless it is newer than the sources. Called once before the tests, by one run at a time. */
export async function ensureBuilt(): Promise<void> {
  if (await isBuilt()) return;
  // The system frees this lock however its holder ends: a build that was killed holds up no later run.
  const release = await eventually(() => {
    const held = acquireServerLock(join(repository, 'node_modules', '.deskbell-build.lock'));
    if (held === null) throw new Error('Another test file is building dist/.');
    return held;
  });
  try {
    if (!(await isBuilt()))
      await run(process.execPath, ['esbuild.config.mjs'], { cwd: repository, env: cleanEnvironment() });
  } finally {
    release();
  }
}
