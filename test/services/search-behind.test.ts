// The index of the search is behind the log most of the time. What a search answers must not tell: it finds what was
// sent a moment ago, and nothing that was changed or removed since. Time stands still unless a test moves it, so no index
// is written here but by what a test does.
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { StoreUnavailableError } from '../../src/engine/engine.ts';
import { sizeLimits } from '../../src/protocol/codes.ts';
import { updateSearchIndex } from '../../src/services/chat/search.ts';
import { exportOrganization } from '../../src/services/data/export.ts';
import { importOrganization } from '../../src/services/data/import.ts';
import { startApp, type TestApp, type TestAppOptions } from '../helpers/app.ts';
import { rowsOf } from '../helpers/database.ts';
import { eventually } from '../helpers/eventually.ts';
import {
  createConversation,
  createMember,
  createMessage,
  createOrganization,
  createVisitor,
  type TestClient,
  type TestMember,
  type TestOrganization,
} from '../helpers/fixtures.ts';

let app: TestApp;
let acme: TestOrganization;
let visitor: TestClient;
let operator: TestMember;
let conversationId: string;

async function start(options: TestAppOptions = {}): Promise<void> {
  app = await startApp(options);
  acme = await createOrganization(app, 'acme');
  visitor = createVisitor(app, acme.application);
  operator = await createMember(app, 'acme');
  conversationId = await createConversation(visitor);
}

beforeEach(() => start());
afterEach(async () => {
  vi.restoreAllMocks();
  await app.stop();
});

async function find(q: string): Promise<string[]> {
  const reply = await operator.call('GET', `/conversations?q=${q}&mode=all`);
  expect(reply.status).toBe(200);
  return reply.body.conversations.map((one: { id: string }) => one.id);
}

const callOn = ({ service }: TestApp) =>
  ({ service, actor: { kind: 'local' }, address: null, contentLimit: sizeLimits.contentRest }) as const;

const isIndexed = (id: string): Promise<boolean> =>
  app.service.engine.store.read(({ repositories }) => repositories.search.has(id));

/** Events that name no message. */
function addEvents(count: number): Promise<void> {
  return app.service.engine.store.write({ organization: acme.id }, async (tx) => {
    for (let at = 0; at < count; at += 1)
      await tx.emit({
        organization_id: acme.id,
        conversation_id: conversationId,
        mode: 'live',
        type: 'conversation:released',
        audience: 'staff',
        actor_id: acme.id,
        message_id: null,
        member_id: null,
        payload: { conversationId },
      });
  });
}

