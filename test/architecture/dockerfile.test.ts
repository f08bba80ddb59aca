// Owns: that the Dockerfile's steps, carried out in order from nothing, give a server that answers.
// Must not need a container engine: it replays the instructions in temporary folders, one for each
// stage. An instruction that it does not know fails the test rather than being passed over.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import {
  chmod,
  copyFile,
  cp,
  link,
  mkdir,
  mkdtemp,
  readFile,
  readdir,
  readlink,
  realpath,
  rm,
  stat,
  symlink,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join, posix } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { cleanEnvironment, repository, run, Running } from '../helpers/command.ts';
import { isLong } from '../helpers/rounds.ts';

interface Instruction {
  keyword: string;
  rest: string;
}

/** What a stage has become after its instructions. */
interface Stage {
  base: string;
  root: string;
  cwd: string;
  env: Record<string, string>;
  user: string | undefined;
  volumes: string[];
  ports: string[];
  healthcheck: string[] | undefined;
  entrypoint: string[];
  command: string[];
}

/** The instructions of a Dockerfile, comments left out and continued lines joined. */
function parse(text: string): Instruction[] {
  return text
    .split('\n')
    .filter((line) => !line.startsWith('#'))
    .join('\n')
    .replace(/\\\n\s*/g, '')
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => {
      const parsed = /^([A-Z]+)\s+(.*)$/.exec(line);
      if (parsed === null) throw new Error(`not an instruction: ${line}`);
      return { keyword: parsed[1]!, rest: parsed[2]!.trim() };
    });
}

/** An exec form: a JSON list of words. The shell form would put a shell between signals and Node. */
function execForm(rest: string): string[] {
  const words: unknown = rest.startsWith('[') ? JSON.parse(rest) : undefined;
  if (!Array.isArray(words) || words.some((word) => typeof word !== 'string'))
    throw new Error(`not in exec form: ${rest}`);
  return words as string[];
}

/** The top-level names of the build context: .dockerignore read as a list of what is let through. */
async function context(): Promise<string[]> {
  const lines = (await readFile(join(repository, '.dockerignore'), 'utf8'))
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'));
  if (lines[0] !== '*' || lines.slice(1).some((line) => !/^![\w.-]+$/.test(line)))
    throw new Error('.dockerignore: only "*" and then "!name" lines can be replayed');
  const letThrough = new Set(lines.slice(1).map((line) => line.slice(1)));
  return (await readdir(repository)).filter((name) => letThrough.has(name));
}

/** A path inside the image as one on this machine. */
function onDisk(stage: Stage, path: string): string {
  return join(stage.root, posix.resolve(stage.cwd, path));
}

