// A change of configuration makes every live connection of its organization prove again that it may stay: a few at a
// time and in turn with other organizations; until then it is sent nothing and nothing is done for it.
import { setImmediate as yieldToLoop } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { StoreUnavailableError } from '../../src/engine/engine.ts';
import { startApp, type TestApp } from '../helpers/app.ts';
import { connectSocket, type TestSocket } from '../helpers/client.ts';
import { eventually } from '../helpers/eventually.ts';
import {
  createConversation,
  createMember,
  createMessage,
  createOrganization,
  createVisitor,
  type TestClient,
  type TestOrganization,
} from '../helpers/fixtures.ts';

const connections = 60;
/** What each check takes by the service's clock; a slice is 15 ms long. */
const checkMs = 2;

let app: TestApp;
let acme: TestOrganization;
let beta: TestOrganization;
let sockets: TestSocket[];
let visitor: TestClient;

beforeAll(async () => {
  app = await startApp();
  acme = await createOrganization(app, 'acme');
  beta = await createOrganization(app, 'beta');
});
afterAll(() => app.stop());

beforeEach(async () => {
  // On a crowded machine webhooks would read the log later, in the midst of what a test watches.
  vi.spyOn(app.service.engine.pace, 'isCrowded').mockReturnValue(false);
  visitor = createVisitor(app, acme.application);
  sockets = await Promise.all(
    Array.from({ length: connections }, () => createVisitor(app, acme.application).connect()),
  );
  sockets.push(await createVisitor(app, beta.application).connect());
});
afterEach(async () => {
  vi.restoreAllMocks();
  await Promise.all(sockets.filter(({ closed }) => closed === null).map((socket) => socket.close()));
});

/** Checks of connections wait until what it returns is called. */
function holdChecks(): () => void {
  const { promise, resolve } = Promise.withResolvers<void>();
  const { blocks } = app.service.configCache;
  vi.spyOn(app.service.configCache, 'blocks').mockImplementation(async (organizationId) => {
    await promise;
    return blocks(organizationId);
  });
  return resolve;
}

interface Check {
  readonly organizationId: string;
  readonly turn: number;
}

/** Notes every check of a connection with the turn of the loop in which it was made. */
function watchChecks(before: () => Promise<void> = () => Promise.resolve()): { checks: Check[] } {
  const { configCache } = app.service;
  const read = configCache.blocks;
  const checks: Check[] = [];
  let turn = 0;
  let over = false;
  void (async () => {
    while (!over) {
      await yieldToLoop();
      turn += 1;
    }
  })();
  app.beforeStop(() => {
    over = true;
  });
  // Each check asks once for what the organization has blocked.
  vi.spyOn(configCache, 'blocks').mockImplementation(async (organizationId) => {
    checks.push({ organizationId, turn });
    await before();
    app.clock.advance(checkMs);
    return read(organizationId);
  });
  return { checks };
}

const changeConfiguration = (slug: string, name: string): Promise<unknown> =>
  app.local('organizations.update', { organization: slug, name });

