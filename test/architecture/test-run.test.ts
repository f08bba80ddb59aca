// Owns: that a test run leaves nothing on the machine: a file that forgets a process or a folder fails by name, and a
// runner that is killed takes its processes and folders with it.
import { existsSync, readdirSync } from 'node:fs';
import { mkdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { cleanEnvironment, repository, Running } from '../helpers/command.ts';
import { eventually } from '../helpers/eventually.ts';
import { dataFolderOf, serverFolderOf, stopServer } from '../helpers/postgres-end.ts';
import { findInList } from '../helpers/run-mark.ts';

let folder: string;

beforeEach(async () => {
  folder = join(tmpdir(), 'inner');
  await mkdir(join(folder, 'tmp'), { recursive: true });
});
afterEach(() => rm(folder, { recursive: true }));

/** Starts a runner of its own on one test file. */
async function startRunner(test: string): Promise<Running> {
  const vitest = join(repository, 'node_modules/vitest');
  await writeFile(join(folder, 'inner.test.ts'), test);
  await writeFile(
    join(folder, 'vitest.config.ts'),
    `import base from ${JSON.stringify(join(repository, 'vitest.config.ts'))};
    const helper = (name) => ${JSON.stringify(`${repository}/`)} + name;
    export default { test: {
      ...base.test, projects: undefined, include: ['inner.test.ts'], dir: ${JSON.stringify(folder)}, fsModuleCache: false,
      globalSetup: helper(base.test.globalSetup), setupFiles: helper(base.test.setupFiles),
      reporters: ['default', helper(base.test.reporters[1])],
    } };`,
  );
  return new Running(
    process.execPath,
    [join(vitest, 'vitest.mjs'), 'run', '--config', join(folder, 'vitest.config.ts'), '--root', folder],
    { cwd: folder, env: cleanEnvironment({ TMPDIR: join(folder, 'tmp'), TEST_END_TIMEOUT_MS: '0' }) },
  );
}

/**
 * A test file that starts a program, which starts another in a group of its own, and notes their ids. The note appears
 * whole: the test file may end, and the program with it, as soon as the file is there.
 */
function startsPrograms(end: string): string {
  const vitest = JSON.stringify(join(repository, 'node_modules/vitest/dist/index.js'));
  return `
    import { spawn } from 'node:child_process';
    import { existsSync, mkdtempSync } from 'node:fs';
    import { tmpdir } from 'node:os';
    import { test } from ${vitest};
    const grandchild = "require('child_process').spawn(process.execPath, ['-e', 'setInterval(() => 0, 1000)'], { detached: true, stdio: 'ignore' })";
    const program = \`const grandchild = \${grandchild}; const fs = require('fs'); fs.writeFileSync('pids.part', process.pid + ' ' + grandchild.pid); fs.renameSync('pids.part', 'pids'); setInterval(() => 0, 1000)\`;
    test('starts programs', async () => {
      mkdtempSync(tmpdir() + '/forgotten-');
      spawn(process.execPath, ['-e', program], { cwd: ${JSON.stringify(folder)}, stdio: 'ignore' });
      while (!existsSync(${JSON.stringify(join(folder, 'pids'))})) await new Promise((next) => setTimeout(next, 5));
      ${end}
    });`;
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

async function programs(): Promise<number[]> {
  const pids = await eventually(async () => {
    const text = await readFile(join(folder, 'pids'), 'utf8');
    expect(text).toMatch(/^\d+ \d+$/);
    return text;
  });
  return pids.split(' ').map(Number);
}

async function expectNothingLeft(pids: readonly number[]): Promise<void> {
  await eventually(() => {
    expect(pids.filter(isRunning)).toEqual([]);
    expect(readdirSync(join(folder, 'tmp')).filter((name) => name.startsWith('deskbell-'))).toEqual([]);
  });
}

test('finds its processes in the list of ps, too, where there is no /proc', () => {
  const list = [
    `  ${process.pid} node itself.mjs TEST_RUN=run.1 PATH=/bin`,
    '    1 init',
    ' 4061 sleep 30 SHELL=/bin/sh TEST_RUN=run.1 _=/bin/sleep',
    ' 4062 node worker.mjs TEST_RUN=run',
    ' 4063 node other.mjs TEST_RUN=run2.1',
  ].join('\n');
  expect(findInList(list, 'run')).toEqual([
    { pid: 4061, command: 'sleep 30' },
    { pid: 4062, command: 'node worker.mjs' },
  ]);
  expect(findInList(list, 'run.1').map(({ pid }) => pid)).toEqual([4061]);
});

describe('a test run', () => {
  test('fails with the names of what a file leaves behind, and removes it', async () => {
    const { code, stdout, stderr } = await (await startRunner(startsPrograms(''))).ended;
    expect(code).toBe(1);
    expect(stdout + stderr).toMatch(/this test file leaves behind: process \d+ .*forgotten-/);
    expect(stdout.trim()).toMatch(/1 passed, 1 failed$/);
    await expectNothingLeft(await programs());
  });

  test('removes what a failed test leaves', async () => {
    const { code } = await (await startRunner(startsPrograms("throw new Error('failed');"))).ended;
    expect(code).toBe(1);
    await expectNothingLeft(await programs());
  });

  test('counts and names a file whose worker dies', async () => {
    const { code, stdout } = await (
      await startRunner(startsPrograms("process.kill(process.pid, 'SIGKILL');"))
    ).ended;
    expect(code).toBe(1);
    // The worker's death is the one failure, the test that did not end the other.
    expect(stdout.trim()).toMatch(/\ndid not end: inner\.test\.ts\n0 passed, 2 failed$/);
    await expectNothingLeft(await programs());
  });

  test('ends with its runner when that is killed', async () => {
    const runner = await startRunner(startsPrograms('await new Promise(() => undefined);'));
    const pids = await programs();
    expect(pids.filter(isRunning)).toEqual(pids);
    await runner.stop('SIGKILL');
    await expectNothingLeft(pids);
  });
});

test('databases that are elsewhere than the run, in memory, are removed with it', async () => {
  const [server, databases] = [serverFolderOf(folder), join(folder, 'databases')];
  await mkdir(join(databases, 'base'), { recursive: true });
  await mkdir(server);
  await symlink(databases, dataFolderOf(server));
  await stopServer(folder);
  expect(existsSync(databases)).toBe(false);
  // A run without a server has none.
  await stopServer(join(folder, 'other'));
});
