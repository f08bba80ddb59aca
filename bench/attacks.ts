// Owns: what attacks on one server cost the others: a flood of catching up, a flood of the widget's configuration, a
// flood of sign-ins, the deletion of much, a search for others' words.
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { loadavg } from 'node:os';
import { join } from 'node:path';
import { WebSocket } from 'ws';
import type { Hold } from './hold.ts';
import { Child } from './protocol.ts';

export interface AttackSizes {
  /** Where the database is made. */
  readonly folder: string;
  /** Messages of the organization that is attacked. */
  readonly messages: number;
  /** Length of each flood. */
  readonly seconds: number;
}

/** What the server is asked to do. */
export type Order = 'setting' | 'delete' | 'purge' | 'measure' | 'measured';

interface Tenant {
  readonly id: string;
  readonly slug: string;
  readonly email: string;
  readonly password: string;
  readonly applicationId: string;
}

export interface Setting {
  readonly url: string;
  /** Has all the messages, each with the word alpha. */
  readonly acme: Tenant;
  readonly beta: Tenant;
  /** A conversation of 2,000 messages. */
  readonly long: Talk;
  /** The conversations of acme, of 200 messages each. */
  readonly talks: readonly Talk[];
}

export interface Talk {
  readonly visitorId: string;
  readonly conversationId: string;
}

export const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

function percentile(times: readonly number[], share: number): string {
  const sorted = times.toSorted((one, other) => one - other);
  return (sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN).toFixed(1);
}

export const describeHold = ({ seconds, delayP99, cpuP99, cpuLongest }: Hold): string =>
  `${seconds.toFixed(1)} s; event-loop delay p99 ${delayP99.toFixed(1)} ms; processor time of a turn p99 ${cpuP99.toFixed(1)}, longest ${cpuLongest.toFixed(1)} ms`;

/** Prints a line with the machine's load, without which no figure says much. */
export function print(what: string, figures: string): void {
  console.log(`${what}: ${figures} (load ${loadavg()[0]?.toFixed(1)})`);
}

interface Answer {
  readonly status: number;
  readonly ms: number;
  readonly text: string;
}

export async function ask(url: string, options: RequestInit = {}): Promise<Answer> {
  const began = performance.now();
  const response = await fetch(url, options);
  const text = await response.text();
  return { status: response.status, ms: performance.now() - began, text };
}

/** Asks again and again until it is over; how long each answer took, and how many were refused. */
async function askUntil(
  over: () => boolean,
  url: string,
  options: RequestInit = {},
): Promise<{ times: number[]; refused: number }> {
  const times: number[] = [];
  let refused = 0;
  while (!over()) {
    const { status, ms } = await ask(url, options);
    times.push(ms);
    if (status !== 200) refused += 1;
    await pause(20);
  }
  return { times, refused };
}

/** From an address of its own, as a proxy in front of the server tells it. */
const from = (address: string): Record<string, string> => ({ 'x-forwarded-for': address });

function signIn({ url }: Setting, { slug, email, password }: Tenant, address: string, wrong = false) {
  return ask(`${url}/api/v1/staff/session`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...from(address) },
    body: JSON.stringify({ organization: slug, email, password: wrong ? 'not the password' : password }),
  });
}

export async function staffHeaders(setting: Setting, tenant: Tenant): Promise<Record<string, string>> {
  const { text } = await signIn(setting, tenant, '192.0.2.1');
  const { token } = JSON.parse(text) as { token: string };
  return { authorization: `Bearer ${token}` };
}

/** Headers of a visitor who comes by a page. */
function visitorHeaders({ slug, applicationId }: Tenant, visitorId: string, address: string) {
  return {
    origin: `https://${slug}.example`,
    'x-app-id': applicationId,
    'x-visitor-id': visitorId,
    ...from(address),
  };
}

export async function openSocket(
  { url }: Setting,
  tenant: Tenant,
  visitorId: string,
  address: string,
): Promise<WebSocket> {
  const headers = visitorHeaders(tenant, visitorId, address);
  const askForToken = (): Promise<Answer> =>
    ask(`${url}/api/v1/widget/ws-token`, { method: 'POST', headers });
  let { text, status } = await askForToken();
  while (status === 429) {
    await pause(1_000);
    ({ text, status } = await askForToken());
  }
  if (status !== 200 && status !== 201) throw new Error(`no token: ${status} ${text}`);
  const { token } = JSON.parse(text) as { token: string };
  const socket = new WebSocket(`${url.replace('http', 'ws')}/api/v1/ws?token=${token}`, { headers });
  socket.on('error', () => undefined);
  await new Promise((resolve) => socket.once('open', resolve).once('close', resolve));
  return socket;
}

