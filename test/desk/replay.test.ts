// Holds that the desk, told of everything by events, shows what a desk shows that has just been opened: a seeded random walk
// of colleagues and visitors over the real server and real sockets, with the connection cut now and then.
import { inEnglish } from '../../src/desk/english.ts';
import WebSocket from 'ws';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { DeskController } from '../../src/desk/desk-controller.ts';
import { createBrowserTools } from '../../src/dashboard/desk-tools.ts';
import { createEnglishKeymap } from '../../src/desk/command-texts.ts';
import { shownRows, tabs } from '../../src/desk/queue.ts';
import { shownMessages } from '../../src/desk/shown-messages.ts';
import { createStaffClient, type StaffClient, type StaffConversationListItem } from '../../src/sdk/staff.ts';
import { startApp, type TestApp } from '../helpers/app.ts';
import { eventually } from '../helpers/eventually.ts';
import { fastTimers } from '../helpers/fast-timers.ts';
import {
  createMember,
  createOrganization,
  createVisitor,
  type TestClient,
  type TestMember,
} from '../helpers/fixtures.ts';

let app: TestApp;

/** How many times faster than the machine's clock the server and the desks live. */
const speed = 20;
const tickMs = 5;
let clock: NodeJS.Timeout;

beforeAll(async () => {
  app = await startApp();
  // However late it comes, it is one short step: what stood still for long must not run into time limits.
  clock = setInterval(() => app.clock.advance(tickMs * speed), tickMs);
});
afterAll(async () => {
  clearInterval(clock);
  await app.stop();
});