/** Absolute image paths in words and scripts, as paths on this machine. */
function mapped(stage: Stage, text: string): string {
  return text.replace(
    /(^|[\s='"])(\/(?:app|data)\b)/g,
    (_, before: string, path: string) => before + join(stage.root, path),
  );
}

/** PATH as in the image: its own node first, then the tools that any slim image has. */
function environmentOf(stage: Stage): Record<string, string> {
  const outside = cleanEnvironment();
  const values = Object.fromEntries(
    Object.entries(stage.env).map(([name, value]) => [name, mapped(stage, value)]),
  );
  return {
    ...outside,
    PATH: `${join(stage.root, 'usr/local/bin')}:${outside['PATH'] ?? ''}`,
    HOME: process.env['HOME'] ?? '/',
    ...values,
  };
}

async function newStage(folder: string, base: string): Promise<Stage> {
  const root = await mkdtemp(join(folder, 'stage-'));
  await chmod(root, 0o755);
  await mkdir(join(root, 'usr/local/bin'), { recursive: true });
  await copyFile(process.execPath, join(root, 'usr/local/bin/node'));
  return {
    base,
    root,
    cwd: '/',
    env: {},
    user: undefined,
    volumes: [],
    ports: [],
    healthcheck: undefined,
    entrypoint: [],
    command: [],
  };
}

async function copy(stage: Stage, stages: ReadonlyMap<string, Stage>, rest: string): Promise<void> {
  const words = rest.split(/\s+/);
  const from =
    words[0]?.startsWith('--from=') === true ? stages.get(words.shift()!.slice('--from='.length)) : undefined;
  if (words.some((word) => word.startsWith('--'))) throw new Error(`COPY: unknown option in ${rest}`);
  const target = words.pop()!;
  const names = await context();
  for (const source of words) {
    const whole = source === '.';
    if (from === undefined && !whole && !names.includes(source))
      throw new Error(`COPY: ${source} is not in the build context`);
    const paths = whole
      ? names.map((name) => join(repository, name))
      : [from === undefined ? join(repository, source) : onDisk(from, source)];
    for (const path of paths) {
      // As Docker does: a folder's content goes into the target, a file goes below a target that ends in "/".
      const into = whole || ((await stat(path)).isFile() && /(^\.|\/)$/.test(target));
      await cp(path, into ? join(onDisk(stage, target), basename(path)) : onDisk(stage, target), {
        recursive: true,
        verbatimSymlinks: true,
      });
    }
  }
}

/** Makes the same tree again out of links to its files. */
async function linkTree(from: string, to: string): Promise<void> {
  await mkdir(to);
  for (const entry of await readdir(from, { withFileTypes: true })) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)];
    if (entry.isDirectory()) await linkTree(source, target);
    else if (entry.isSymbolicLink()) await symlink(await readlink(source), target);
    // Another file system than the checkout's takes no links.
    else await link(source, target).catch(() => copyFile(source, target));
  }
}

const shrunk = '.cache/deskbell-build';

/** What "npm ci" gives, taken from the checkout, which has just had it: only `npm run test:long` installs again. */
async function installFromCheckout(to: string): Promise<void> {
  const from = join(repository, 'node_modules');
  await mkdir(to);
  for (const name of await readdir(from)) {
    // What begins with a dot is npm's own, and npm writes into it: a link would change the checkout.
    if (name === '.package-lock.json') await copyFile(join(from, name), join(to, name));
    else if (!name.startsWith('.')) await linkTree(join(from, name), join(to, name));
  }
  // What terser and brotli made of the very same texts; the build makes new files beside them, and changes none.
  if (!existsSync(join(from, shrunk))) return;
  await mkdir(join(to, '.cache'));
  await linkTree(join(from, shrunk), join(to, shrunk));
}

/** Runs a RUN line for real, under /bin/sh as Docker does. Only root can give files away. */
async function runLine(stage: Stage, script: string): Promise<void> {
  if (script === 'npm ci --ignore-scripts' && !isLong)
    return installFromCheckout(onDisk(stage, 'node_modules'));
  const possible = process.getuid?.() === 0 ? script : script.replace(/&& chown \S+ \S+/g, '');
  await run('/bin/sh', ['-c', mapped(stage, possible)], {
    cwd: onDisk(stage, '.'),
    env: environmentOf(stage),
  });
}

/** Carries out all instructions; resolves to the last stage. */
async function replay(folder: string, instructions: readonly Instruction[]): Promise<Stage> {
  const stages = new Map<string, Stage>();
  let stage: Stage | undefined;
  for (const { keyword, rest } of instructions) {
    if (keyword === 'FROM') {
      const [base, , name] = rest.split(/\s+/);
      stage = await newStage(folder, base!);
      stages.set(name ?? '', stage);
      continue;
    }
    if (stage === undefined) throw new Error(`${keyword} before FROM`);
    switch (keyword) {
      case 'WORKDIR':
        stage.cwd = posix.resolve(stage.cwd, rest);
        await mkdir(onDisk(stage, '.'), { recursive: true });
        break;
      case 'COPY':
        await copy(stage, stages, rest);
        break;
      case 'RUN':
        await runLine(stage, rest);
        break;
      case 'ENV': {
        const parsed = /^(\w+)=(\S+)$/.exec(rest);
        if (parsed === null) throw new Error(`ENV: ${rest}`);
        stage.env[parsed[1]!] = parsed[2]!;
        break;
      }
      case 'USER':
        stage.user = rest;
        break;
      case 'VOLUME':
        stage.volumes.push(rest);
        break;
      case 'EXPOSE':
        stage.ports.push(rest);
        break;
      case 'HEALTHCHECK':
        stage.healthcheck = execForm(rest.replace(/^(--\S+\s+)*CMD\s+/, ''));
        break;
      case 'ENTRYPOINT':
        stage.entrypoint = execForm(rest);
        break;
      case 'CMD':
        stage.command = execForm(rest);
        break;
      default:
        throw new Error(`an instruction that this test cannot replay: ${keyword}`);
    }
  }
  if (stage === undefined) throw new Error('no stage');
  return stage;
}