async function searches(setting: Setting): Promise<void> {
  const headers = await staffHeaders(setting, setting.beta);
  const times: Record<'alpha' | 'nowhere', number[]> = { alpha: [], nowhere: [] };
  for (let round = 0; round < 200; round += 1)
    for (const word of ['alpha', 'nowhere'] as const) {
      const { status, ms } = await ask(`${setting.url}/api/v1/staff/conversations?q=${word}`, { headers });
      if (status !== 200) throw new Error(`the search answered ${status}`);
      times[word].push(ms);
      // Within the limits of a session.
      await pause(10);
    }
  print(
    'search, median',
    `a word of another tenant ${percentile(times.alpha, 0.5)} ms, a word of none ${percentile(times.nowhere, 0.5)} ms`,
  );
}

async function syncFlood(server: Child, setting: Setting, floodMs: number): Promise<void> {
  const { visitorId, conversationId } = setting.long;
  const sockets = await Promise.all(
    Array.from({ length: 20 }, () => openSocket(setting, setting.acme, visitorId, '192.0.2.20')),
  );
  const codes: number[] = [];
  let bytes = 0;
  for (const socket of sockets) {
    socket.on('message', (data: Buffer) => (bytes += data.length));
    socket.once('close', (code) => codes.push(code));
  }
  await server.request('measure' satisfies Order);
  let over = false;
  const health = askUntil(() => over, `${setting.url}/healthz`);
  const until = performance.now() + floodMs;
  while (performance.now() < until) {
    for (const socket of sockets)
      if (socket.readyState === WebSocket.OPEN)
        socket.send(
          JSON.stringify({ type: 'room:join', payload: { conversationId, lastMessageId: randomUUID() } }),
        );
    await pause(200);
  }
  over = true;
  const { times } = await health;
  const hold = await server.request<Hold>('measured' satisfies Order);
  for (const socket of sockets) socket.terminate();
  print(
    'sync flood',
    `/healthz p99 ${percentile(times, 0.99)} ms, ${(bytes / 1e6).toFixed(0)} MB sent, closed with ${[...new Set(codes)].join(', ') || 'nothing'}; ${describeHold(hold)}`,
  );
}

async function configFlood(setting: Setting, floodMs: number): Promise<void> {
  const url = `${setting.url}/api/v1/staff/conversations`;
  const headers = await staffHeaders(setting, setting.acme);
  let over = false;
  const quiet = askUntil(() => over, url, { headers });
  await pause(floodMs);
  over = true;
  const before = await quiet;
  over = false;
  const beside = askUntil(() => over, url, { headers });
  const until = performance.now() + floodMs;
  let sent = 0;
  const flood = visitorHeaders(setting.acme, randomUUID(), '192.0.2.30');
  while (performance.now() < until) {
    await Promise.all(
      Array.from({ length: 8 }, () => ask(`${setting.url}/api/v1/widget/config`, { headers: flood })),
    );
    sent += 8;
    await pause(25);
  }
  over = true;
  const during = await beside;
  print(
    'config flood',
    `${sent} requests; staff p99 ${percentile(before.times, 0.99)} ms before, ${percentile(during.times, 0.99)} ms beside; ${during.refused} of ${during.times.length} staff calls refused`,
  );
}

async function signInFlood(setting: Setting): Promise<void> {
  for (const [what, address] of [
    ['one address', () => '192.0.2.40'],
    ['80 addresses', (at: number) => `198.51.100.${at}`],
  ] as const) {
    const flood = Array.from({ length: 80 }, (_, at) =>
      signIn(setting, { ...setting.acme, email: `wrong${at}@acme.example` }, address(at), true),
    );
    await pause(50);
    const rightful = await signIn(setting, setting.beta, '192.0.2.50');
    const answers = await Promise.all(flood);
    print(
      `80 sign-ins at once from ${what}`,
      `a rightful one ${rightful.status} after ${rightful.ms.toFixed(0)} ms; ${answers.filter(({ status }) => status === 401).length} of the 80 checked`,
    );
  }
}

/** Runs all attacks, one after the other, and prints a line for each. */
export async function attacks(sizes: AttackSizes): Promise<void> {
  const folder = await mkdtemp(join(sizes.folder, 'deskbell-bench-'));
  const server = new Child('./attacked-server.ts', [join(folder, 'data'), String(sizes.messages)]);
  const floodMs = sizes.seconds * 1_000;
  try {
    const setting = await server.request<Setting>('setting' satisfies Order);
    print('filled', `${sizes.messages} messages`);
    await searches(setting);
    await syncFlood(server, setting, floodMs);
    await configFlood(setting, floodMs);
    await signInFlood(setting);
    print('deletion of the application', describeHold(await server.request<Hold>('delete' satisfies Order)));
    await server.stop();
  } finally {
    server.kill();
    await rm(folder, { recursive: true, force: true });
  }
}
