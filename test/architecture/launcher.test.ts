// Owns: what bin/deskbell.js promises before the program proper begins.
// Must not need a built dist/: each test lays out a package folder of its own.
import {
  chmod,
  copyFile,
  mkdir,
  mkdtemp,
  readFile,
  realpath,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Script } from 'node:vm';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { cleanEnvironment, repository, run, Running, type Outcome } from '../helpers/command.ts';

// [version, runs] around each edge of the supported lines.
const versions: readonly (readonly [string, boolean])[] = [
  ['0.10.48', false],
  ['12.22.12', false],
  ['18.20.8', false],
  ['20.20.2', false],
  ['21.7.3', false],
  ['22.0.0', false],
  ['22.22.1', false],
  ['22.3.9', false],
  ['22.22.2', true],
  ['22.22.10', true],
  ['22.23.0', true],
  ['23.11.1', false],
  ['24.0.0', false],
  ['24.14.0', false],
  ['24.14.1', true],
  ['24.15.0', true],
  ['24.21.0', true],
  ['25.9.0', false],
  ['26.0.0', true],
  ['26.10.0', true],
  ['100.0.0', true],
];

let folder: string;

/** Lays out bin/ and a given dist/cli.mjs, if any, beside a preload that plays another Node. */
async function layout(program: string | undefined): Promise<string> {
  const root = await mkdtemp(join(folder, 'package-'));
  await mkdir(join(root, 'bin'));
  await copyFile(join(repository, 'bin/deskbell.js'), join(root, 'bin/deskbell.js'));
  await copyFile(join(repository, 'package.json'), join(root, 'package.json'));
  if (program !== undefined) {
    await mkdir(join(root, 'dist'));
    await writeFile(join(root, 'dist/cli.mjs'), program);
  }
  return root;
}

/** Node's arguments for a launcher that believes to run on the given version. */
async function argumentsFor(root: string, args: readonly string[], version: string): Promise<string[]> {
  const preload = join(root, 'other-node.cjs');
  await writeFile(
    preload,
    `
    const node = ${JSON.stringify(version)};
    Object.defineProperty(process, 'version', { value: 'v' + node });
    Object.defineProperty(process, 'versions', { value: { ...process.versions, node } });
  `,
  );
  return ['--require', preload, join(root, 'bin/deskbell.js'), ...args];
}

async function launch(
  root: string,
  args: readonly string[],
  expected: number,
  version = process.versions.node,
): Promise<Outcome> {
  return await run(process.execPath, await argumentsFor(root, args, version), {
    cwd: root,
    env: cleanEnvironment({ XDG_CACHE_HOME: join(root, 'caches') }),
    expect: expected,
  });
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'deskbell-launcher-'));
});
afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
});

