// Owns: what the published package is: what it holds, what it brings along, and that it runs.
// Must not touch the checkout's own dist/: it packs a copy, the way it would be published.
import { cp, mkdir, mkdtemp, readFile, readdir, realpath, rm, stat, symlink } from 'node:fs/promises';
import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { treeBytes } from '../../bench/installed.ts';
import { cleanEnvironment, repository, run, Running } from '../helpers/command.ts';

const SOURCES = [
  '.npmrc',
  'package.json',
  'package-lock.json',
  'tsconfig.json',
  'esbuild.config.mjs',
  'LICENSE',
  'README.md',
  'CHANGELOG.md',
  'bin',
  'docs',
  'src',
  'migrations',
  'widget',
  'test',
];
// The better-sqlite3 binaries are not in here, so this is our own code and what is bundled with it. The readers of PDF
// and DOCX files are 0.65 MB of it, what mails, files and pushes need 0.3 MB, the reader of
// mailboxes with its tables of character sets 0.35 MB.
const MAX_PACKED_BYTES = 3 * 1024 * 1024;
/** Of all files that an installation makes, in whole blocks as a disk keeps them; the driver has 27 MB of them. */
const MAX_INSTALLED_BYTES = 35 * 1024 * 1024;

interface Packed {
  filename: string;
  size: number;
  files: { path: string; mode: number }[];
}

let folder: string;
let installed: string;
let packed: Packed;
let environment: Record<string, string>;

beforeAll(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'deskbell-package-')));
  environment = cleanEnvironment({ XDG_CACHE_HOME: join(folder, 'caches') });
  const copy = join(folder, 'checkout');
  await mkdir(copy);
  for (const name of SOURCES.filter((source) => existsSync(join(repository, source)))) {
    await cp(join(repository, name), join(copy, name), { recursive: true });
  }
  await symlink(join(repository, 'node_modules'), join(copy, 'node_modules'));
  const { stdout } = await run('npm', ['pack', '--json', '--pack-destination', folder], {
    cwd: copy,
    env: environment,
  });
  // What the build prints comes before the report.
  packed = (JSON.parse(stdout.slice(stdout.search(/^\[/m))) as Packed[])[0]!;
  installed = join(folder, 'installed');
  await mkdir(installed);
  await run('npm', ['install', join(folder, packed.filename)], { cwd: installed, env: environment });
});

afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
});

/** Every package in a node_modules folder, as name@version, nested ones too. */
async function packagesIn(modules: string): Promise<string[]> {
  if (!existsSync(modules)) return [];
  const found: string[] = [];
  for (const entry of await readdir(modules)) {
    if (entry.startsWith('.')) continue;
    if (entry.startsWith('@')) {
      for (const scoped of await readdir(join(modules, entry))) found.push(`${entry}/${scoped}`);
    } else {
      found.push(entry);
    }
  }
  const nested = await Promise.all(found.map((name) => packagesIn(join(modules, name, 'node_modules'))));
  return [...found, ...nested.flat()].toSorted();
}

/** The declared runtime dependencies of an installed package. */
async function dependenciesOf(name: string): Promise<string[]> {
  const manifest = JSON.parse(
    await readFile(join(installed, 'node_modules', name, 'package.json'), 'utf8'),
  ) as {
    dependencies?: Record<string, string>;
  };
  return Object.keys(manifest.dependencies ?? {});
}

test('the package holds the program and its papers, and nothing else', () => {
  const paths = packed.files.map((file) => file.path);
  expect(paths).toEqual(
    expect.arrayContaining([
      'package.json',
      'LICENSE',
      'bin/deskbell.js',
      'dist/cli.mjs',
      'dist/THIRD-PARTY-NOTICES.txt',
    ]),
  );
  expect(
    paths.filter(
      (path) =>
        !/^(package\.json|LICENSE|README\.md|CHANGELOG\.md|bin\/deskbell\.js|dist\/(web\/|dashboard\/(assets\/)?)?[\w.-]+\.(mjs|js|css|html|json|txt|br)|dist\/docs\/[\w-]+\.md)$/.test(
          path,
        ),
    ),
  ).toEqual([]);
  expect(packed.size).toBeLessThan(MAX_PACKED_BYTES);
});

test('an installation is Deskbell, its database driver and what that driver needs', async () => {
  expect(await dependenciesOf('deskbell')).toEqual(['better-sqlite3']);
  const expected = ['deskbell', 'better-sqlite3', ...(await dependenciesOf('better-sqlite3'))].toSorted();
  expect(await packagesIn(join(installed, 'node_modules'))).toEqual(expected);
});

test('an installation is small, also on the disk', async () => {
  const { onDisk } = await treeBytes(join(installed, 'node_modules'));
  expect(onDisk).toBeLessThan(MAX_INSTALLED_BYTES);
});

test("installing runs no script: neither ours nor the driver's", async () => {
  const { scripts } = JSON.parse(
    await readFile(join(installed, 'node_modules/deskbell/package.json'), 'utf8'),
  ) as {
    scripts: Record<string, string>;
  };
  expect(Object.keys(scripts).filter((name) => /^(pre|post)?install$/.test(name))).toEqual([]);
  expect(existsSync(join(installed, 'node_modules/better-sqlite3/build'))).toBe(false);
});

