// Owns: the walls of the house, held against every import line, and what no file here may contain.
// Must not name a file that has to exist: a folder that is not there yet has nothing to answer for.
import { readFile, readdir } from 'node:fs/promises';
import { builtinModules } from 'node:module';
import { join, posix } from 'node:path';
import { describe, expect, test } from 'vitest';
import { repository } from '../helpers/command.ts';

/** One import or re-export; `target` is a path from the root for our own files, else a package's name. */
interface Import {
  from: string;
  target: string;
  own: boolean;
  typeOnly: boolean;
}

/** What a folder may import. A target is allowed when it starts with one of the prefixes. */
interface Wall {
  /** The files that this wall holds, by prefix of their path; the first wall that fits is the one. */
  folder: string;
  /** Own files, values and types. */
  own: readonly string[];
  /** Own files of which only types may be taken. */
  types?: readonly string[];
  /** Packages; 'node:' stands for all modules of Node. Left out: any but those in `never`. */
  packages?: readonly string[];
  never?: readonly string[];
}

const TRANSPORTS = ['koa', '@koa/', 'koa-', 'ws'];
const STORES = ['kysely', 'better-sqlite3', 'pg'];
const SCREENS = ['ink', 'react', 'commander'];
const ROWS = ['src/engine/rows.ts', 'src/protocol/'];
// What rules know of every engine.
const PORTS = [
  'src/engine/engine.ts',
  'src/engine/repositories.ts',
  'src/engine/repositories/',
  'src/engine/rows.ts',
];
const LEAVES = ['src/log.ts', 'src/config.ts'];

/** What the engine on PostgreSQL has in common with the one on SQLite. */
const sharedQueries = ['src/engine/sqlite/query.ts', 'src/engine/sqlite/repositories/', 'src/engine/memory/'];

