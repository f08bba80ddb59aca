// Owns: the command line on a PostgreSQL database: what it needs, what it refuses, servers beside each other and commands
// beside them, and that no password of the database is shown anywhere.
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ConfigError, readConfig } from '../../src/config.ts';
import { describeDatabase } from '../../src/engine/open-engine.ts';
import { deskbell, deskbellProcessJson, ensureBuilt, serve, temporaryFolder } from '../helpers/cli.ts';
import { eventually } from '../helpers/eventually.ts';
import { askDatabase, createDatabase, type TestDatabase } from '../helpers/postgres.ts';

const key = randomBytes(32).toString('base64');
const password = 'CANARY-PASSWORD';

let database: TestDatabase;
let folder: string;
let removeFolder: () => Promise<void>;
let env: Record<string, string>;

beforeAll(async () => {
  await ensureBuilt();
  database = await createDatabase();
  ({ folder, remove: removeFolder } = await temporaryFolder());
  env = {
    DESKBELL_DATABASE_URL: database.url.replace('postgres://postgres@', `postgres://postgres:${password}@`),
    DESKBELL_SECRET_KEY: key,
    DESKBELL_FILES: pathToFileURL(join(folder, 'files')).href,
  };
});

afterAll(async () => {
  await database.remove();
  await removeFolder();
});

interface Nodes {
  readonly nodes: readonly {
    readonly leads: boolean;
    readonly connected: boolean;
    readonly version: string;
  }[];
}

const nodes = (): Promise<Nodes> => deskbellProcessJson<Nodes>(['nodes'], { env, cwd: folder });

it('is configured by the environment alone, and wholly', () => {
  const read = (variables: Record<string, string>, flags = {}): unknown => {
    try {
      return readConfig(flags, variables);
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      expect(error.message).not.toContain(password);
      return error.message;
    }
  };
  expect(JSON.stringify(read(env))).not.toContain(password);
  expect(describeDatabase('postgres://deskbell:half@half@db.example.com/desk')).toBe('db.example.com/desk');
  expect(read({ ...env, DESKBELL_DATABASE_URL: `${database.url}?options=-c%20search_path%3Dx` })).toMatch(
    /must not set options/,
  );
  for (const url of [
    `mysql://u:${password}@h/db`,
    `postgres://u:${password}@h`,
    password,
    'postgres:///',
    'postgres://h/a/b',
  ])
    expect(read({ ...env, DESKBELL_DATABASE_URL: url })).toMatch(
      /^DESKBELL_DATABASE_URL must be like postgres:/,
    );
  expect(read({ ...env, DESKBELL_SECRET_KEY: '' })).toMatch(/without DESKBELL_SECRET_KEY/);
  expect(read({ ...env, DESKBELL_FILES: '' })).toMatch(/without DESKBELL_FILES/);
  expect(read(env, { data: 'x' })).toMatch(/leave out --data/);
  expect(read({ ...env, DESKBELL_DATA: 'x' })).toMatch(/leave out --data/);
  expect(read({ DESKBELL_FILES: 'file:///srv/files' })).toMatch(/leave it out, or name a bucket/);
  expect(read({ ...env, DESKBELL_FILES: 'file://elsewhere/files' })).toMatch(/file:\/\/\/srv/);
});

