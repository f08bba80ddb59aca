// An import that is ended by kill -9 beside a serving server: what it left is not found, is in no one else's way, and the
// same import brings all of it a minute later. What a cut does to an import is in test/trust/import-slices.test.ts.
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { databaseFile } from '../../src/engine/open-engine.ts';
import { sizeLimits } from '../../src/protocol/codes.ts';
import { exportOrganization } from '../../src/services/data/export.ts';
import { startApp } from '../helpers/app.ts';
import { deskbell, start } from '../helpers/cli.ts';
import { rowsOf } from '../helpers/database.ts';
import { eventually } from '../helpers/eventually.ts';
import { createConversation, createMessage, createOrganization, createVisitor } from '../helpers/fixtures.ts';
import { serve, type ServerProcess } from '../helpers/process.ts';
import { repeatable, rounds, seededRandom } from '../helpers/rounds.ts';

const cycles = rounds(1, 60);
const messages = 5_000;
const random = seededRandom();

let parent: string;
let folder: string;
let file: string;
let lines: string[];
let server: ServerProcess;

beforeAll(async () => {
  parent = await mkdtemp(join(tmpdir(), 'deskbell-import-'));
  folder = join(parent, 'data');
  file = join(parent, 'acme.jsonl');
  const app = await startApp();
  const { application } = await createOrganization(app, 'acme');
  const visitor = createVisitor(app, application);
  await createMessage(visitor, await createConversation(visitor), 'hello');
  await rowsOf(
    app,
    `insert into messages (id, conversation_id, organization_id, seq, changed_seq, sender_id, sender_role, content, content_format, internal, created_at)
     with recursive n(i) as (select 2 union all select i + 1 from n where i < ${messages})
     select lower(printf('%08x-0000-4000-8000-000000000000', i)), conversation_id, organization_id, i, i, sender_id, sender_role, content, content_format, internal, created_at from messages, n where seq = 1`,
  );
  await rowsOf(app, `update conversations set last_seq = ${messages}`);
  lines = [];
  const local = { service: app.service, actor: { kind: 'local' }, address: null } as const;
  await exportOrganization({ ...local, contentLimit: sizeLimits.contentRest }, 'acme', async (line) => {
    lines.push(line);
  });
  await writeFile(file, `${lines.join('\n')}\n`);
  await app.stop();
  server = await serve(folder);
});

afterAll(async () => {
  await server.kill();
  await rm(parent, { recursive: true, force: true });
});

/** Looks into the database as it is on disk. */
function inDatabase<T>(work: (database: Database.Database) => T, readonly = true): T {
  const database = new Database(databaseFile(folder), { readonly, timeout: 5_000 });
  try {
    return work(database);
  } finally {
    database.close();
  }
}

const stored = (): number =>
  inDatabase((database) => Number(database.prepare('select count(*) from messages').pluck().get()));

const command = (...args: string[]) => deskbell([...args, '--data', folder]);
const slugs = async (): Promise<string[]> => {
  const { stdout } = await command('org', 'list', '--json');
  return (JSON.parse(stdout) as { items: { slug: string }[] }).items.map(({ slug }) => slug);
};

/**
 * Kills an import anywhere between its first row and its last. One that was done before the test looked is removed, and
 * followed by another.
 * @returns how many messages it left
 */
async function killedImport(): Promise<number> {
  for (;;) {
    const importing = start(['import', file, '--data', folder]);
    const enough = 1 + Math.floor(random() * messages * 0.9);
    await eventually(() => expect(stored()).toBeGreaterThanOrEqual(enough));
    const { signal } = await importing.stop('SIGKILL');
    const left = stored();
    if (left < messages || signal === 'SIGKILL') {
      expect(left).toBeLessThan(messages);
      return left;
    }
    expect((await command('org', 'delete', 'acme', '--yes')).code).toBe(0);
  }
}

it('leaves nothing that is found, and is repeated whole', () =>
  repeatable('test/engine/import-kill.test.ts', cycles, async () => {
    for (let cycle = 0; cycle < cycles; cycle += 1) {
      const left = await killedImport();
      inDatabase((database) => {
        expect(database.pragma('integrity_check', { simple: true })).toBe('ok');
        expect(database.pragma('foreign_key_check')).toEqual([]);
      });
      expect(await slugs()).toEqual([]);
      const visitor = { 'x-visitor-id': randomUUID(), origin: 'https://acme.example' };
      const answer = await fetch(`${server.url}/api/v1/conversations`, { headers: visitor });
      expect(answer.status).toBe(401);
      // It could still be at work, however long this machine takes to start the next.
      inDatabase(
        (database) =>
          database.prepare('update organizations set plan_changed_at = ?').run(Date.now() + 3_600_000),
        false,
      );
      const early = await command('import', file);
      expect([early.code, early.stderr]).toEqual([1, expect.stringContaining('being imported already')]);
      expect(stored()).toBe(left);
      // A minute later.
      inDatabase(
        (database) =>
          database.prepare('update organizations set plan_changed_at = ?').run(Date.now() - 61_000),
        false,
      );
      const again = await command('import', file);
      expect([again.code, again.stderr]).toEqual([0, '']);
      expect([stored(), await slugs()]).toEqual([messages, ['acme']]);
      expect((await command('org', 'delete', 'acme', '--yes')).code).toBe(0);
      expect(stored()).toBe(0);
      // A slice more or less of time: the moment of a kill is the one thing here that is a time.
      await setTimeout(20 * random());
    }
  }));