describe('a search, while the index is behind,', () => {
  it('finds a message that was just sent, and follows an edit, a deletion and an erasure', async () => {
    const messageId = await createMessage(visitor, conversationId, 'aardvark');
    expect(await isIndexed(messageId)).toBe(false);
    expect(await find('aardvark')).toEqual([conversationId]);
    await visitor.call('PATCH', `/conversations/${conversationId}/messages/${messageId}`, {
      content: 'buffalo',
    });
    expect(await find('aardvark')).toEqual([]);
    expect(await find('buffalo')).toEqual([conversationId]);
    await visitor.call('DELETE', `/conversations/${conversationId}/messages/${messageId}`);
    expect(await find('buffalo')).toEqual([]);

    await createMessage(visitor, conversationId, 'chameleon');
    const erased = await operator.call('GET', '/conversations?q=chameleon');
    const visitorId: string = erased.body.conversations[0].visitor.id;
    await createMessage(visitor, conversationId, 'dromedary');
    await app.local('visitors.erase', { applicationId: acme.application.id, mode: 'live', visitorId });
    for (const word of ['chameleon', 'dromedary']) expect(await find(word)).toEqual([]);
    expect(await rowsOf(app, 'select id from search_rows')).toEqual([]);
    // SQLite has the words in a table of their own.
    if (app.database === null)
      expect(
        await rowsOf(app, "select rowid from search where search match 'dromedary* OR 1xdromedary*'"),
      ).toEqual([]);
  });

  it('finds what was sent before the server ended without indexing it', async () => {
    const messageId = await createMessage(visitor, conversationId, 'elephant');
    app = await app.restart();
    const again = await createMember(app, 'acme', 'operator', 'again');
    expect(await isIndexed(messageId)).toBe(false);
    expect((await again.call('GET', '/conversations?q=elephant')).body.total).toBe(1);
  });

  it('shares one run with the searches beside it', async () => {
    for (let at = 0; at < 30; at += 1) await createMessage(visitor, conversationId, `flamingo ${at}`);
    const found = await Promise.all(Array.from({ length: 8 }, () => find('flamingo')));
    expect(found).toEqual(Array.from({ length: 8 }, () => [conversationId]));
    expect(await rowsOf(app, 'select count(*) as n from search_rows')).toEqual([{ n: 30 }]);
  });

  it('answers from the index as it is where nothing can be written', async () => {
    await createMessage(visitor, conversationId, 'gazelle');
    expect(await find('gazelle')).toEqual([conversationId]);
    await createMessage(visitor, conversationId, 'hedgehog');
    vi.spyOn(app.service.engine.store, 'write').mockRejectedValue(new StoreUnavailableError('full'));
    expect(await find('hedgehog')).toEqual([]);
    expect(await find('gazelle')).toEqual([conversationId]);
    vi.restoreAllMocks();
    expect(await find('hedgehog')).toEqual([conversationId]);
  });

  it('waits a second for it and no longer', async () => {
    await createMessage(visitor, conversationId, 'iguana');
    expect(await find('iguana')).toEqual([conversationId]);
    await createMessage(visitor, conversationId, 'iguana');
    const { store } = app.service.engine;
    const write = store.write.bind(store);
    const { promise: held, resolve: release } = Promise.withResolvers<void>();
    vi.spyOn(store, 'write').mockImplementation((scope, work) => held.then(() => write(scope, work)));
    const answer = find('iguana');
    let answered = false;
    void answer.then(() => (answered = true));
    await eventually(() => {
      app.clock.advance(100);
      expect(answered).toBe(true);
    });
    expect(await answer).toEqual([conversationId]);
    release();
  });
});

describe('an edit that the index has not followed', () => {
  const edit = (messageId: string, content: string) =>
    visitor.call('PATCH', `/conversations/${conversationId}/messages/${messageId}`, { content });

  it('is followed after an import, which has all messages indexed', async () => {
    const elsewhere = await startApp();
    const lines: string[] = [];
    try {
      const beta = await createOrganization(elsewhere, 'beta');
      const person = createVisitor(elsewhere, beta.application);
      await createMessage(person, await createConversation(person), 'numbat');
      await exportOrganization(callOn(elsewhere), 'beta', async (line) => void lines.push(line));
    } finally {
      await elsewhere.stop();
    }
    const messageId = await createMessage(visitor, conversationId, 'narwhal');
    expect(await find('narwhal')).toEqual([conversationId]);
    await edit(messageId, 'ocelot');
    await importOrganization(callOn(app), async function* () {
      yield* lines;
    });
    expect(await find('narwhal')).toEqual([]);
    expect(await find('ocelot')).toEqual([conversationId]);
    const operatorThere = await createMember(app, 'beta');
    expect((await operatorThere.call('GET', '/conversations?q=numbat')).body.total).toBe(1);
    expect(await rowsOf(app, "select key from meta where key like 'search_%' order by key")).toEqual([
      { key: 'search_cursor' },
    ]);
  });

  it('is followed where the server ended while it indexed all messages', async () => {
    const messageId = await createMessage(visitor, conversationId, 'pangolin');
    await updateSearchIndex(app.service);
    await rowsOf(app, 'delete from search_rows');
    await rowsOf(app, "delete from meta where key = 'search_cursor'");
    const { store } = app.service.engine;
    const write = store.write.bind(store);
    let cursors = 0;
    vi.spyOn(store, 'write').mockImplementation((scope, ...rest) =>
      scope === 'server:search_cursor' && (cursors += 1) > 1
        ? Promise.reject(new StoreUnavailableError('stopped'))
        : write(scope, ...rest),
    );
    await expect(updateSearchIndex(app.service)).rejects.toThrow(StoreUnavailableError);
    vi.restoreAllMocks();
    expect(await isIndexed(messageId)).toBe(true);
    await edit(messageId, 'quokka');
    app = await app.restart();
    const again = await createMember(app, 'acme', 'operator', 'again');
    expect((await again.call('GET', '/conversations?q=pangolin')).body.total).toBe(0);
    expect((await again.call('GET', '/conversations?q=quokka')).body.total).toBe(1);
  });
});

