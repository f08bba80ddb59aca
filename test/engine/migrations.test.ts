// Opening a data folder: migrations and the copy before them, refusal of what must not be
// touched, who may read the files, and what a deleted message leaves in them.
import { chmod, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { migrations } from '../../migrations/index.ts';
import { readConfig } from '../../src/config.ts';
import { createSystemClock } from '../../src/engine/clock.ts';
import { databaseFile, EngineError, openEngine, prepareFolder } from '../../src/engine/open-engine.ts';
import { SchemaError } from '../../src/engine/open-errors.ts';
import { migrate } from '../../src/engine/sqlite/migrate.ts';
import { openService } from '../../src/open-service.ts';
import { sizeLimits } from '../../src/protocol/codes.ts';
import type { Actor } from '../../src/services/core/actor.ts';
import { execute } from '../../src/services/execute.ts';
import { serve, startServing } from '../helpers/process.ts';
import { describeSchema, migratedStepByStep, newestSchemaFile } from '../helpers/newest-schema.ts';
import { sha256 } from '../helpers/storage.ts';

let parent: string;
let folder: string;

beforeEach(async () => {
  parent = await mkdtemp(join(tmpdir(), 'deskbell-folder-'));
  folder = join(parent, 'data');
});

afterEach(async () => {
  await rm(parent, { recursive: true, force: true });
});

const options = (keyCheck = 'key') => ({
  folder,
  durability: 'full' as const,
  clock: createSystemClock(),
  keyCheck,
  as: 'command' as const,
});

async function aDatabase(): Promise<void> {
  await prepareFolder(folder);
  const engine = await openEngine(options());
  await engine.store.write('server', (tx) => tx.repositories.meta.set('kept', 'as it was'));
  await engine.close();
}

describe('a new database', () => {
  it('is made of what the migrations make: after a change of them, run "npm run schema"', async () => {
    const file = join(import.meta.dirname, '../../migrations/newest-schema.ts');
    expect(await readFile(file, 'utf8')).toBe(await newestSchemaFile());
  });

  it('is the same as one that went through every migration', async () => {
    const stepped = await migratedStepByStep();
    const made = new Database(':memory:');
    expect(await migrate(made, () => Promise.reject(new Error('a copy of nothing')))).toBe(migrations.length);
    for (const db of [stepped, made])
      expect(db.pragma('user_version', { simple: true })).toBe(migrations.length);
    const all = (db: Database.Database) =>
      db.prepare('select type, name, tbl_name, sql from sqlite_schema order by name').all();
    expect(all(made)).toEqual(all(stepped));
    expect(describeSchema(made)).toEqual(describeSchema(stepped));
    expect(await migrate(made, () => Promise.resolve())).toBe(0);
    stepped.close();
    made.close();
  });

  it('that holds tables of something else is not made over', async () => {
    const other = new Database(':memory:');
    other.exec('create table meta (key text)');
    await expect(migrate(other, () => Promise.resolve())).rejects.toThrow('already exists');
    expect(other.prepare('select name from sqlite_schema').pluck().all()).toEqual(['meta']);
    other.close();
  });
});

/** Changes a closed database from outside. */
function change(work: (db: Database.Database) => void): void {
  const db = new Database(databaseFile(folder));
  work(db);
  db.close();
}

async function contents(): Promise<Record<string, string>> {
  const names = (await readdir(folder)).toSorted();
  return Object.fromEntries(names.map((name) => [name, sha256(join(folder, name))]));
}

async function rights(path: string): Promise<string> {
  return ((await stat(path)).mode & 0o777).toString(8);
}

describe('migrations', () => {
  it('are the files of their folder, numbered from 1, in order', async () => {
    const names = (await readdir(join(import.meta.dirname, '../../migrations')))
      .filter((name) => /^\d{4}-/.test(name))
      .toSorted();
    expect(migrations.map(({ name }) => `${name}.ts`)).toEqual(names);
    expect(names.map((name) => Number(name.slice(0, 4)))).toEqual(names.map((_, index) => index + 1));
  });

  it('are all or nothing', async () => {
    const db = new Database(':memory:');
    const broken = [...migrations, { name: 'broken', up: () => Promise.reject(new Error('half way')) }];
    await expect(migrate(db, () => Promise.resolve(), broken)).rejects.toThrow('half way');
    expect(db.pragma('user_version', { simple: true })).toBe(0);
    expect(db.prepare('select count(*) from sqlite_schema').pluck().get()).toBe(0);
    expect(await migrate(db, () => Promise.resolve(), migrations)).toBe(migrations.length);
    expect(await migrate(db, () => Promise.resolve(), migrations)).toBe(0);
    expect(db.pragma('user_version', { simple: true })).toBe(migrations.length);
    db.close();
  });

  it('leave a retention that any plan allows to the admins, and one of enterprise to the owner', async () => {
    const db = new Database(':memory:');
    const before = migrations.findIndex(({ name }) => name === '0030-own-retention');
    await migrate(db, () => Promise.resolve(), migrations.slice(0, before));
    for (const [id, plan, days] of [
      ['a', 'free', 7],
      ['b', 'premium', null],
      ['c', 'enterprise', 700],
      ['d', 'enterprise', -1],
    ])
      db.prepare(
        `insert into organizations (id, slug, name, plan, retention_days, plan_changed_at, created_at)
           values (?, ?, 'An organization', ?, ?, 0, 0)`,
      ).run(id, id, plan, days);
    await migrate(db, () => Promise.resolve(), migrations);
    const kept = db.prepare('select id, retention_days, own_retention_days from organizations order by id');
    expect(kept.raw().all()).toEqual([
      ['a', null, 7],
      ['b', null, null],
      ['c', 700, null],
      ['d', -1, null],
    ]);
    db.close();
  });

  it('make no copy of a new database, and one of equal content, for its owner only, before a later change', async () => {
    await aDatabase();
    expect((await readdir(folder)).filter((name) => name.includes('before'))).toEqual([]);
    const next = migrations.length + 1;
    vi.resetModules();
    vi.doMock('../../migrations/index.ts', () => ({
      migrations: [
        ...migrations,
        {
          name: 'next',
          up: async (db: {
            schema: {
              createTable(name: string): {
                addColumn(name: string, type: string): { execute(): Promise<void> };
              };
            };
          }) => db.schema.createTable('added').addColumn('x', 'text').execute(),
        },
      ],
    }));
    const newer = await import('../../src/engine/open-engine.ts');
    const before = process.umask(0o000);
    try {
      const engine = await newer.openEngine(options());
      expect(await engine.store.read(({ repositories: tables }) => tables.meta.get('kept'))).toBe(
        'as it was',
      );
      await engine.close();
    } finally {
      process.umask(before);
      vi.doUnmock('../../migrations/index.ts');
      vi.resetModules();
    }
    const copies = (await readdir(folder)).filter((name) => name.includes('before'));
    expect(copies).toEqual([`deskbell-before-schema-${next}.db`]);
    const copy = join(folder, copies[0]!);
    expect(await rights(copy)).toBe('600');
    const dump = (path: string): unknown => {
      const db = new Database(path, { readonly: true });
      const meta = db.prepare("select * from meta where key <> 'opened_at' order by key").all();
      const tables = db
        .prepare("select name from sqlite_schema where type = 'table' order by name")
        .pluck()
        .all();
      const version = db.pragma('user_version', { simple: true });
      db.close();
      return { meta, tables, version };
    };
    const now = dump(databaseFile(folder)) as { meta: unknown; tables: string[] };
    expect(dump(copy)).toEqual({
      meta: now.meta,
      tables: now.tables.filter((name) => name !== 'added'),
      version: migrations.length,
    });
    expect(now.tables).toContain('added');
    // The program that made it refuses what the newer one has changed.
    await expect(openEngine(options())).rejects.toBeInstanceOf(SchemaError);
  });
});

describe('a database that must not be touched', () => {
  it.each(['WAL', 'DELETE'])('is left byte for byte when its schema is newer (%s)', async (mode) => {
    await aDatabase();
    change((db) => {
      db.pragma('user_version = 4711');
      db.pragma(`journal_mode = ${mode}`);
    });
    const before = await contents();
    await expect(openEngine(options())).rejects.toThrow(/schema 4711.*newer deskbell; nothing was changed/);
    expect(await contents()).toEqual(before);
  });

  it.each(['WAL', 'DELETE'])('is left byte for byte when the key is another one (%s)', async (mode) => {
    await aDatabase();
    change((db) => db.pragma(`journal_mode = ${mode}`));
    const before = await contents();
    await expect(openEngine(options('another'))).rejects.toThrow(/another secret key.*nothing was changed/);
    expect(await contents()).toEqual(before);
    const engine = await openEngine(options());
    expect(await engine.store.read(({ repositories: tables }) => tables.meta.get('kept'))).toBe('as it was');
    await engine.close();
  });

  it('is no database at all: refused with a sentence, and left alone', async () => {
    await aDatabase();
    await rm(databaseFile(folder));
    await writeFile(
      databaseFile(folder),
      'this is a letter to my aunt, and longer than a header of a database would be'.repeat(20),
    );
    const before = sha256(databaseFile(folder));
    await expect(openEngine(options())).rejects.toBeInstanceOf(EngineError);
    expect(sha256(databaseFile(folder))).toBe(before);
  });

  it('is refused by the program with one line and exit code 1, as is a missing key', async () => {
    await (await serve(folder)).stop();
    change((db) => db.pragma('user_version = 4711'));
    const before = await contents();
    const newer = await startServing(folder).ended;
    expect([newer.code, newer.stdout, newer.stderr.trim().split('\n').length]).toEqual([1, '', 1]);
    expect(newer.stderr).toContain('schema 4711');
    expect(await contents()).toEqual(before);
    change((db) => db.pragma(`user_version = ${migrations.length}`));
    await rm(join(folder, 'secret.key'));
    const keyless = await startServing(folder).ended;
    expect([keyless.code, keyless.stderr.trim().split('\n').length]).toEqual([1, 1]);
    expect(await readdir(folder)).not.toContain('secret.key');
    const another = await startServing(folder, {
      environment: { DESKBELL_SECRET_KEY: Buffer.alloc(32, 7).toString('base64') },
    }).ended;
    expect(another.code).toBe(1);
    expect(another.stderr).toContain('another secret key');
  });
});

describe('who may read the files', () => {
  it.each(['000', '022'])('readable by their owner alone, under umask %s', async (umask) => {
    const served = await serve(folder, { umask });
    const open = await readdir(folder);
    expect(open).toEqual(
      expect.arrayContaining([
        'deskbell.db',
        'deskbell.db-wal',
        'deskbell.db-shm',
        'secret.key',
        'deskbell.lock',
      ]),
    );
    expect(await rights(folder)).toBe('700');
    for (const name of open) expect(await rights(join(folder, name)), name).toBe('600');
    await served.stop();
    for (const name of await readdir(folder)) expect(await rights(join(folder, name)), name).toBe('600');
  });

  it('a secret key that others can read is refused', async () => {
    await (await serve(folder)).stop();
    await chmod(join(folder, 'secret.key'), 0o644);
    const refused = await startServing(folder).ended;
    expect(refused.code).toBe(1);
    expect(refused.stderr).toContain('chmod 600');
  });
});

describe('a message that was deleted or edited', () => {
  it('leaves nothing of its old text in any file', async () => {
    const config = readConfig(
      { data: folder, limitVisitor: 'off', limitApplication: 'off', limitAddressNew: 'off' },
      {},
    );
    const { service, close } = await openService(config, 'command', () => null, { passwordCost: 4 });
    const call = <T>(actor: Actor, name: Parameters<typeof execute>[1], input: unknown): Promise<T> =>
      execute(
        { service, actor, address: null, contentLimit: sizeLimits.contentRest },
        name,
        input,
      ) as Promise<unknown> as Promise<T>;
    const local: Actor = { kind: 'local' };
    const { id: organizationId } = await call<{ id: string }>(local, 'organizations.create', {
      name: 'Acme',
      slug: 'acme',
    });
    const { id: applicationId } = await call<{ id: string }>(local, 'applications.create', {
      organization: 'acme',
      name: 'Site',
      domains: [],
    });
    const visitor: Actor = {
      kind: 'visitor',
      organizationId,
      applicationId,
      visitorId: '6f0a2f0e-3c6b-4f6e-9a53-0f5f8f3f7d11',
      mode: 'live',
      via: 'key',
      origin: null,
    };
    const { conversation } = await call<{ conversation: { id: string } }>(
      visitor,
      'conversations.create',
      {},
    );
    const lexical = (text: string): string =>
      JSON.stringify({
        root: {
          type: 'root',
          version: 1,
          children: [{ type: 'paragraph', version: 1, children: [{ type: 'text', version: 1, text }] }],
        },
      });
    const ids: string[] = [];
    for (let index = 0; index < 30; index += 1) {
      const body =
        index % 2 === 0
          ? { content: `ERASED-${index} ${'lorem '.repeat(200)}` }
          : { content: lexical(`ERASED-${index}`), contentFormat: 'lexical' };
      ids.push(
        (
          await call<{ message: { id: string } }>(visitor, 'messages.send', {
            conversationId: conversation.id,
            ...body,
          })
        ).message.id,
      );
      await call(visitor, 'messages.send', { conversationId: conversation.id, content: `KEPT-${index}` });
    }
    const found = async (marker: string): Promise<number> => {
      const files = await Promise.all(
        (await readdir(folder)).map((name) => readFile(join(folder, name), 'latin1')),
      );
      return files.join('').split(marker).length - 1;
    };
    for (const [index, messageId] of ids.entries())
      if (index % 3 === 0)
        await call(visitor, 'messages.edit', { conversationId: conversation.id, messageId, content: 'NEW' });
      else await call(visitor, 'messages.delete', { conversationId: conversation.id, messageId });
    await close();
    expect(await found('KEPT-')).toBe(30);
    expect(await found('ERASED-')).toBe(0);
  });
});
