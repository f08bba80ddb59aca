// Owns: `npx deskbell` in a checkout, the first time and without a network.
// Must not write into the checkout that runs the tests: it lays out one of its own.
import { existsSync } from 'node:fs';
import { cp, mkdir, mkdtemp, readdir, readFile, realpath, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ensureBuilt } from '../helpers/cli.ts';
import { cleanEnvironment, repository, run } from '../helpers/command.ts';

let folder: string;
let checkout: string;
let environment: Record<string, string>;

/** node_modules as `npm ci` makes it before it runs prepare: the packages, and links to their commands. */
async function layOutModules(to: string): Promise<void> {
  const from = join(repository, 'node_modules');
  await mkdir(join(to, '.bin'), { recursive: true });
  for (const name of await readdir(from))
    if (!name.startsWith('.')) await symlink(join(from, name), join(to, name));
  for (const name of await readdir(join(from, '.bin')))
    if (name !== 'deskbell')
      await cp(join(from, '.bin', name), join(to, '.bin', name), { verbatimSymlinks: true });
}

beforeAll(async () => {
  await ensureBuilt();
  folder = await realpath(await mkdtemp(join(tmpdir(), 'deskbell-checkout-')));
  checkout = join(folder, 'checkout');
  await mkdir(checkout);
  // Without the sources prepare has nothing to build; that it builds is what the package's test shows.
  for (const name of ['.npmrc', 'package.json', 'package-lock.json', 'esbuild.config.mjs', 'bin', 'dist'])
    await cp(join(repository, name), join(checkout, name), { recursive: true });
  await layOutModules(join(checkout, 'node_modules'));
  environment = cleanEnvironment({
    npm_config_cache: join(folder, 'npm-cache'),
    // Port 1 is refused at once: a request that is made fails, and fails the test.
    npm_config_registry: 'http://127.0.0.1:1/',
    XDG_CACHE_HOME: join(folder, 'caches'),
  });
  await run('npm', ['run', 'prepare'], { cwd: checkout, env: environment });
});

afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
});

test("npx deskbell answers at once, without the network and without npm's cache", async () => {
  const { version } = JSON.parse(await readFile(join(repository, 'package.json'), 'utf8')) as {
    version: string;
  };
  const { stdout } = await run('npx', ['deskbell', '--version'], { cwd: checkout, env: environment });
  expect(stdout).toBe(`${version}\n`);
  // What npx installs for itself it keeps here; nothing was to be installed.
  expect(existsSync(join(folder, 'npm-cache/_npx'))).toBe(false);
});

test('npx deskbell works in a folder below, too', async () => {
  const { stdout } = await run('npx', ['deskbell', 'org', '--help'], {
    cwd: join(checkout, 'bin'),
    env: environment,
  });
  expect(stdout).toContain('deskbell org');
});

test('preparing again changes nothing', async () => {
  await run('npm', ['run', 'prepare'], { cwd: checkout, env: environment });
  expect(await realpath(join(checkout, 'node_modules/.bin/deskbell'))).toBe(
    join(checkout, 'bin/deskbell.js'),
  );
  expect((await readdir(join(checkout, 'node_modules/.bin'))).filter((name) => name.startsWith('.'))).toEqual(
    [],
  );
});