describe('the index', () => {
  it('is written in quiet moments, and under load once it is half a minute behind', async () => {
    const { store } = app.service.engine;
    let heard = 0;
    store.subscribe(({ events }) => {
      heard = events.at(-1)?.seq ?? heard;
    });
    /** A load that the indexer has heard of. */
    const load = async (): Promise<void> => {
      await addEvents(101);
      const last = await store.read(({ repositories }) => repositories.events.lastSeq());
      await eventually(() => expect(heard).toBe(last));
    };
    const messageId = await createMessage(visitor, conversationId, 'jaguar');
    for (let ms = 0; ms < 30_000; ms += 250) {
      await load();
      app.clock.advance(250);
      if (ms < 29_000) expect(await isIndexed(messageId)).toBe(false);
    }
    await load();
    app.clock.advance(250);
    await eventually(async () => expect(await isIndexed(messageId)).toBe(true));

    const next = await createMessage(visitor, conversationId, 'kangaroo');
    app.clock.advance(250);
    await eventually(async () => {
      app.clock.advance(250);
      expect(await isIndexed(next)).toBe(true);
    });
  });

  it('leaves the rest for later when the load comes back, and takes it up where it was', async () => {
    const first = await createMessage(visitor, conversationId, 'lemur');
    await addEvents(500);
    const second = await createMessage(visitor, conversationId, 'marmot');
    await find('nothing');
    await rowsOf(app, 'delete from search_rows');
    await rowsOf(app, "update meta set value = '0' where key = 'search_cursor'");
    let asked = 0;
    await updateSearchIndex(app.service, () => (asked += 1) > 1);
    expect([await isIndexed(first), await isIndexed(second)]).toEqual([true, false]);
    await updateSearchIndex(app.service);
    expect(await isIndexed(second)).toBe(true);
  });

  it('merges its parts in commits of their own, as often as what it adds makes due', async () => {
    await app.stop();
    await start({ engine: 'sqlite' });
    const { store } = app.service.engine;
    const steps: string[] = [];
    const add = (what: string): void => void steps.push(what);
    await store.write({ organization: acme.id }, async ({ repositories: { search } }) => {
      const { put, merge } = search;
      vi.spyOn(search, 'put').mockImplementation((...of) => (add('put'), put(...of)));
      vi.spyOn(search, 'merge').mockImplementation(() => (add('merge'), merge()));
    });
    const write = store.write.bind(store);
    vi.spyOn(store, 'write').mockImplementation(async (...of) => {
      const answer = await write(...of);
      if (steps.length > 0 && steps.at(-1) !== 'commit') add('commit');
      return answer;
    });
    // A process begins as if one were due.
    await createMessage(visitor, conversationId, 'aardvark');
    await updateSearchIndex(app.service);
    expect(steps).toEqual(['put', 'commit', 'merge', 'commit']);
    // For short messages one is due after 64.
    for (let sent = 1; sent <= 65; sent += 1) {
      await createMessage(visitor, conversationId, `buffalo ${sent}`);
      await updateSearchIndex(app.service);
    }
    expect(steps.filter((step) => step === 'merge')).toHaveLength(2);
  });

  it('passes over messages of an organization that was removed in the meantime', async () => {
    // From here on it follows the log.
    await updateSearchIndex(app.service);
    const beta = await createOrganization(app, 'beta');
    const their = createVisitor(app, beta.application);
    const theirs = await createConversation(their);
    const messageId = await createMessage(their, theirs, 'narwhal');
    await their.call('PATCH', `/conversations/${theirs}/messages/${messageId}`, { content: 'ocelot' });
    const own = await createMessage(visitor, conversationId, 'pelican');
    // The log still tells of them when they are gone: so it is for a moment while an organization is deleted.
    await rowsOf(app, 'delete from organizations where id = ?', beta.id);
    await updateSearchIndex(app.service);
    expect(await isIndexed(own)).toBe(true);
    expect(await rowsOf(app, 'select * from search_scopes where organization_id = ?', beta.id)).toEqual([]);
  });
});