it('servers and commands work beside each other, and make no folder', async () => {
  const failing = async (
    args: readonly string[],
    variables: Record<string, string> = env,
  ): Promise<string> => {
    const { code, stdout, stderr } = await deskbell(args, { env: variables, cwd: folder });
    expect([code, stdout], args.join(' ')).toEqual([1, '']);
    expect(stderr).not.toContain(password);
    return stderr;
  };
  expect(await failing(['org', 'list'])).toMatch(/nothing of Deskbell in the database/);
  expect(await deskbellProcessJson(['migrate'], { env, cwd: folder })).toMatchObject({ before: 0 });
  const one = await serve([], env);
  const other = await serve([], env);
  try {
    await eventually(async () => {
      const found = (await nodes()).nodes;
      expect(found.map(({ connected }) => connected)).toEqual([true, true]);
      expect(found.filter(({ leads }) => leads)).toHaveLength(1);
    });
    const { slug } = await deskbellProcessJson<{ slug: string }>(['org', 'create', 'Acme'], {
      env,
      cwd: folder,
    });
    const app = await deskbellProcessJson(['app', 'create', '--org', slug, 'Site'], { env, cwd: folder });
    const { key: apiKey, id: keyId } = await deskbellProcessJson(['key', 'create', '--app', app.id], {
      env,
      cwd: folder,
    });
    const list = (url: string): Promise<number> =>
      fetch(`${url}/api/v1/conversations`, {
        headers: {
          authorization: `Bearer ${apiKey}`,
          'x-app-id': app.appId,
          'x-visitor-id': '3f0c9a1e-5b7d-4c2a-9e8f-1a2b3c4d5e6f',
        },
      }).then(({ status }) => status);
    expect([await list(one.url), await list(other.url)]).toEqual([200, 200]);
    // What is withdrawn is refused by all in the very next request.
    await deskbellProcessJson(['key', 'revoke', keyId], { env, cwd: folder });
    expect([await list(one.url), await list(other.url)]).toEqual([401, 401]);
    await askDatabase(database, "insert into meta (key, value) values ('mails_astray', ?)", [
      JSON.stringify({ count: 2, lastAt: Date.now() }),
    ]);
    const doctor = await deskbell(['doctor', '--port', '0', '--json'], { env, cwd: folder });
    const { checks } = JSON.parse(doctor.stdout) as { checks: { about: string; state: string }[] };
    const stateOf = Object.fromEntries(checks.map(({ about, state }) => [about, state]));
    expect(stateOf).toMatchObject({
      database: 'ok',
      'secret key': 'ok',
      schema: 'ok',
      clock: 'ok',
      servers: 'ok',
      files: 'ok',
      tls: 'note',
      'mails that came': 'note',
      // The server of the tests keeps nothing.
      durability: 'wrong',
    });
    expect(doctor.stdout).not.toContain(password);
    // A server that answers is the one that is asked about.
    const beside = async (baseUrl: string): Promise<unknown> => {
      const args = ['doctor', '--port', String(one.port), '--base-url', baseUrl, '--json'];
      const { stdout } = await deskbell(args, { env, cwd: folder });
      return (JSON.parse(stdout) as { checks: unknown[] }).checks;
    };
    const portHere = { about: 'port', state: 'ok', found: `${one.port} is served by a Deskbell` };
    expect(await beside(one.url)).toEqual(
      expect.arrayContaining([
        expect.objectContaining(portHere),
        expect.objectContaining({ about: 'base URL', state: 'ok' }),
      ]),
    );
    expect(await beside('http://127.0.0.1:1')).toContainEqual(
      expect.objectContaining({
        about: 'base URL',
        state: 'note',
        found: expect.not.stringContaining('folder'),
      }),
    );
    const wrongKey = { ...env, DESKBELL_SECRET_KEY: randomBytes(32).toString('base64') };
    expect(await failing(['org', 'list'], wrongKey)).toMatch(/another secret key/);
    const gone = {
      ...env,
      DESKBELL_DATABASE_URL: (env['DESKBELL_DATABASE_URL'] ?? '').replace(/test_\w+/, 'gone'),
    };
    expect(await failing(['nodes'], gone)).toMatch(/gone can't be used: database "gone" does not exist/);
    expect(await failing(['backup', 'x'])).toMatch(/pg_dump/);
    expect(await failing(['restore', 'x'])).toMatch(/pg_restore/);
    expect(await failing(['install-service'])).toMatch(/More than one machine/);
    if (process.platform === 'linux')
      expect(execFileSync('ps', ['-o', 'args=', '-p', `${one.pid},${other.pid}`]).toString()).not.toContain(
        password,
      );
  } finally {
    const ended = await Promise.all([one.running.stop('SIGTERM'), other.running.stop('SIGKILL')]);
    for (const { stdout, stderr } of ended) expect(`${stdout}${stderr}`).not.toContain(password);
  }
  // The one that was asked to end has left; the other one is missed.
  await eventually(async () =>
    expect((await nodes()).nodes.map(({ connected }) => connected)).toEqual([false]),
  );
  expect((await readdir(folder)).filter((name) => name !== 'files')).toEqual([]);
});

it('a database that can not hold every text, and a role without rights, are refused with what to do', async () => {
  const [latin, weak, taken] = ['latin', 'weak', 'taken'].map(
    (name) => `${name}_${randomBytes(4).toString('hex')}`,
  );
  const at = (name: string | undefined, role = 'postgres'): Record<string, string> => ({
    ...env,
    DESKBELL_DATABASE_URL: database.url
      .replace('postgres://postgres@', `postgres://${role}:${password}@`)
      .replace(/test_\w+/, name ?? ''),
  });
  await askDatabase(database, `create database ${latin} encoding 'LATIN1' locale 'C' template template0`);
  await askDatabase(database, `create database ${taken}`);
  await askDatabase(database, `create role ${weak} login`);
  const migrate = (variables: Record<string, string>) =>
    deskbell(['migrate'], { env: variables, cwd: folder });
  try {
    const refused = await migrate(at(latin));
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining('createdb --encoding UTF8')]);
    const without = await migrate(at(taken, weak));
    expect([without.code, without.stderr]).toEqual([
      1,
      expect.stringMatching(/permission denied.*its owner/),
    ]);
    // Made by another role, and used by this one.
    expect((await migrate(at(taken))).code).toBe(0);
    const listed = await deskbell(['org', 'list'], { env: at(taken, weak), cwd: folder });
    expect([listed.code, listed.stderr]).toEqual([1, expect.stringMatching(/permission denied.*its owner/)]);
    expect(`${refused.stderr}${without.stderr}${listed.stderr}`).not.toContain(password);
  } finally {
    for (const name of [latin, taken]) await askDatabase(database, `drop database ${name} with (force)`);
    await askDatabase(database, `drop role ${weak}`);
  }
});

it('without a database, what is for one says so', async () => {
  for (const command of ['nodes', 'migrate']) {
    const { code, stderr } = await deskbell([command], { cwd: folder });
    expect([code, stderr]).toEqual([1, expect.stringMatching(/set DESKBELL_DATABASE_URL/)]);
  }
});