const WALLS: readonly Wall[] = [
  // What a text is, on a page and on a terminal: pure functions for everybody but the browser's files.
  {
    folder: 'src/text/',
    own: ['src/text/'],
    packages: ['string-width', 'mdast', 'mdast-util-', 'micromark-extension-'],
  },
  // The one client of a language model: it knows what the assistant asks for, and nothing else.
  {
    folder: 'src/llm/',
    own: ['src/llm/', 'src/net/', 'src/services/assistant/language-model.ts'],
    types: ['src/engine/engine.ts', ...LEAVES],
    packages: ['node:'],
  },
  // The stores of files and the scanner: they know what rules ask of them, and nothing else.
  {
    folder: 'src/files/',
    own: [
      'src/files/',
      'src/engine/object-path.ts',
      'src/services/files/file-store.ts',
      'src/net/http-request.ts',
    ],
    types: ['src/engine/engine.ts', ...LEAVES],
    packages: ['node:', 'aws4fetch'],
  },
  // Connections to servers that someone else chose, and the arithmetic around them.
  {
    folder: 'src/net/',
    own: ['src/net/'],
    types: ['src/engine/engine.ts'],
    packages: ['node:', 'ipaddr.js', 'nodemailer', 'imapflow'],
  },
  { folder: 'src/protocol/codes.ts', own: [], packages: [] },
  { folder: 'src/protocol/enums.ts', own: [], packages: [] },
  { folder: 'src/protocol/queue-enums.ts', own: [], packages: [] },
  { folder: 'src/protocol/', own: ['src/protocol/'], packages: ['zod'] },
  {
    folder: 'src/engine/engine.ts',
    own: [],
    types: ['src/engine/repositories.ts', ...ROWS],
    packages: [],
  },
  {
    folder: 'src/engine/repositories.ts',
    own: [],
    types: ['src/engine/repositories/', ...ROWS],
    packages: [],
  },
  {
    folder: 'src/engine/repositories/',
    own: [],
    types: ['src/engine/repositories/', ...ROWS],
    packages: [],
  },
  { folder: 'src/engine/rows.ts', own: [], types: ['src/protocol/'], packages: [] },
  { folder: 'src/engine/clock.ts', own: [], types: ['src/engine/engine.ts'], packages: ['node:'] },
  {
    folder: 'src/engine/partial-files.ts',
    own: ['src/engine/file-errors.ts'],
    packages: ['node:'],
  },
  // The one switch: the only file that knows which engines there are.
  {
    folder: 'src/engine/open-engine.ts',
    own: ['src/engine/'],
    types: LEAVES,
    packages: ['node:'],
  },
  {
    folder: 'src/engine/sqlite/',
    own: [
      'src/engine/sqlite/',
      'src/engine/file-errors.ts',
      'src/engine/partial-files.ts',
      'src/engine/object-path.ts',
      'src/engine/histogram.ts',
      'src/engine/configuration-history.ts',
      'src/engine/log-follower.ts',
      'src/engine/open-errors.ts',
      'migrations/',
      ...PORTS,
    ],
    types: ['src/protocol/'],
    never: [...TRANSPORTS, ...SCREENS, 'zod', 'pg'],
  },
  // The second database. The queries, and what they are built with, are the same for both.
  {
    folder: 'src/engine/postgres/',
    own: [
      'src/engine/postgres/',
      ...sharedQueries,
      // The machine's own time, to compare the database's with.
      'src/engine/clock.ts',
      'src/engine/histogram.ts',
      'src/engine/configuration-history.ts',
      'src/engine/log-follower.ts',
      'src/engine/open-errors.ts',
      'migrations/',
      ...PORTS,
    ],
    types: ['src/protocol/'],
    packages: ['node:', 'kysely', 'pg'],
  },
  {
    folder: 'src/engine/',
    own: ['src/engine/memory/', ...PORTS],
    types: ['src/protocol/'],
    never: [...TRANSPORTS, ...SCREENS, 'zod'],
  },
  {
    folder: 'src/services/',
    own: ['src/services/', 'src/protocol/', 'src/text/', 'src/net/', ...PORTS],
    types: LEAVES,
    never: [...TRANSPORTS, ...STORES, ...SCREENS, 'pino'],
  },
  {
    folder: 'src/http/',
    own: ['src/http/', 'src/net/', 'src/services/', 'src/protocol/', 'src/text/'],
    types: ['src/engine/engine.ts', ...LEAVES],
    never: [...STORES, ...SCREENS, 'ws', 'pino'],
  },
  {
    folder: 'src/ws/',
    own: ['src/ws/', 'src/net/', 'src/services/', 'src/protocol/'],
    types: ['src/engine/engine.ts', ...LEAVES],
    never: [...STORES, ...SCREENS, 'koa', '@koa/', 'koa-', 'pino'],
  },
  // Mails that come in by SMTP or out of a mailbox: bytes → services.
  {
    folder: 'src/mail/',
    own: ['src/mail/', 'src/net/', 'src/services/'],
    types: ['src/engine/engine.ts', ...LEAVES],
    packages: ['node:', 'smtp-server'],
  },
  { folder: 'src/sdk/', own: ['src/sdk/', 'src/protocol/codes.ts'], types: ['src/protocol/'], packages: [] },
  // The desk without a screen: one model for the terminal and the browser.
  {
    folder: 'src/desk/',
    own: ['src/desk/', 'src/sdk/', 'src/protocol/', 'src/text/'],
    packages: [],
  },
  // The desk in a browser, a client of REST and WebSocket like the terminal.
  {
    folder: 'src/dashboard/',
    own: [
      'src/dashboard/',
      'src/desk/',
      'src/sdk/',
      'src/text/',
      'src/protocol/codes.ts',
      'src/protocol/enums.ts',
      'src/protocol/queue-enums.ts',
      'widget/shared/',
      'widget/conversation/rich-text.ts',
      'widget/conversation/notification-sound.ts',
      'widget/security/browser-passkeys.ts',
      'widget/security/qr.ts',
    ],
    types: ['src/protocol/'],
    packages: ['preact', '@preact/signals'],
  },
  {
    folder: 'src/cli/console/',
    own: ['src/cli/console/', 'src/desk/', 'src/sdk/', 'src/protocol/', 'src/text/'],
    never: [...TRANSPORTS, ...STORES, 'pino', 'commander'],
  },
  {
    folder: 'src/cli/',
    own: [
      'src/cli/',
      'src/app.ts',
      'src/open-service.ts',
      'src/data-folder.ts',
      'src/config.ts',
      'src/config/',
      'src/heap.ts',
      'src/log.ts',
      'src/services/',
      'src/protocol/',
      'src/text/',
      'src/net/',
      'src/sdk/',
      // The description of the API is made from the contract; the command prints what the server serves.
      'src/http/openapi.ts',
      'src/engine/open-engine.ts',
      // They load nothing, so that they are there before any command is chosen.
      'src/engine/file-errors.ts',
      'src/engine/partial-files.ts',
      'package.json',
    ],
    types: ['src/engine/engine.ts', 'src/engine/rows.ts'],
    never: [...TRANSPORTS, ...STORES, 'pino'],
  },
  { folder: 'src/app.ts', own: ['src/', 'package.json'] },
  // Assembles rules and engine, without any transport: what the command line works on.
  {
    folder: 'src/open-service.ts',
    own: [
      'package.json',
      'src/config.ts',
      'src/log.ts',
      'src/secret-key.ts',
      'src/services/',
      'src/protocol/',
      'src/llm/',
      'src/files/',
      'src/engine/open-engine.ts',
      'src/engine/clock.ts',
    ],
    types: ['src/engine/engine.ts'],
    never: [...TRANSPORTS, ...STORES, ...SCREENS],
  },
  {
    folder: 'src/secret-key.ts',
    own: ['src/config.ts', 'src/services/', 'src/engine/open-engine.ts'],
    types: ['src/engine/engine.ts'],
    never: [...TRANSPORTS, ...STORES, ...SCREENS],
  },
  // Database and key as files, for backup, restore and doctor: no rule, no transport.
  {
    folder: 'src/data-folder.ts',
    own: ['src/secret-key.ts', 'src/services/auth/secrets.ts', 'src/engine/open-engine.ts'],
    types: LEAVES,
    packages: ['node:'],
  },
  {
    folder: 'src/config.ts',
    own: ['src/config/', 'src/protocol/codes.ts', 'src/services/tenants/plans.ts'],
    types: ['src/engine/engine.ts'],
    packages: ['node:', 'zod'],
  },
  { folder: 'src/config/', own: ['src/config/', 'src/net/mail-server-url.ts'], packages: ['node:'] },
  { folder: 'src/heap.ts', own: [], packages: ['node:'] },
  { folder: 'src/log.ts', own: ['src/config.ts'], packages: ['node:', 'pino'] },
  { folder: 'migrations/', own: ['migrations/'], packages: ['kysely'] },
  // The page for members' own sign-in: a client of REST, apart from the widget.
  {
    folder: 'widget/security/',
    own: [
      'widget/security/',
      'widget/shared/dom.ts',
      'widget/shared/languages.ts',
      'src/protocol/codes.ts',
      'src/text/fill-text.ts',
    ],
    types: ['src/protocol/'],
    packages: ['@simplewebauthn/browser', 'uqr'],
  },
  {
    folder: 'widget/',
    own: ['widget/', 'src/sdk/', 'src/protocol/codes.ts'],
    types: ['src/protocol/'],
    packages: [],
  },
];

