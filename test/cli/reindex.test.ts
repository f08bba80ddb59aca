// Attacks `deskbell reindex`: whatever index is damaged, afterwards everything is found as before, and nothing that was
// removed; an index that is being filled goes on where it was stopped.
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { StoreUnavailableError } from '../../src/engine/engine.ts';
import { pageProblem } from '../../src/engine/sqlite/examine.ts';
import { databaseFile } from '../../src/engine/open-engine.ts';
import { updateSearchIndex } from '../../src/services/chat/search.ts';
import { startApp, type TestApp } from '../helpers/app.ts';
import { inProcess, temporaryFolder } from '../helpers/cli.ts';
import { damageIndex, fullTextIndexes } from '../helpers/damage.ts';
import {
  createConversation,
  createMember,
  createMessage,
  createOrganization,
  createVisitor,
  type TestOrganization,
} from '../helpers/fixtures.ts';
import { inDatabase } from '../helpers/rest-checks.ts';

let app: TestApp;
let acme: TestOrganization;
let conversationId: string;
let messageIds: Record<string, string>;

const question = 'How long does a refund take?';

beforeEach(async () => {
  app = await startApp({ engine: 'sqlite' });
  acme = await createOrganization(app, 'acme');
  const visitor = createVisitor(app, acme.application);
  conversationId = await createConversation(visitor, 'A wombat in the garden');
  await visitor.call('PUT', '/visitor', { name: 'Ferdinand Okapi' });
  messageIds = {};
  for (const word of ['aardvark', 'buffalo', 'caracal'])
    messageIds[word] = await createMessage(visitor, conversationId, `the ${word} is here`);
  await visitor.call('DELETE', `/conversations/${conversationId}/messages/${messageIds['caracal']}`);
  await app.local('knowledge.add', {
    applicationId: acme.application.id,
    source: 'refunds.md',
    format: 'markdown',
    content: `# Refunds\n\n## ${question}\n\nA refund takes fourteen days.\n`,
  });
  // Whether all of it is found before is a test of its own: here it brings the index up to the messages.
  await found();
});
afterEach(async () => {
  vi.restoreAllMocks();
  await app.stop();
});

const asBefore = { aardvark: 1, buff: 1, caracal: 0, 'here the': 1, omba: 1, okap: 1, zebra: 0, refund: 1 };

/** How much is found of what there is, of messages, subjects and documents. */
async function found(): Promise<Record<string, number>> {
  const operator = await createMember(app, 'acme');
  const counts: Record<string, number> = {};
  for (const q of Object.keys(asBefore).filter((one) => one !== 'refund')) {
    const reply = await operator.call('GET', `/conversations?q=${encodeURIComponent(q)}&mode=all`);
    if (reply.status !== 200) throw new Error(`${q}: ${reply.text}`);
    counts[q] = reply.body.total as number;
  }
  const { passages } = await app.local('knowledge.search', {
    applicationId: acme.application.id,
    query: question,
  });
  counts['refund'] = passages.length;
  return counts;
}

const run = (command: string, ...more: string[]) => inProcess([command, ...more, '--data', app.folder]);
const restarted = (whileStopped: () => Promise<unknown>) =>
  app.restart({}, whileStopped).then((one) => (app = one));

/** Has a database that was damaged whole again before a server takes it. */
async function restartedWith(damage: () => Promise<Buffer>, file: string): Promise<void> {
  await restarted(async () => {
    await writeFile(file, await damage());
  });
}