describe('the Node version', () => {
  const program = "export async function main() { process.stdout.write('ran'); return 0; }";

  test.each(versions.filter(([, runs]) => !runs))('%s is refused in one sentence', async (version) => {
    const { stdout, stderr } = await launch(await layout(program), ['--help'], 1, version);
    expect(stdout).toBe('');
    expect(stderr).toMatch(/^Deskbell needs Node\.js 22\.22\.2 [^\n]*\n$/);
    expect(stderr).toContain(` ${version}: `);
  });

  test.each(versions.filter(([, runs]) => runs))('%s runs', async (version) => {
    const { stdout, stderr } = await launch(await layout(program), [], 0, version);
    expect([stdout, stderr]).toEqual(['ran', '']);
  });

  test('"engines" says the same as the launcher', async () => {
    const { engines } = JSON.parse(await readFile(join(repository, 'package.json'), 'utf8')) as {
      engines: { node: string };
    };
    const ranges = engines.node.split(' || ').map((range) => {
      const parsed = /^(\^|>=)(\d+)\.(\d+)\.(\d+)$/.exec(range);
      if (parsed === null) throw new Error(`a range that this test cannot read: ${range}`);
      return { caret: parsed[1] === '^', floor: parsed.slice(2).map(Number) };
    });
    const allowed = (version: string): boolean => {
      const parts = version.split('.').map(Number);
      return ranges.some(({ caret, floor }) => {
        const differing = parts.findIndex((part, index) => part !== floor[index]);
        const atLeast = differing === -1 || parts[differing]! > floor[differing]!;
        return atLeast && (!caret || parts[0] === floor[0]);
      });
    };
    expect(versions.map(([version]) => [version, allowed(version)])).toEqual(versions);
  });

  test('holds no syntax that an old Node could not read', async () => {
    const source = (await readFile(join(repository, 'bin/deskbell.js'), 'utf8'))
      .replace(/^#!.*/, '')
      .replace(/\/\*[\s\S]*?\*\//g, '')
      .replace(/^\s*\/\/.*$/gm, '');
    expect(source).not.toMatch(
      /=>|\?\.|\?\?|`|\b(const|let|class|async|await|export)\b|^\s*import\s*[^(\s]/m,
    );
    // An old Node takes the file for a classic script: it has to be one.
    expect(() => new Script(source)).not.toThrow();
  });
});

describe('handing over', () => {
  test('passes the arguments on and takes the exit code', async () => {
    const root = await layout(
      'export async function main(argv) { process.stdout.write(JSON.stringify(argv)); return 2; }',
    );
    expect((await launch(root, ['org', 'create', 'Ä "b"', '--json'], 2)).stdout).toBe(
      '["org","create","Ä \\"b\\"","--json"]',
    );
  });

  test('makes every new file private, whatever the shell says', async () => {
    const root = await layout(
      "import { writeFileSync } from 'node:fs'; export async function main() { writeFileSync('born', ''); return 0; }",
    );
    await launch(root, [], 0);
    expect((await stat(join(root, 'born'))).mode & 0o777).toBe(0o600);
  });

  test('keeps compiled code in a private folder', async () => {
    const root = await layout(
      "import { writeFileSync } from 'node:fs'; export async function main() { return 0; }",
    );
    await launch(root, [], 0);
    expect((await stat(join(root, 'caches/deskbell'))).mode & 0o777).toBe(0o700);
  });

  test('a checkout that is not built says how to build it', async () => {
    const { stderr } = await launch(await layout(undefined), [], 1);
    expect(stderr).toBe('Deskbell is not built yet: run "npm run build" in this folder, then try again.\n');
  });

  test('a missing package inside the build is not mistaken for a missing build', async () => {
    const { stderr } = await launch(
      await layout("import 'no-such-package'; export async function main() { return 0; }"),
      [],
      1,
    );
    expect(stderr).toContain('no-such-package');
    expect(stderr).not.toContain('npm run build');
  });

  test('a program that fails by throwing ends with 1', async () => {
    const { stderr } = await launch(
      await layout("export async function main() { throw new Error('broken on purpose'); }"),
      [],
      1,
    );
    expect(stderr).toContain('broken on purpose');
  });
});

describe("a checkout's own Node", () => {
  const oldNode = '20.20.2';

  /** A package folder with a node_modules/node, as `npm ci` leaves it: here a script that runs the tests' Node. */
  async function checkout(program: string): Promise<string> {
    const root = await layout(program);
    const node = join(root, 'node_modules/node/bin/node');
    await mkdir(join(root, 'node_modules/node/bin'), { recursive: true });
    await writeFile(node, `#!/bin/sh\nexec ${JSON.stringify(process.execPath)} "$@"\n`);
    await chmod(node, 0o755);
    return root;
  }

  test('takes over from an old one, with arguments, output and exit code', async () => {
    const root = await checkout(
      `export async function main(argv) {
         process.stdout.write(JSON.stringify([...argv, process.versions.node]));
         process.stderr.write('said');
         return 2;
       }`,
    );
    const { stdout, stderr } = await launch(root, ['org', 'Ä "b" $c'], 2, oldNode);
    expect(JSON.parse(stdout)).toEqual(['org', 'Ä "b" $c', process.versions.node]);
    expect(stderr).toBe('said');
  });

  test('is found through the link in node_modules/.bin', async () => {
    const root = await checkout("export async function main() { process.stdout.write('ran'); return 0; }");
    await mkdir(join(root, 'node_modules/.bin'));
    await symlink('../../bin/deskbell.js', join(root, 'node_modules/.bin/deskbell'));
    const [require, preload] = await argumentsFor(root, [], oldNode);
    const { stdout } = await run(
      process.execPath,
      [require!, preload!, join(root, 'node_modules/.bin/deskbell')],
      {
        cwd: folder,
        env: cleanEnvironment(),
      },
    );
    expect(stdout).toBe('ran');
  });

  test.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)('hears of %s', async (signal) => {
    const root = await checkout(
      `export function main() {
         return new Promise((resolve) => {
           setInterval(() => undefined, 1_000);
           process.on('${signal}', () => { process.stdout.write('heard\\n'); process.exit(7); });
           process.stdout.write('ready\\n');
         });
       }`,
    );
    const running = new Running(process.execPath, await argumentsFor(root, [], oldNode), {
      cwd: root,
      env: cleanEnvironment(),
    });
    try {
      await running.line(/^ready$/);
      expect(await running.stop(signal)).toMatchObject({ code: 7, stdout: 'ready\nheard\n' });
    } finally {
      await running.stop('SIGKILL');
    }
  });

  test('that dies of a signal lets the first process die of it', async () => {
    const root = await checkout(
      "export async function main() { process.kill(process.pid, 'SIGKILL'); await new Promise(() => undefined); }",
    );
    const outcome = await new Running(process.execPath, await argumentsFor(root, [], oldNode), {
      cwd: root,
      env: cleanEnvironment(),
    }).ended;
    expect(outcome).toMatchObject({ code: null, signal: 'SIGKILL' });
  });

  test('is not asked when it is the very Node that runs', async () => {
    const root = await layout('export async function main() { return 0; }');
    await mkdir(join(root, 'node_modules/node/bin'), { recursive: true });
    await symlink(await realpath(process.execPath), join(root, 'node_modules/node/bin/node'));
    const { stderr } = await launch(root, [], 1, oldNode);
    expect(stderr).toMatch(/^Deskbell needs Node\.js 22\.22\.2 [^\n]*\n$/);
  });
});