describe('after a change of configuration', () => {
  it('connections are checked a few in each turn of the loop', async () => {
    const { checks } = watchChecks();
    await changeConfiguration('acme', 'Acme');
    await eventually(() => expect(checks).toHaveLength(connections));
    const perTurn = new Map<number, number>();
    for (const { turn } of checks) perTurn.set(turn, (perTurn.get(turn) ?? 0) + 1);
    expect(Math.max(...perTurn.values())).toBeLessThanOrEqual(Math.ceil(15 / checkMs));
  });

  it('organizations take turns, however many connections each has', async () => {
    const { checks } = watchChecks();
    await Promise.all([changeConfiguration('acme', 'Acme 2'), changeConfiguration('beta', 'Beta 2')]);
    await eventually(() => expect(checks).toHaveLength(connections + 1));
    const place = checks.findIndex(({ organizationId }) => organizationId === beta.id);
    expect(place).toBeLessThanOrEqual(2 * Math.ceil(15 / checkMs));
  });

  it('many changes while connections wait are one check of each', async () => {
    const hold = Promise.withResolvers<void>();
    const { checks } = watchChecks(() => hold.promise);
    for (let change = 0; change < 20; change += 1) await changeConfiguration('acme', `Acme ${change}`);
    hold.resolve();
    await Promise.all(sockets.map((socket) => socket.drain()));
    // The one that was being checked all the while is checked again.
    expect(checks.length).toBeLessThanOrEqual(connections + 2);
  });

  it.each([
    ['the store can’t be used', new StoreUnavailableError('down'), 1001],
    ['something is broken', new Error('a fault'), 1011],
  ])('a connection that can’t be checked because %s is told so', async (_why, error, code) => {
    const { configCache } = app.service;
    const broken = vi.spyOn(configCache, 'blocks').mockRejectedValue(error);
    await changeConfiguration('acme', `Acme, ${code}`);
    for (const socket of sockets.slice(0, connections)) expect((await socket.waitForClose()).code).toBe(code);
    expect(sockets.at(-1)?.closed).toBe(null);
    broken.mockRestore();
    // One that comes is checked before it is let in: it hears the same.
    const { body } = await visitor.call('POST', '/widget/ws-token');
    vi.spyOn(configCache, 'application').mockRejectedValue(error);
    const comes = await connectSocket(app.url, body.token as string, { origin: acme.application.origin });
    expect((await comes.waitForClose()).code).toBe(code);
  });

  it('a withdrawn connection that waits for its check gets no event, and no answer to its next frame', async () => {
    const operator = await createMember(app, 'acme');
    const conversationId = await createConversation(visitor);
    const listener = await visitor.connect();
    listener.send('room:join', { conversationId });
    await listener.receives('room:joined');
    const letChecksGo = holdChecks();
    expect((await operator.call('PUT', `/visitors/${visitor.id}/block`, {})).status).toBe(200);
    expect((await operator.call('POST', `/conversations/${conversationId}/accept`)).status).toBe(200);
    await createMessage(operator, conversationId, 'not for you');
    listener.send('room:join', { conversationId });
    letChecksGo();
    expect((await listener.waitForClose()).code).toBe(4403);
    expect(listener.all('message:new')).toEqual([]);
    expect(listener.all('room:joined')).toHaveLength(1);
  });

  it.each([
    ['joins', 'room:join', {}],
    ['catches up', 'room:join', { lastMessageId: crypto.randomUUID() }],
    ['types', 'typing:start', {}],
  ])(
    'a frame that was being handled when access was withdrawn is not answered: who %s',
    async (_what, type, more) => {
      const { store } = app.service.engine;
      const operator = await createMember(app, 'acme');
      const conversationId = await createConversation(visitor);
      const [listener, watcher] = [await visitor.connect(), await operator.connect()];
      for (const socket of type === 'room:join' ? [watcher] : [watcher, listener]) {
        socket.send('room:join', { conversationId });
        await socket.receives('room:joined');
      }
      await listener.drain();
      // Each of its reads has to wait; what is read by then is what there is after the block.
      const read = store.read.bind(store);
      const go = Promise.withResolvers<void>();
      const waits = vi.spyOn(store, 'read');
      const frames = [...listener.frames];
      // A page is read after the room: the read before it is let through.
      if ('lastMessageId' in more) waits.mockImplementationOnce((work) => read(work));
      waits.mockImplementationOnce(async (work) => {
        await go.promise;
        return read(work);
      });
      listener.send(type, { conversationId, ...more });
      await eventually(() => expect(waits).toHaveBeenCalledTimes('lastMessageId' in more ? 2 : 1));
      const letChecksGo = holdChecks();
      expect((await operator.call('PUT', `/visitors/${visitor.id}/block`, {})).status).toBe(200);
      go.resolve();
      await watcher.drain();
      await operator.call('GET', `/conversations/${conversationId}`);
      letChecksGo();
      expect((await listener.waitForClose()).code).toBe(4403);
      expect(listener.frames).toEqual(frames);
      await watcher.drain();
      expect(watcher.all('typing:start')).toEqual([]);
      await watcher.close();
    },
  );
});