const NOT_OURS = new Set(['node_modules', 'dist', '.git', 'deskbell-data', 'coverage']);
const BINARY = /\.(png|jpe?g|gif|ico|webp|woff2?|gz|br|tgz|db)$/;

/** All files below a folder, as paths from the root with "/"; none when there is no such folder. */
async function filesBelow(folder: string): Promise<string[]> {
  const entries = await readdir(join(repository, folder), { withFileTypes: true }).catch((error: unknown) => {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return [];
    throw error;
  });
  const found = await Promise.all(
    entries
      .filter(({ name }) => !NOT_OURS.has(name) && !name.startsWith('.dist-'))
      .map(async (entry) => {
        const path = posix.join(folder, entry.name);
        if (entry.isDirectory()) return await filesBelow(path);
        return entry.isFile() ? [path] : [];
      }),
  );
  return found.flat().toSorted();
}

/** The source text of every TypeScript file of ours that ships. */
async function sources(): Promise<ReadonlyMap<string, string>> {
  const files = (await Promise.all(['src', 'migrations', 'widget'].map(filesBelow)))
    .flat()
    .filter((file) => /\.(ts|tsx|mts|js|mjs)$/.test(file));
  return new Map(
    await Promise.all(
      files.map(async (file) => [file, await readFile(join(repository, file), 'utf8')] as const),
    ),
  );
}