/** Numbers from 0 to below 1, the same for a seed (mulberry32). */
function dice(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

interface OpenDesk {
  readonly model: DeskController;
  /** Cuts the connection, as a network does; the client comes back by itself. */
  cut(): void;
  stop(): void;
}

async function openDesk(token: string): Promise<OpenDesk> {
  const sockets = new Set<WebSocket>();
  const client: StaffClient = createStaffClient({
    baseUrl: app.url,
    environment: {
      openSocket: (address) => {
        const socket = new WebSocket(address);
        sockets.add(socket);
        return socket as never;
      },
      after: fastTimers(speed),
    },
  });
  const model = new DeskController({
    say: inEnglish,
    client,
    drafts: {
      get: () => null,
      set: () => undefined,
      remove: () => undefined,
      ids: () => [],
      flush: () => undefined,
    },
    keymap: createEnglishKeymap(),
    tools: createBrowserTools({
      dialogs: () => import('../../src/desk/dialogs.ts'),
      acts: () => import('../../src/desk/acts.ts'),
      learning: () => import('../../src/desk/learning.ts'),
      drafting: () => import('../../src/desk/ai-draft.ts'),
    }),
    mode: 'live',
    asksLess: true,
    notifier: {
      start: () => undefined,
      stop: () => undefined,
      notify: () => undefined,
      setCount: () => undefined,
      mute: () => undefined,
      muted: true,
    },
    runtime: {
      now: () => app.clock.now(),
      schedule: fastTimers(speed),
      edit: async () => null,
      signInAgain: async () => null,
      copy: () => undefined,
      exit: () => undefined,
    },
  });
  await model.start(token);
  await eventually(() => expect(model.store.get().queue.lists.pending.total).not.toBeNull());
  return {
    model,
    cut: () => {
      for (const socket of sockets) socket.terminate();
      sockets.clear();
    },
    stop: () => model.stop(),
  };
}

/** What of a row a person sees. */
function rowOf(item: StaffConversationListItem): object {
  const { id, status, assignedTo, assignedToName, tags, priority, snoozedUntil, waitingSince, updatedAt } =
    item;
  const { unreadCount, unread, lastMessage, subject, visitor } = item;
  const { createdAt: _sent, ...last } = lastMessage ?? { createdAt: '' };
  return {
    id,
    status,
    assignedTo,
    assignedToName,
    tags,
    priority,
    snoozedUntil,
    waitingSince,
    updatedAt,
    unreadCount,
    unread,
    last,
    subject,
    name: visitor.name,
  };
}

/** Everything that a desk shows, tab by tab, with the messages of the open conversation. */
function picture({ model }: OpenDesk): object {
  const { queue, open, session, viewCounts } = model.store.get();
  const me = session?.member.id ?? '';
  return {
    tabs: Object.fromEntries(
      tabs.map((tab) => [
        tab,
        { total: queue.lists[tab].total, rows: shownRows({ ...queue, tab, search: null }, me).map(rowOf) },
      ]),
    ),
    views: [...viewCounts.values()],
    messages:
      open?.room?.loaded === true
        ? shownMessages(open)
            .filter((one) => one.deleted !== true)
            .map(({ id, content, editedAt, internal, senderName, state }) => ({
              id,
              content,
              editedAt,
              internal,
              senderName,
              state,
            }))
        : null,
  };
}

/** Shows each tab once, so that all of them are kept. */
function showAll({ model }: OpenDesk): void {
  for (const tab of [...tabs.slice(1), 'pending'] as const) model.queue.showTab(tab);
}

interface Known {
  readonly id: string;
  readonly visitor: TestClient;
}

/** How an event comes to a conversation: what is done before it, and what it is. */
interface Ending {
  readonly before: readonly Step[];
  readonly event: Step;
}
type Step = (id: string, visitor: TestClient) => Promise<unknown>;

/** Every kind of event, each the last one of a conversation, so that nothing that follows mends what one has missed. */
function endings([ann, bob, cem]: readonly TestMember[]): readonly Ending[] {
  const act =
    (member: TestMember | undefined, path: string, body: object = {}, method = 'POST'): Step =>
    (id) =>
      member?.call(method, `/conversations/${id}/${path}`, body) ?? Promise.resolve();
  const write =
    (content: string): Step =>
    (id, visitor) =>
      visitor.call('POST', `/conversations/${id}/messages`, { content });
  const newest =
    (caller: TestClient | undefined, role: string, method: string, body?: object): Step =>
    async (id, visitor) => {
      const by = caller ?? visitor;
      const { body: page } = await by.call('GET', `/conversations/${id}/messages?limit=100`);
      const message = (page.messages as { id: string; senderRole: string }[]).findLast(
        ({ senderRole }) => senderRole === role,
      );
      return by.call(method, `/conversations/${id}/messages/${message?.id}`, body);
    };
  const onTag =
    (name: string, method: string, body?: object): Step =>
    async () => {
      const { body: page } = (await ann?.call('GET', '/tags')) ?? { body: { tags: [] } };
      const tag = (page.tags as { id: string; name: string }[]).find((one) => one.name === name);
      return ann?.call(method, `/tags/${tag?.id}`, body);
    };
  const snooze = { until: '2100-01-01T00:00:00.000Z' };
  const accept = act(bob, 'accept');
  const resolve = act(bob, 'resolve');
  const answer = act(bob, 'messages', { content: 'an answer' });
  return [
    { before: [], event: accept },
    { before: [accept], event: act(bob, 'release') },
    { before: [accept], event: act(bob, 'transfer', { memberId: cem?.id }) },
    { before: [accept], event: resolve },
    { before: [accept, resolve], event: act(bob, 'reopen') },
    { before: [accept, resolve], event: write('once more') },
    { before: [], event: write('one more') },
    { before: [accept], event: answer },
    { before: [accept, answer], event: newest(bob, 'operator', 'PATCH', { content: 'another answer' }) },
    { before: [accept, answer], event: newest(bob, 'operator', 'DELETE') },
    { before: [write('two'), accept, answer], event: newest(undefined, 'visitor', 'DELETE') },
    { before: [], event: act(bob, 'tags/late', {}, 'PUT') },
    { before: [act(bob, 'tags/late', {}, 'PUT')], event: act(cem, 'tags/late', {}, 'DELETE') },
    { before: [act(bob, 'tags/old', {}, 'PUT')], event: onTag('old', 'PATCH', { name: 'new' }) },
    { before: [act(bob, 'tags/short', {}, 'PUT')], event: onTag('short', 'DELETE') },
    { before: [], event: act(bob, '', { priority: 'high', subject: 'A subject' }, 'PATCH') },
    {
      before: [act(bob, '', { subject: 'A subject' }, 'PATCH')],
      event: act(bob, '', { subject: null }, 'PATCH'),
    },
    { before: [], event: act(bob, 'snooze', snooze) },
    { before: [act(bob, 'snooze', snooze)], event: act(bob, 'snooze', undefined, 'DELETE') },
    {
      before: [],
      event: async (id) => {
        const { body } = (await ann?.call('GET', `/conversations/${id}/messages`)) ?? { body: {} };
        const messageId = (body.messages as { id: string }[]).at(-1)?.id;
        return ann?.call('POST', `/conversations/${id}/read`, { messageId });
      },
    },
  ];
}

/** New conversations, one for each ending: the desk knows what was before, and then hears of one event in each. */
async function lastEvents(
  desk: OpenDesk,
  members: readonly TestMember[],
  open: () => Promise<void>,
  known: Known[],
): Promise<void> {
  const all: (Known & Ending)[] = [];
  for (const ending of endings(members)) {
    await open();
    const one = known.at(-1);
    if (one === undefined) throw new Error('no conversation was opened');
    all.push({ ...one, ...ending });
    for (const step of ending.before) await step(one.id, one.visitor);
  }
  await eventually(async () => {
    for (const { id } of all) {
      const { body } = (await members[0]?.call('GET', `/conversations/${id}`)) ?? { body: {} };
      const shown = desk.model.context.item(id);
      expect(shown === undefined ? null : rowOf(shown)).toEqual(
        rowOf(body.conversation as StaffConversationListItem),
      );
    }
  });
  for (const { id, visitor, event } of all) await event(id, visitor);
}

/** @returns what the desk shows that heard of everything, and what one shows that has just been opened */
async function walk(seed: number, steps: number): Promise<{ readonly told: object; readonly fresh: object }> {
  const next = dice(seed);
  const pick = <T>(from: readonly T[]): T => from[Math.floor(next() * from.length)] as T;
  // Few enough conversations that each tab is one page.
  const slug = `walk-${seed}`;
  const { application } = await createOrganization(app, slug);
  const ann = await createMember(app, slug, 'admin', 'Ann');
  const members: readonly TestMember[] = [
    ann,
    await createMember(app, slug, 'operator', 'Bob'),
    await createMember(app, slug, 'admin', 'Cem'),
  ];
  await ann.call('POST', '/views', { name: 'Late', query: { tag: ['late'] }, shared: true });
  const desk = await openDesk(ann.token);
  await desk.model.views.load();
  showAll(desk);
  const known: Known[] = [];
  const open = async (): Promise<void> => {
    const visitor = createVisitor(app, application);
    const { body } = await visitor.call('POST', '/conversations', {});
    const id = (body.conversation ?? body).id as string;
    if (next() < 0.5) await visitor.call('PUT', '/visitor', { name: `Visitor ${known.length}` });
    await visitor.call('POST', `/conversations/${id}/messages`, { content: `first ${known.length}` });
    known.push({ id, visitor });
  };
  await open();
  const kinds: readonly (() => Promise<unknown>)[] = [
    open,
    ...['visitor writes', 'visitor writes again'].map((what) => () => {
      const { id, visitor } = pick(known);
      return visitor.call('POST', `/conversations/${id}/messages`, { content: `${what} ${next()}` });
    }),
    ...['accept', 'accept', 'release', 'resolve', 'reopen', 'unread'].map(
      (act) => () => pick(members).call('POST', `/conversations/${pick(known).id}/${act}`, {}),
    ),
    () =>
      pick(members).call('POST', `/conversations/${pick(known).id}/transfer`, { memberId: pick(members).id }),
    () =>
      pick(members).call(
        'PUT',
        `/conversations/${pick(known).id}/tags/${pick(['late', 'vip', 'two words'])}`,
        {},
      ),
    () => pick(members).call('DELETE', `/conversations/${pick(known).id}/tags/${pick(['late', 'vip'])}`),
    () =>
      pick(members).call('PATCH', `/conversations/${pick(known).id}`, {
        priority: pick(['low', 'normal', 'high', 'urgent']),
        ...(next() < 0.3 && { subject: pick([null, 'A subject']) }),
      }),
    () =>
      pick(members).call('POST', `/conversations/${pick(known).id}/snooze`, {
        until: new Date(app.clock.now() + 3_600_000).toISOString(),
      }),
    () => pick(members).call('DELETE', `/conversations/${pick(known).id}/snooze`),
    () =>
      pick(members).call('POST', `/conversations/${pick(known).id}/messages`, {
        content: `answer ${next()}`,
        internal: next() < 0.4,
      }),
    ...[1, 2].map((half) => async () => {
      // In the room that is open, and in any other one.
      const id = half === 1 ? desk.model.store.get().open?.id : pick(known).id;
      const member = pick(members);
      if (id === undefined) return undefined;
      const { body } = await member.call('GET', `/conversations/${id}/messages?limit=100`);
      const own = (body.messages as { id: string; senderId: string }[]).filter(
        ({ senderId }) => senderId === member.id,
      );
      if (own.length === 0) return undefined;
      const path = `/conversations/${id}/messages/${pick(own).id}`;
      return next() < 0.5
        ? member.call('DELETE', path)
        : member.call('PATCH', path, { content: `changed ${next()}` });
    }),
    async () => {
      // Of a visitor: what is unread goes with it.
      const { id, visitor } = pick(known);
      const { body } = await visitor.call('GET', `/conversations/${id}/messages?limit=100`);
      const own = (body.messages as { id: string; senderRole: string }[]).filter(
        ({ senderRole }) => senderRole === 'visitor',
      );
      return own.length < 2
        ? undefined
        : visitor.call('DELETE', `/conversations/${id}/messages/${pick(own).id}`);
    },
    async () => {
      const { body } = await ann.call('GET', '/tags');
      const tags = body.tags as { id: string; name: string }[];
      if (tags.length === 0) return undefined;
      const path = `/tags/${pick(tags).id}`;
      return next() < 0.5
        ? ann.call('DELETE', path)
        : ann.call('PATCH', path, { name: pick(['Late', 'vip', 'a zebra', 'Zoo', 'bulk']) });
    },
    () =>
      pick(members).call('POST', '/conversations/bulk', {
        ids: known.slice(-3).map(({ id }) => id),
        act: 'tag',
        tag: 'bulk',
      }),
    async () => desk.model.open(pick(known).id),
    async () => desk.model.queue.showTab(pick(tabs)),
    async () => desk.cut(),
  ];
  for (let step = 0; step < steps; step += 1) await pick(kinds)();
  await lastEvents(desk, members, open, known);

  // The last conversation stays open in both; what was deleted while it was in sight has left its place only there.
  const last = known.at(-1)?.id ?? '';
  desk.model.open(last);
  const fresh = await openDesk(ann.token);
  try {
    showAll(fresh);
    await fresh.model.views.load();
    fresh.model.open(last);
    // The read marks of both have come and gone, and so has everything that was paced; a tab that was not shown when the
    // connection came back is asked for when it is.
    for (
      let look = 0;
      look < 80 && JSON.stringify(picture(desk)) !== JSON.stringify(picture(fresh));
      look += 1
    ) {
      await new Promise((resolve) => setTimeout(resolve, 250));
      for (const one of [desk, fresh]) showAll(one);
    }
    return { told: picture(desk), fresh: picture(fresh) };
  } finally {
    fresh.stop();
    desk.stop();
  }
}

describe('events, replayed', () => {
  const seeds =
    process.env['DESKBELL_TEST_LONG'] === '1'
      ? Array.from({ length: 40 }, (_, index) => index + 1)
      : [11, 12];
  test.each(seeds)('show what a fresh desk shows: seed %i', async (seed) => {
    const { told, fresh } = await walk(seed, 120);
    expect(fresh).toMatchObject({ messages: expect.any(Array) });
    expect(told).toEqual(fresh);
  });
});
