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

beforeAll(async () => {
  app = await startApp({ realTime: true });
});
afterAll(async () => app.stop());

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

/** How many times faster the desk's own waiting goes. */
const speed = 20;

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
  const start = Date.now();
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
      now: () => start + (Date.now() - start) * speed,
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
  const { queue, open, session } = model.store.get();
  const me = session?.member.id ?? '';
  return {
    tabs: Object.fromEntries(
      tabs.map((tab) => [
        tab,
        { total: queue.lists[tab].total, rows: shownRows({ ...queue, tab, search: null }, me).map(rowOf) },
      ]),
    ),
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
  const desk = await openDesk(ann.token);
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
        until: new Date(Date.now() + 3_600_000).toISOString(),
      }),
    () => pick(members).call('DELETE', `/conversations/${pick(known).id}/snooze`),
    () =>
      pick(members).call('POST', `/conversations/${pick(known).id}/messages`, {
        content: `answer ${next()}`,
        internal: next() < 0.4,
      }),
    async () => {
      // In the room that is open: what is changed in another one is told to those in it.
      const id = desk.model.store.get().open?.id;
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

  // The last conversation stays open in both; what was deleted while it was in sight has left its place only there.
  const last = known.at(-1)?.id ?? '';
  desk.model.open(last);
  const fresh = await openDesk(ann.token);
  try {
    showAll(fresh);
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