/** How Docker would start a command in the image: its user (for root to take on), folder and environment. */
function inside(
  stage: Stage,
  port: string,
): { cwd: string; env: Record<string, string>; uid?: number; gid?: number } {
  const [uid, gid] = (stage.user ?? '').split(':').map(Number);
  const env: Record<string, string> = { ...environmentOf(stage), HOME: '/', DESKBELL_PORT: port };
  const place = { cwd: onDisk(stage, '.'), env };
  return process.getuid?.() === 0 && uid !== undefined && gid !== undefined ? { ...place, uid, gid } : place;
}

let folder: string;
let image: Stage;

beforeAll(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'deskbell-image-')));
  await chmod(folder, 0o755);
  image = await replay(folder, parse(await readFile(join(repository, 'Dockerfile'), 'utf8')));
});

afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
});

describe('the image', () => {
  test('stands on the line of Node that the tests run on, with its major pinned', () => {
    expect(image.base).toBe(`node:${process.versions.node.split('.')[0]}-slim`);
  });

  test('runs as a fixed user other than root, with one volume and one port', () => {
    expect(image.user).toMatch(/^[1-9]\d*:[1-9]\d*$/);
    expect(image.volumes).toEqual([image.env['DESKBELL_DATA']]);
    expect(image.ports).toEqual(['4600']);
  });

  test('holds the built program and its runtime dependencies only', async () => {
    expect((await readdir(join(image.root, 'app'))).toSorted()).toEqual([
      'LICENSE',
      'bin',
      'dist',
      'node_modules',
      'package.json',
    ]);
    const modules = (await readdir(join(image.root, 'app/node_modules'))).filter(
      (name) => !name.startsWith('.'),
    );
    expect(modules).toContain('better-sqlite3');
    expect(modules).not.toContain('typescript');
    expect(modules).not.toContain('node');
  });

  test('a folder for data that only its user can read', async () => {
    expect((await stat(join(image.root, 'data'))).mode & 0o777).toBe(0o700);
  });

  test('serves, is found healthy, and stops on SIGTERM', async () => {
    const [program, ...args] = [...image.entrypoint, ...image.command].map((word) => mapped(image, word));
    const node = join(image.root, 'usr/local/bin', program!);
    const health = (port: string): number | null => {
      const [command, ...words] = image.healthcheck ?? [];
      return spawnSync(join(image.root, 'usr/local/bin', command!), words, inside(image, port)).status;
    };
    const server = new Running(node, args, inside(image, '0'));
    try {
      const port = (await server.line(/https?:\/\/[^\s/]+:(\d+)\s*$/))[1]!;
      for (const path of ['/healthz', '/readyz'])
        expect((await fetch(`http://127.0.0.1:${port}${path}`)).status).toBe(200);
      expect(health(port)).toBe(0);
      expect(await readdir(join(image.root, 'data'))).toContain('deskbell.db');
      expect((await server.stop('SIGTERM')).code).toBe(0);
      // The same check has to notice that the server is gone.
      expect(health(port)).toBe(1);
    } finally {
      await server.stop('SIGKILL');
    }
  });
});
