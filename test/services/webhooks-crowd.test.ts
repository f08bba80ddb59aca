// Owns: what webhooks promise while users leave the server little time: they wait for their turns, users do not wait for
// them, and order, completeness and an end of the server are as at rest.
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { startApp, type TestApp } from '../helpers/app.ts';
import { rowsOf } from '../helpers/database.ts';
import { eventually } from '../helpers/eventually.ts';
import {
  createConversation,
  createMessage,
  createOrganization,
  createVisitor,
  type TestClient,
} from '../helpers/fixtures.ts';
import { Receiver } from '../helpers/receiver.ts';

let app: TestApp;
let visitor: TestClient;
let receiver: Receiver;
/** Those that wait for a turn, in the order of asking. */
let waiting: (() => void)[];
/** For how long each of their turns was asked, ms. */
let asked: number[];

beforeEach(async () => {
  app = await startApp({ flags: { webhookPrivate: 'allow' } });
  const { application } = await createOrganization(app, 'acme');
  visitor = createVisitor(app, application);
  receiver = await new Receiver().start();
  await app.local('webhooks.create', { organization: 'acme', url: receiver.url, events: ['message:new'] });
  waiting = [];
  asked = [];
});

afterEach(async () => {
  vi.restoreAllMocks();
  for (const go of waiting.splice(0)) go();
  await app.stop();
  await receiver.stop();
});

function crowd(): void {
  const { pace } = app.service.engine;
  vi.spyOn(pace, 'isCrowded').mockReturnValue(true);
  vi.spyOn(pace, 'turn').mockImplementation((ms, signal) => {
    // Not a webhook's: a slice of the search's index.
    if (signal === undefined) return undefined;
    asked.push(ms);
    return new Promise((resolve) => {
      waiting.push(resolve);
      signal.addEventListener('abort', () => resolve());
    });
  });
}

/** Gives a turn to the one that has waited longest. */
async function giveTurn(): Promise<void> {
  await eventually(() => expect(waiting.length).toBeGreaterThan(0));
  waiting.shift()?.();
}

async function sendSix(): Promise<{ conversationId: string; messageId: string }[]> {
  const conversations = [await createConversation(visitor), await createConversation(visitor)];
  const sent: { conversationId: string; messageId: string }[] = [];
  for (let index = 0; index < 3; index += 1)
    for (const conversationId of conversations)
      sent.push({ conversationId, messageId: await createMessage(visitor, conversationId, `m${index}`) });
  return sent;
}

const deliveries = async (): Promise<number> =>
  Number((await rowsOf(app, 'select count(*) as n from webhook_deliveries'))[0]?.['n']);

it('users are answered while webhooks wait, and each waits for a turn of its own', async () => {
  crowd();
  const sent = await sendSix();
  expect(receiver.all).toEqual([]);
  // The first turn is for the rows of what had come by then, the others each for an attempt or for what came since.
  for (let turns = 0; receiver.taken.length < sent.length; turns += 1) {
    expect(receiver.all.length).toBeLessThanOrEqual(turns);
    await eventually(() => expect(waiting.length > 0 || receiver.taken.length === sent.length).toBe(true));
    waiting.shift()?.();
  }
  for (const { conversationId } of sent)
    expect(
      receiver.taken
        .filter(({ event }) => event.data['conversationId'] === conversationId)
        .map(({ event }) => event.data['id']),
    ).toEqual(sent.filter((one) => one.conversationId === conversationId).map(({ messageId }) => messageId));
  expect(await deliveries()).toBe(6);
});

it('a turn is asked for as long as it holds the loop, the share of its commit counted in', async () => {
  crowd();
  await sendSix();
  await giveTurn();
  // Rows that are stored: of one message at least, and where its webhook stands.
  expect(asked[0]).toBeGreaterThanOrEqual(0.08);
  // More than storing all six: an attempt. On a slow machine they are stored in more than one turn.
  await eventually(() => {
    if (Math.max(...asked) < 0.3) waiting.shift()?.();
    expect(Math.max(...asked)).toBeGreaterThanOrEqual(0.3);
  });
  expect(Math.max(...asked)).toBe(0.8);
});

it('a server that stops while they wait does not wait for their turns, and loses none', async () => {
  crowd();
  const sent = await sendSix();
  await giveTurn();
  await eventually(async () => expect(await deliveries()).toBeGreaterThan(0));
  await eventually(() => expect(waiting.length).toBeGreaterThan(0));
  app = await app.restart();
  await receiver.has(sent.length);
  expect(new Set(receiver.taken.map(({ event }) => event.data['id']))).toEqual(
    new Set(sent.map(({ messageId }) => messageId)),
  );
});

it('at rest a webhook goes at once, and what it writes stands behind what users wait for', async () => {
  const { engine } = app.service;
  const places: unknown[] = [];
  const write = engine.store.write.bind(engine.store);
  vi.spyOn(engine.store, 'write').mockImplementation((scope, work, behind) => {
    places.push(behind);
    return write(scope, work, behind);
  });
  const conversationId = await createConversation(visitor);
  places.length = 0;
  await createMessage(visitor, conversationId, 'one');
  await receiver.has(1);
  await eventually(async () =>
    expect(await rowsOf(app, "select id from webhook_deliveries where status = 'delivered'")).toHaveLength(1),
  );
  // The message alone; the delivery's row and how its attempt ended stand behind, as the words of the search do.
  expect(places.filter((place) => place === undefined)).toHaveLength(1);
  expect(places.filter((place) => place === 'behind').length).toBeGreaterThanOrEqual(2);
});

it('a request that is refused for its rate is no user for whom webhooks would wait', async () => {
  const limited = await startApp({ flags: { limitVisitor: '2/m' } });
  const { application } = await createOrganization(limited, 'acme');
  const flood = createVisitor(limited, application);
  const came = vi.spyOn(limited.service.engine.pace, 'userCame');
  const statuses: number[] = [];
  for (let index = 0; index < 5; index += 1)
    statuses.push((await flood.call('GET', '/conversations')).status);
  expect(statuses).toEqual([200, 200, 429, 429, 429]);
  expect(came).toHaveBeenCalledTimes(2);
  await limited.stop();
});

it('a delivery that another server has made while it waited for its turn is not made again', async () => {
  crowd();
  const [made, ...others] = await sendSix();
  // All are stored, and the first of each conversation waits for the turn of its attempt.
  await eventually(async () => {
    if ((await deliveries()) < 6) waiting.shift()?.();
    expect(await deliveries()).toBe(6);
  });
  await eventually(() => expect(asked.filter((ms) => ms === 0.8).length).toBeGreaterThanOrEqual(2));
  await rowsOf(
    app,
    "update webhook_deliveries set status = 'delivered', next_attempt_at = null where message_id = ?",
    made?.messageId,
  );
  const rest = others.filter(({ conversationId }) => conversationId !== made?.conversationId);
  await eventually(() => {
    waiting.shift()?.();
    expect(receiver.taken.length).toBeGreaterThanOrEqual(rest.length);
  });
  for (let turn = 0; turn < 5; turn += 1) {
    waiting.shift()?.();
    await new Promise((resolve) => setImmediate(resolve));
  }
  expect(receiver.taken.map(({ event }) => event.data['id'])).toEqual(rest.map(({ messageId }) => messageId));
});