/** Text without its comments; strings are left alone, so that "//" in an address is not one. */
function uncommented(text: string): string {
  return text.replace(
    /("(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`)|\/\*[\s\S]*?\*\/|(?<![\\/])\/\/.*$/gm,
    (_, kept: string | undefined) => kept ?? ' ',
  );
}

/** Every static, side-effect, dynamic and re-exporting import of a file. */
function importsOf(from: string, text: string): Import[] {
  const found: Import[] = [];
  const add = (specifier: string, typeOnly: boolean): void => {
    const own = specifier.startsWith('.');
    const bare = builtinModules.includes(specifier) ? `node:${specifier}` : specifier;
    found.push({ from, own, typeOnly, target: own ? posix.join(posix.dirname(from), specifier) : bare });
  };
  const code = uncommented(text);
  for (const [, type, clause, specifier] of code.matchAll(
    /^\s*(?:import|export)\s+(type\s)?\s*([^'";()=]*?)\s*from\s*['"]([^'"]+)['"]/gm,
  )) {
    const named = /^\{([^}]*)\}$/
      .exec(clause!)?.[1]
      ?.split(',')
      .map((name) => name.trim())
      .filter((name) => name !== '');
    add(
      specifier!,
      type !== undefined ||
        (named !== undefined && named.length > 0 && named.every((name) => name.startsWith('type '))),
    );
  }
  for (const [, specifier] of code.matchAll(/^\s*import\s*['"]([^'"]+)['"]/gm)) add(specifier!, false);
  for (const [, specifier] of code.matchAll(/\bimport\s*\(\s*['"]([^'"]+)['"]/g)) add(specifier!, false);
  return found;
}

/** Whether a package is one of the listed: "koa" is itself and koa/..., a trailing "-", "/" or ":" is a prefix. */
function listed(target: string, names: readonly string[]): boolean {
  return names.some((name) =>
    /[-/:]$/.test(name) ? target.startsWith(name) : target === name || target.startsWith(`${name}/`),
  );
}

/** Why an import breaks a wall, or undefined. */
function breach({ from, target, own, typeOnly }: Import): string | undefined {
  const wall = WALLS.find(({ folder }) => from.startsWith(folder));
  if (wall === undefined) return `${from}: no wall is written for it`;
  const allowed = own
    ? wall.own.some((prefix) => target.startsWith(prefix)) ||
      (typeOnly && (wall.types ?? []).some((prefix) => target.startsWith(prefix)))
    : !listed(target, wall.never ?? []) && (wall.packages === undefined || listed(target, wall.packages));
  return allowed ? undefined : `${from} must not import ${typeOnly ? 'types of ' : ''}${target}`;
}

/** Files outside the allowed ones whose code matches, as file:line. */
async function offenders(pattern: RegExp, allowed: RegExp): Promise<string[]> {
  return [...(await sources())]
    .filter(([file]) => !allowed.test(file))
    .flatMap(([file, text]) =>
      text
        .split('\n')
        .flatMap((line, index) =>
          pattern.test(uncommented(line)) && !/^\s*\*/.test(line)
            ? [`${file}:${index + 1}: ${line.trim()}`]
            : [],
        ),
    );
}

describe('which may import which', () => {
  test('every import of ours stays inside its walls', async () => {
    const imports = [...(await sources())].flatMap(([file, text]) => importsOf(file, text));
    expect(imports.map(breach).filter((why) => why !== undefined)).toEqual([]);
  });

  test('only the switch between the engines knows which there are', async () => {
    const reached = [...(await sources())]
      .flatMap(([file, text]) => importsOf(file, text))
      .filter(({ from, target }) => {
        // Each folder is an engine's, but that of the interfaces.
        const inside = /^src\/engine\/(?!repositories\/)[^/]+\//.exec(target)?.[0];
        if (inside === undefined || from.startsWith(inside) || from === 'src/engine/open-engine.ts')
          return false;
        // One set of queries for both databases; it lies with SQLite's.
        return !(
          from.startsWith('src/engine/postgres/') && sharedQueries.some((path) => target.startsWith(path))
        );
      });
    expect(reached).toEqual([]);
  });

  test('the thread of checkpoints, which starts while users wait, loads no more than a connection', async () => {
    const all = await sources();
    const loaded = new Set(['src/engine/sqlite/checkpoint-worker.ts']);
    const packages = new Set<string>();
    for (const file of loaded)
      for (const { target, own, typeOnly } of importsOf(file, all.get(file) ?? ''))
        if (!typeOnly && !target.startsWith('node:')) (own ? loaded : packages).add(target);
    expect([...packages]).toEqual(['better-sqlite3']);
    expect([...loaded]).toContain('src/engine/sqlite/connection.ts');
  });

  test('no import escapes the reading: every "from" line of a file is found', async () => {
    for (const [file, text] of await sources()) {
      const plain =
        uncommented(text).match(
          /^(import\b|export\b[^=;(]*\bfrom\b|\}\s*from\b)[^;]*?from\s*['"]|^import\s*['"]/gm,
        ) ?? [];
      expect(importsOf(file, text).length, file).toBeGreaterThanOrEqual(
        plain.filter((line) => !line.startsWith('}')).length,
      );
    }
  });

  test.each([
    ['src/protocol/codes.ts', "import { z } from 'zod';"],
    ['src/protocol/enums.ts', "import { z } from 'zod';"],
    ['src/protocol/events.ts', "import type { Tx } from '../engine/engine.ts';"],
    ['src/services/chat/messages.ts', "import {\n  sql,\n  type Kysely,\n} from 'kysely';"],
    ['src/services/chat/messages.ts', "import type { Store } from '../../engine/sqlite/sqlite-store.ts';"],
    ['src/services/chat/messages.ts', "export { hub } from '../../ws/hub.ts';"],
    ['src/http/koa-app.ts', "import { hub } from '../ws/hub.ts';"],
    ['src/http/koa-app.ts', "import { open } from '../engine/engine.ts';"],
    ['src/ws/hub.ts', "const app = await import('../http/koa-app.ts');"],
    ['src/sdk/client.ts', "import { z } from 'zod';"],
    ['src/sdk/client.ts', "import { operations } from '../protocol/operations.ts';"],
    ['src/cli/console/app.tsx', "import { execute } from '../../services/execute.ts';"],
    ['src/desk/queue.ts', "import { render } from 'ink';"],
    ['src/desk/drafts.ts', "import { join } from 'node:path';"],
    ['src/desk/menus.ts', "import type { Line } from '../cli/console/text/types.ts';"],
    ['src/dashboard/main.tsx', "import { render } from 'react';"],
    ['src/dashboard/api.ts', "import { operations } from '../protocol/operations.ts';"],
    ['src/dashboard/desk.ts', "import { TerminalView } from '../cli/console/views/terminal-view.ts';"],
    ['src/cli/commands/orgs.ts', "import { hub } from '../../ws/hub.ts';"],
    ['src/services/tenants/stats.ts', "import '../../app.ts';"],
    ['src/services/chat/messages.ts', "import type { Runner } from '../../engine/sqlite/query.ts';"],
    ['src/cli/local.ts', "import { openConnection } from '../engine/sqlite/connection.ts';"],
    ['src/data-folder.ts', "import { openConnection } from './engine/sqlite/connection.ts';"],
    ['src/engine/engine.ts', "import type { Store } from './sqlite/sqlite-store.ts';"],
    ['src/engine/sqlite/query.ts', "import { x } from '../../services/execute.ts';"],
    ['migrations/0001.ts', "import { x } from '../src/log.ts';"],
    ['widget/panel.ts', "import { x } from '../src/services/execute.ts';"],
    ['src/elsewhere/x.ts', "import { y } from './y.ts';"],
  ])('a breach is seen: %s', (file, line) => {
    expect(importsOf(file, line).map(breach)).toEqual([expect.stringContaining(file)]);
  });

  test.each([
    ['src/services/chat/messages.ts', "import type { Tx } from '../../engine/engine.ts';"],
    ['src/http/koa-app.ts', "import { type Store, type Tx } from '../engine/engine.ts';"],
    ['src/sdk/client.ts', "import type { Message } from '../protocol/entities.ts';"],
    ['src/sdk/client.ts', "// import { z } from 'zod';"],
    ['src/app.ts', "import { koaApp } from './http/koa-app.ts';"],
  ])('what is allowed is let through: %s', (file, line) => {
    expect(
      importsOf(file, line)
        .map(breach)
        .filter((why) => why !== undefined),
    ).toEqual([]);
  });
});

describe('what only one place may do', () => {
  test('only the configuration reads the environment', async () => {
    expect(
      await offenders(
        /\bprocess\s*\.\s*env\b|\bprocess\[['"]env|import\s*\{[^}]*\benv\b[^}]*\}\s*from\s*['"](node:)?process/,
        /^src\/config(\.ts$|\/)/,
      ),
    ).toEqual([]);
  });

  test('nothing writes to the console behind the logger and the printer', async () => {
    expect(await offenders(/(?<![-/])\bconsole\s*\.\s*\w/, /^widget\/launcher\/main\.ts$/)).toEqual([]);
  });

  test("only the engine's clock, the command line and the clients ask what time it is", async () => {
    expect(
      await offenders(
        /\bDate\s*\.\s*now\b|\bnew Date\s*\(\s*\)|\bDate\s*\(\s*\)/,
        /^src\/engine\/(.*\/)?clock\.ts$|^src\/cli\/|^src\/sdk\/|^src\/dashboard\/|^widget\//,
      ),
    ).toEqual([]);
  });

  test('SQL stays in the engine and the migrations', async () => {
    const users = [...(await sources())]
      .flatMap(([file, text]) => importsOf(file, text))
      .filter(({ target }) => listed(target, STORES))
      .map(({ from }) => from);
    expect(users.filter((file) => !/^(src\/engine|migrations)\//.test(file))).toEqual([]);
  });
});

test("no file names a path of someone's machine or the host of a registry", async () => {
  // Put together here, so that this file does not contain what it looks for.
  const machine = ['work', 'tmp', 'root', 'Users']
    .map((folder) => `(?<![\\w.~)}\\]*-])/${folder}/`)
    .join('|');
  const registry = ['registry', '\\.(npmjs|yarnpkg|npmmirror)\\.'].join('');
  const forbidden = new RegExp(`${machine}|${registry}`);
  const found: string[] = [];
  for (const file of (await filesBelow('.')).filter((path) => !BINARY.test(path))) {
    (await readFile(join(repository, file), 'utf8')).split('\n').forEach((line, index) => {
      if (forbidden.test(line)) found.push(`${file}:${index + 1}: ${line.trim().slice(0, 120)}`);
    });
  }
  expect(found).toEqual([]);
});
