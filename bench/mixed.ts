// Owns: what one server does at once on a busy day, and how long any of it holds the event loop: a thousand sockets that
// catch up and write, searches, a visitor's export and an organization's, a purge, acts on many, webhooks, the assistant.
// Measured against a quiet loop of the same server, with the same sockets open.
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { WebSocket } from 'ws';
import { browserEnvironment } from '../src/sdk/browser-environment.ts';
import { newMessageKey } from '../src/sdk/outbox-entries.ts';
import {
  ask,
  describeHold,
  openSocket,
  pause,
  print,
  staffHeaders,
  type AttackSizes,
  type Order,
  type Setting,
} from './attacks.ts';
import type { Hold } from './hold.ts';
import { Child } from './protocol.ts';

const launcher = fileURLToPath(new URL('../bin/deskbell.js', import.meta.url));
const questions = ['Where is my parcel?', 'How do I get my money back?', 'Do you deliver to Malta?'];

const environment = browserEnvironment();

/** How often each thing was done. */
type Tally = Record<string, number>;

interface Talk {
  readonly socket: WebSocket;
  readonly conversationId: string;
}

/** Opens the sockets, some at a time, each in a conversation that is there. */
async function openTalks(setting: Setting, sockets: number): Promise<Talk[]> {
  const talks: Talk[] = [];
  for (let at = 0; at < sockets; at += 20)
    talks.push(
      ...(await Promise.all(
        Array.from({ length: Math.min(20, sockets - at) }, async (_, index) => {
          const talk = setting.talks[(at + index) % setting.talks.length];
          if (talk === undefined) throw new Error('there is no conversation');
          const address = `10.9.${(at + index) >> 8}.${(at + index) & 255}`;
          const socket = await openSocket(setting, setting.acme, talk.visitorId, address);
          return { socket, conversationId: talk.conversationId };
        }),
      )),
    );
  return talks;
}

/** Does a thing again and again until the end, and counts it. */
async function again(
  tally: Tally,
  what: string,
  over: () => boolean,
  waitMs: number,
  work: () => Promise<number> | number,
): Promise<void> {
  tally[what] = 0;
  while (!over()) {
    tally[what] += await work();
    await pause(waitMs);
  }
}

const pick = <T>(list: readonly T[]): T => {
  const one = list[Math.floor(Math.random() * list.length)];
  if (one === undefined) throw new Error('nothing to choose from');
  return one;
};

function send({ socket }: Talk, type: string, payload: object): number {
  if (socket.readyState !== WebSocket.OPEN) return 0;
  socket.send(JSON.stringify({ type, payload }));
  return 1;
}

/** Runs the command that exports an organization, in a process of its own as an owner would. */
async function exportBesides(data: string): Promise<number> {
  const file = `${data}-${randomUUID()}.jsonl`;
  const child = spawn(process.execPath, [launcher, 'export', '--org', 'acme', file, '--data', data], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const [code] = (await once(child, 'exit')) as [number | null];
  return code === 0 ? 1 : 0;
}

/** Runs everything at once and prints how the loop fared, quiet and busy. */
export async function mixed(sizes: AttackSizes & { readonly sockets: number }): Promise<void> {
  const folder = await mkdtemp(join(sizes.folder, 'deskbell-bench-'));
  const data = join(folder, 'data');
  let received = 0;
  const receiver = createServer((request, response) => {
    received += 1;
    request.resume();
    response.writeHead(204).end();
  });
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
  const hook = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`;
  const server = new Child('./attacked-server.ts', [data, String(sizes.messages), hook]);
  let talks: Talk[] = [];
  try {
    const setting = await server.request<Setting>('setting' satisfies Order);
    talks = await openTalks(setting, sizes.sockets);
    print('sockets', `${talks.filter(({ socket }) => socket.readyState === WebSocket.OPEN).length} open`);
    await pause(2_000);
    await server.request('measure' satisfies Order);
    await pause(sizes.seconds * 1_000);
    print('quiet', describeHold(await server.request<Hold>('measured' satisfies Order)));
    // What runs for the first time is compiled.
    await busy(server, setting, talks, { ms: 2_000, data, tally: {}, purges: false });
    const tally: Tally = {};
    await server.request('measure' satisfies Order);
    await busy(server, setting, talks, { ms: sizes.seconds * 1_000, data, tally, purges: true });
    print('mixed', describeHold(await server.request<Hold>('measured' satisfies Order)));
    const done = Object.entries({ ...tally, 'webhooks received': received });
    print('done', done.map(([what, count]) => `${what} ${count}`).join(', '));
    for (const { socket } of talks) socket.terminate();
    await server.stop();
  } finally {
    for (const { socket } of talks) socket.terminate();
    server.kill();
    receiver.close();
    await rm(folder, { recursive: true, force: true });
  }
}

async function busy(
  server: Child,
  setting: Setting,
  talks: readonly Talk[],
  { ms, data, tally, purges }: { ms: number; data: string; tally: Tally; purges: boolean },
): Promise<void> {
  const { url } = setting;
  const [acme, beta] = [await staffHeaders(setting, setting.acme), await staffHeaders(setting, setting.beta)];
  const json = { 'content-type': 'application/json' };
  const until = performance.now() + ms;
  const over = (): boolean => performance.now() >= until;
  const answered = async (path: string, options: RequestInit): Promise<number> =>
    (await ask(`${url}/api/v1${path}`, options)).status === 200 ? 1 : 0;
  await Promise.all([
    again(tally, 'catching up', over, 100, () => {
      let sent = 0;
      for (let count = 0; count < 10; count += 1) {
        const talk = pick(talks);
        sent += send(talk, 'room:join', {
          conversationId: talk.conversationId,
          lastMessageId: randomUUID(),
        });
      }
      return sent;
    }),
    again(tally, 'messages sent', over, 100, () => {
      let sent = 0;
      for (let count = 0; count < 10; count += 1) {
        const talk = pick(talks);
        const content = pick(questions);
        sent += send(talk, 'message:send', {
          conversationId: talk.conversationId,
          content,
          clientMessageId: newMessageKey(environment),
        });
      }
      return sent;
    }),
    again(tally, 'searches', over, 100, () => answered('/staff/conversations?q=alpha', { headers: acme })),
    again(tally, 'first pages of the queue', over, 100, () =>
      answered('/staff/conversations', { headers: acme }),
    ),
    again(tally, 'exports of a visitor', over, 300, () =>
      answered(`/admin/visitors/${setting.long.visitorId}`, { headers: acme }),
    ),
    again(tally, 'exports of the organization', over, 500, () => exportBesides(data)),
    again(tally, 'acts on 100', over, 300, () =>
      answered('/staff/conversations/bulk', {
        method: 'POST',
        headers: { ...acme, ...json },
        body: JSON.stringify({
          ids: setting.talks.slice(0, 100).map(({ conversationId }) => conversationId),
          act: 'priority',
          priority: pick(['low', 'normal', 'high', 'urgent']),
        }),
      }),
    ),
    again(tally, 'figures', over, 500, () => answered('/staff/stats', { headers: beta })),
    (async () => {
      if (purges) tally['purged messages'] = await server.request<number>('purge' satisfies Order);
    })(),
  ]);
}