test('the notices name every package that was bundled, with its licence', async () => {
  const notices = await readFile(
    join(installed, 'node_modules/deskbell/dist/THIRD-PARTY-NOTICES.txt'),
    'utf8',
  );
  for (const name of ['koa', 'ws', 'kysely', 'pino', 'zod', 'jose', 'commander', 'sanitize-html']) {
    expect(notices).toMatch(
      new RegExp(`^${name} \\d+\\.\\d+\\.\\d+ \\((MIT|ISC|BSD[^)]*|Apache-2\\.0)\\)$`, 'm'),
    );
  }
  // A heading names the licence; a licence's text may name others.
  expect(notices).not.toMatch(/^\S+ \d+\.\S+ \(+(A?GPL|LGPL|SSPL|BUSL|UNLICENSED)/m);
});

interface Component {
  'bom-ref': string;
  type: string;
  name: string;
  version: string;
  licenses: ({ license: { id: string } } | { expression: string })[];
  purl: string;
}

interface BillOfMaterials {
  bomFormat: string;
  specVersion: string;
  version: number;
  metadata: { component: Component };
  components: Component[];
  dependencies: { ref: string; dependsOn: string[] }[];
}

test('the bill of materials is CycloneDX, and names what is installed and what was bundled', async () => {
  const folder = join(installed, 'node_modules/deskbell');
  const bill = JSON.parse(await readFile(join(folder, 'dist/sbom.cdx.json'), 'utf8')) as BillOfMaterials;
  const { version } = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8')) as { version: string };
  expect(bill).toMatchObject({ bomFormat: 'CycloneDX', specVersion: '1.5', version: 1 });
  expect(bill.metadata.component).toMatchObject({ type: 'application', purl: `pkg:npm/deskbell@${version}` });
  const refs = bill.components.map((one) => one['bom-ref']);
  expect(refs).toEqual([...new Set(refs)]);
  expect(bill.dependencies).toEqual([{ ref: bill.metadata.component['bom-ref'], dependsOn: refs }]);
  for (const { type, name, version: number, purl, licenses } of bill.components) {
    expect(type).toBe('library');
    expect(purl).toBe(`pkg:npm/${name.replace('@', '%40')}@${number}`);
    expect(licenses).toHaveLength(1);
  }
  const names = bill.components.map(({ name }) => name);
  const brought = (await packagesIn(join(installed, 'node_modules'))).filter((name) => name !== 'deskbell');
  expect(names).toEqual(expect.arrayContaining(brought));
  const notices = await readFile(join(folder, 'dist/THIRD-PARTY-NOTICES.txt'), 'utf8');
  const bundled = [...notices.matchAll(/^((?:@[\w-]+\/)?[\w.-]+) \d+\.\d+\.\d+\S* \(/gm)].map(
    ([, name = '']) => name,
  );
  expect(bundled).toContain('ws');
  expect([...new Set(names)].toSorted()).toEqual([...new Set([...bundled, ...brought])].toSorted());
});

test('a start loads neither an HTTP client nor a parser of style sheets, and a command nothing to start others with', async () => {
  const report = join(folder, 'loaded.json');
  const atExit = `process.once('exit', () => process.getBuiltinModule('fs')
    .writeFileSync(${JSON.stringify(report)}, JSON.stringify(process.moduleLoadList)))`;
  const options = {
    cwd: installed,
    env: { ...environment, NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(atExit)}` },
  };
  const readLoaded = async (): Promise<string[]> => JSON.parse(await readFile(report, 'utf8')) as string[];

  await run('node_modules/.bin/deskbell', ['--version'], options);
  expect((await readLoaded()).filter((name) => name.includes('child_process'))).toEqual([]);

  const args = ['serve', '--json', '--port', '0', '--data', join(folder, 'started')];
  const server = new Running('node_modules/.bin/deskbell', args, options);
  await server.line(/"url"/);
  expect(await server.stop('SIGTERM')).toMatchObject({ code: 0 });
  const loaded = await readLoaded();
  expect(loaded).toContain('NativeModule http');
  expect(loaded.filter((name) => name.includes('undici'))).toEqual([]);
  const notices = await readFile(
    join(installed, 'node_modules/deskbell/dist/THIRD-PARTY-NOTICES.txt'),
    'utf8',
  );
  expect(notices).not.toMatch(/^postcss /m);
});

test('npx runs the installed program', async () => {
  const { version } = JSON.parse(await readFile(join(repository, 'package.json'), 'utf8')) as {
    version: string;
  };
  const { stdout } = await run('npx', ['deskbell', '--version'], { cwd: installed, env: environment });
  expect(stdout.trim()).toBe(version);
});

test('it serves from an empty folder, and stops clean', async () => {
  const data = join(installed, 'data');
  const program = await realpath(join(installed, 'node_modules/.bin/deskbell'));
  const server = new Running(process.execPath, [program, 'serve', '--json', '--port', '0', '--data', data], {
    cwd: installed,
    env: environment,
  });
  try {
    const ready = JSON.parse((await server.line(/^\{"url".*\}$/))[0]) as {
      url: string;
      port: number;
      pid: number;
    };
    expect(ready).toEqual({
      url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/),
      port: expect.any(Number),
      pid: server.child.pid,
    });
    for (const path of ['/healthz', '/readyz', '/docs', '/docs/rest-api', '/favicon.ico'])
      expect((await fetch(ready.url + path)).status).toBe(200);
    expect((await stat(join(data, 'deskbell.db'))).mode & 0o077).toBe(0);
    expect((await server.stop('SIGTERM')).code).toBe(0);
  } finally {
    await server.stop('SIGKILL');
  }
});