describe('deskbell reindex', () => {
  it.each(fullTextIndexes.flatMap((index) => [[index, 'structure'] as const, [index, 'words'] as const]))(
    'makes %s anew whose %s are damaged, as doctor and backup say',
    async (index, part) => {
      await restarted(async () => {
        damageIndex(app.folder, index, part);
        const doctor = await run('doctor', '--json', '--port', '0');
        expect(JSON.parse(doctor.stdout).checks).toContainEqual({
          about: 'integrity',
          state: 'wrong',
          found: expect.stringMatching(
            new RegExp(`an index of the search is damaged, and nothing else.*${index}`),
          ),
          fix: expect.stringContaining(`reindex --data ${app.folder}`),
        });
        const backup = await inProcess(['backup', join(app.folder, 'x.backup'), '--data', app.folder]);
        expect(backup).toMatchObject({
          code: 1,
          stderr: expect.stringContaining(`reindex --data ${app.folder}`),
        });
        expect(await run('reindex', '--json')).toMatchObject({ code: 0, stderr: '' });
        const after = await run('doctor', '--json', '--port', '0');
        expect(after.code).toBe(0);
        expect(JSON.parse(after.stdout).checks).toContainEqual(
          expect.objectContaining({ about: 'search', state: 'note' }),
        );
      });
      expect(await found()).toEqual(asBefore);
      // Its words go with it, and so does what was set of the index.
      const visitor = createVisitor(app, acme.application);
      const mine = await createConversation(visitor, 'A yak');
      const messageId = await createMessage(visitor, mine, 'one quokka');
      const operator = await createMember(app, 'acme');
      const total = async (q: string) => (await operator.call('GET', `/conversations?q=${q}`)).body.total;
      expect([await total('quokka'), await total('yak')]).toEqual([1, 1]);
      expect((await visitor.call('DELETE', `/conversations/${mine}/messages/${messageId}`)).status).toBe(200);
      expect(await total('quokka')).toBe(0);
      expect(
        inDatabase(
          app,
          "select k, v from search_config where k in ('automerge', 'secure-delete') order by k",
        ),
      ).toEqual([
        { k: 'automerge', v: 0 },
        { k: 'secure-delete', v: 1 },
      ]);
      expect(pageProblem(databaseFile(app.folder))).toBeNull();
      expect(inDatabase(app, 'pragma integrity_check')).toEqual([{ integrity_check: 'ok' }]);
    },
  );

  it('has something to find', async () => {
    expect(await found()).toEqual(asBefore);
  });

  it('leaves the schema as it was', async () => {
    const schema = () =>
      inDatabase(app, 'select type, name, tbl_name, sql from sqlite_schema order by type, name');
    const settings = () =>
      fullTextIndexes.map((index) => inDatabase(app, `select * from ${index}_config order by k`));
    const before = [schema(), settings()];
    await restarted(() => run('reindex'));
    expect([schema(), settings()]).toEqual(before);
  });

  it('fills the index of messages on from where a server was stopped', async () => {
    await restarted(() => run('reindex'));
    const { store } = app.service.engine;
    const write = store.write.bind(store);
    let slices = 0;
    // As a server that ends after the first message.
    vi.spyOn(store, 'write').mockImplementation((scope, work, behind) => {
      if (typeof scope === 'object' && behind === 'behind' && (slices += 1) > 1)
        return Promise.reject(new StoreUnavailableError('stopped'));
      return write(scope, work, behind);
    });
    await updateSearchIndex(app.service).catch(() => undefined);
    vi.restoreAllMocks();
    await restarted(async () => undefined);
    expect(await found()).toEqual(asBefore);
  });

  it('refuses beside a server, on a folder without a database and on an older schema, and changes nothing', async () => {
    expect(await run('reindex')).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/is running on.*Stop it/),
    });
    const { folder, remove } = await temporaryFolder();
    expect(await inProcess(['reindex', '--data', folder])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('no Deskbell database'),
    });
    await remove();
    await restarted(async () => {
      const [version] = inDatabase(app, 'pragma user_version');
      inDatabase(app, 'pragma user_version = 20');
      expect(await run('reindex')).toMatchObject({ code: 1, stderr: expect.stringContaining('schema 20') });
      inDatabase(app, `pragma user_version = ${Number(version?.['user_version'])}`);
    });
    expect(await found()).toEqual(asBefore);
  });

  it('says what is left where pages are damaged, and the organization can be moved', async () => {
    const exported = join(app.folder, 'exported');
    let moved: Awaited<ReturnType<typeof inProcess>> | undefined;
    const { folder, remove } = await temporaryFolder();
    const file = databaseFile(app.folder);
    await restartedWith(async () => {
      const [row] = inDatabase(app, "select rootpage from sqlite_schema where name = 'search_data'");
      const whole = await readFile(file);
      const damaged = Buffer.from(whole);
      damaged.fill(0xff, (Number(row?.['rootpage']) - 1) * 4096, Number(row?.['rootpage']) * 4096);
      await writeFile(file, damaged);
      expect(await run('reindex')).toMatchObject({
        code: 1,
        stderr: expect.stringMatching(/deskbell restore .*deskbell export --all.*Nothing was changed/),
      });
      expect(await readFile(file)).toEqual(damaged);
      expect(await run('export', '--all', exported)).toMatchObject({ code: 0 });
      moved = await inProcess(['import', join(exported, 'acme.jsonl'), '--data', folder]);
      return whole;
    }, file);
    expect(moved).toMatchObject({ code: 0 });
    await remove();
  });

  it('is not for PostgreSQL, and says what is', async () => {
    vi.stubEnv('DESKBELL_DATABASE_URL', 'postgres://nowhere.invalid/x');
    vi.stubEnv('DESKBELL_FILES', 'file:///srv/files');
    vi.stubEnv('DESKBELL_SECRET_KEY', Buffer.alloc(32, 1).toString('base64'));
    const outcome = await inProcess(['reindex']);
    vi.unstubAllEnvs();
    expect(outcome).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('REINDEX DATABASE CONCURRENTLY'),
    });
  });
});
