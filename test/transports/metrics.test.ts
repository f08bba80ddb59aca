// Attacks /metrics: who may read it, what a label may hold, and whether the numbers are
// true. A header can take the right away, and never give it.
import { createHistogram } from 'node:perf_hooks';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { p99DelaySeconds } from '../../src/http/metrics.ts';
import { startApp, type TestApp } from '../helpers/app.ts';
import { request, type HeaderMap } from '../helpers/client.ts';
import { eventually } from '../helpers/eventually.ts';
import { plainRequest } from '../helpers/plain-request.ts';
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
let admin: TestMember;
let operator: TestMember;

beforeAll(async () => {
  app = await startApp({ alone: true, flags: { trustProxy: '1' } });
  acme = await createOrganization(app, 'acme');
  visitor = createVisitor(app, acme.application);
  admin = await createMember(app, 'acme', 'admin');
  operator = await createMember(app, 'acme', 'operator');
});

afterAll(async () => {
  await app.stop();
});

async function read(
  headers: HeaderMap = {},
  { url }: TestApp = app,
): Promise<{ status: number; text: string; type: string | null }> {
  const response = await fetch(`${url}/metrics`, { headers });
  return { status: response.status, text: await response.text(), type: response.headers.get('content-type') };
}

/** The value of a sample, by its name with labels. */
function value(text: string, sample: string): number {
  const line = text.split('\n').find((one) => one.startsWith(`${sample} `));
  if (line === undefined) throw new Error(`no sample ${sample} in\n${text}`);
  return Number(line.slice(sample.length + 1));
}

describe('who may read it', () => {
  it('a program on the same machine', async () => {
    const { status, type, text } = await read();
    expect(status).toBe(200);
    expect(type).toBe('text/plain; version=0.0.4; charset=utf-8');
    expect(text).toContain('# TYPE deskbell_http_requests_total counter');
  });

  it.each([
    'x-forwarded-for',
    'X-Forwarded-For',
    'forwarded',
    'x-real-ip',
    'via',
    'x-forwarded-host',
    'x-forwarded-proto',
    'cf-connecting-ip',
    'true-client-ip',
  ])('no one who came through a proxy: %s', async (name) => {
    for (const forwarded of ['203.0.113.7', '127.0.0.1', 'for=127.0.0.1', '', '127.0.0.1, 127.0.0.1']) {
      const { status, text } = await read({ [name]: forwarded });
      expect(status, `${name}: ${forwarded}`).toBe(404);
      expect(JSON.parse(text)).toEqual({
        error: 'not_found',
        message: 'No such path. The API lives below /api/v1.',
      });
    }
  });

  it('no one who puts a thousand headers before what the proxy says', async () => {
    const many = Object.fromEntries(Array.from({ length: 1_200 }, (_, at) => [`a${at}`, 'x']));
    const reply = await plainRequest(`${app.url}/metrics`, { ...many, 'x-forwarded-for': '203.0.113.7' });
    expect(reply.status).toBe(404);
    const alone = await plainRequest(`${app.url}/metrics`, many);
    expect(alone.status).toBe(200);
  });

  it.each([
    'chat.example.com',
    'localhost.example.com',
    '127.0.0.1.example.com',
    '10.0.0.1',
    '127.0.0.1@example.com',
    '[::2]',
    'x',
  ])('no one who calls this machine by another name: %s', async (host) => {
    const reply = await plainRequest(`${app.url}/metrics`, { host });
    expect(reply.status).toBeGreaterThanOrEqual(400);
    expect(reply.bytes.toString()).not.toContain('deskbell_');
  });

  it('no admin of an organization, nor any other credential of one', async () => {
    for (const token of [admin.token, operator.token, acme.application.key, 'nonsense']) {
      const { status, text } = await read({
        authorization: `Bearer ${token}`,
        'x-forwarded-for': '203.0.113.7',
      });
      expect(status).toBe(404);
      expect(text).not.toContain('deskbell_');
    }
  });

  it('with a token: who has it, from wherever, and no one else', async () => {
    const token = 'CANARY-metrics-token';
    const other = await startApp({
      flags: { trustProxy: '1' },
      environment: { DESKBELL_METRICS_TOKEN: token },
    });
    const ask = (headers: HeaderMap) => read(headers, other);
    const remote = { 'x-forwarded-for': '203.0.113.7' };
    expect((await ask({ authorization: `Bearer ${token}`, ...remote })).status).toBe(200);
    expect((await ask({ authorization: `Bearer ${token}` })).status).toBe(200);
    expect((await ask({ authorization: `bearer ${token}` })).status).toBe(200);
    expect((await ask({})).status).toBe(404);
    await createOrganization(other, 'acme');
    const itsAdmin = await createMember(other, 'acme', 'admin');
    for (const wrong of [itsAdmin.token, `${token}x`, token.slice(1), token.toLowerCase(), ''])
      for (const where of [{}, remote])
        expect((await ask({ authorization: `Bearer ${wrong}`, ...where })).status, wrong).toBe(401);
    expect(other.logged.join('')).not.toContain(token);
    await other.stop();
  });

  it('no one in another way than reading', async () => {
    for (const method of ['POST', 'PUT', 'DELETE']) {
      const response = await fetch(`${app.url}/metrics`, { method });
      expect(response.status).toBe(405);
      expect(response.headers.get('allow')).toBe('GET, HEAD');
    }
    expect((await fetch(`${app.url}/metrics`, { method: 'HEAD' })).status).toBe(200);
  });
});

describe('what it says', () => {
  it('is true', async () => {
    const before = (await read()).text;
    const socket = await visitor.connect();
    const staffSockets = [await admin.connect(), await admin.connect(), await operator.connect()];
    const conversationId = await createConversation(visitor, 'CANARY');
    await createMessage(visitor, conversationId);
    await createMessage(visitor, conversationId);
    await request(app.url, 'GET', '/api/v1/nowhere/CANARY-PATH');
    await socket.drain();
    const { text } = await read();
    const grown = (sample: string): number =>
      value(text, sample) - (before.includes(`${sample} `) ? value(before, sample) : 0);
    expect(
      grown(
        'deskbell_http_requests_total{method="POST",route="/api/v1/conversations/:conversationId/messages",status="2xx"}',
      ),
    ).toBe(2);
    expect(grown('deskbell_http_requests_total{method="GET",route="other",status="4xx"}')).toBe(1);
    expect(grown('deskbell_messages_stored_total')).toBe(2);
    expect(value(text, 'deskbell_socket_connections{kind="visitor"}')).toBe(1);
    expect(value(text, 'deskbell_socket_connections{kind="staff"}')).toBe(3);
    expect(value(text, 'deskbell_staff_online')).toBe(2);
    expect(grown('deskbell_socket_frames_total{direction="in"}')).toBe(1);
    // conversation:new and two of activity to each of three, presence to the visitor, the pong.
    expect(grown('deskbell_socket_frames_total{direction="out"}')).toBeGreaterThanOrEqual(10);
    expect(grown('deskbell_store_group_size_count')).toBeGreaterThanOrEqual(3);
    expect(value(text, 'deskbell_store_group_size_bucket{le="+Inf"}')).toBe(
      value(text, 'deskbell_store_group_size_count'),
    );
    expect(value(text, 'deskbell_store_group_size_sum')).toBeGreaterThanOrEqual(
      value(text, 'deskbell_store_group_size_count'),
    );
    expect(value(text, 'deskbell_store_commit_seconds_count')).toBe(
      value(text, 'deskbell_store_group_size_count'),
    );
    expect(value(text, 'process_resident_memory_bytes')).toBeGreaterThan(10_000_000);
    expect(value(text, 'deskbell_database_bytes')).toBeGreaterThan(100_000);
    if (app.database === null) expect(value(text, 'deskbell_database_log_bytes')).toBeGreaterThan(0);
    expect(value(text, 'deskbell_event_loop_delay_p99_seconds')).toBeGreaterThanOrEqual(0);
    for (const one of [socket, ...staffSockets]) await one.close();
    await eventually(async () => {
      const now = (await read()).text;
      expect([
        value(now, 'deskbell_socket_connections{kind="visitor"}'),
        value(now, 'deskbell_socket_connections{kind="staff"}'),
        value(now, 'deskbell_staff_online'),
      ]).toEqual([0, 0, 0]);
    });
  });

  it('counts what a limit refused, by its cause', async () => {
    const limited = await startApp({ alone: true, flags: { limitVisitor: '2/m' } });
    const organization = await createOrganization(limited, 'acme');
    const person = createVisitor(limited, organization.application);
    for (let index = 0; index < 5; index += 1) await person.call('GET', '/conversations');
    const text = await (await fetch(`${limited.url}/metrics`)).text();
    expect(value(text, 'deskbell_refused_by_limit_total{cause="per_visitor"}')).toBe(3);
    expect(value(text, 'deskbell_refused_by_limit_total{cause="per_application"}')).toBe(0);
    expect(
      value(text, 'deskbell_http_requests_total{method="GET",route="/api/v1/conversations",status="4xx"}'),
    ).toBe(3);
    await limited.stop();
  });

  it('is well formed, names no one, and can be made no longer by anybody', async () => {
    for (const path of [
      '/a',
      '/b',
      '/api/v1/conversations/CANARY',
      '/metrics/x',
      '/%7Bx%7D',
      `/${acme.application.id}`,
    ])
      await request(app.url, 'GET', path, visitor.headers);
    for (const method of ['PROPFIND', 'MKCOL']) await fetch(`${app.url}/a`, { method });
    const { text } = await read();
    for (const secret of [
      'CANARY',
      acme.id,
      acme.application.id,
      visitor.id,
      admin.id,
      operator.id,
      'acme',
      '%7B',
    ])
      expect(text).not.toContain(secret);
    expect(text).not.toMatch(/[0-9a-f]{8}-[0-9a-f]{4}/);
    const names = new Set<string>();
    for (const line of text.trimEnd().split('\n')) {
      const type = /^# TYPE (\S+) (counter|gauge|histogram)$/.exec(line);
      if (type !== null) {
        expect(names.has(type[1]!), line).toBe(false);
        names.add(type[1]!);
      } else if (!line.startsWith('# HELP ')) {
        const sample =
          /^([a-z_0-9]+)(\{([a-z]+="[^"\\\n]*")(,[a-z]+="[^"\\\n]*")*\})? (\d+(\.\d+)?(e[+-]?\d+)?)$/.exec(
            line,
          );
        expect(sample, line).not.toBeNull();
        expect(
          names.has(sample![1]!) || names.has(sample![1]!.replace(/_(bucket|sum|count)$/, '')),
          line,
        ).toBe(true);
      }
    }
    const bounds = [...text.matchAll(/deskbell_store_commit_seconds_bucket\{le="([^"]+)"\} (\d+)/g)].map(
      ([, le, count]) => [Number(le === '+Inf' ? Infinity : le), Number(count)] as const,
    );
    expect(bounds.map(([le]) => le)).toEqual(bounds.map(([le]) => le).toSorted((one, other) => one - other));
    expect(bounds.map(([, count]) => count)).toEqual(
      bounds.map(([, count]) => count).toSorted((one, other) => one - other),
    );
    const methods = new Set([...text.matchAll(/method="([^"]+)"/g)].map(([, method]) => method));
    expect(
      [...methods].filter(
        (method) => !['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'other'].includes(method!),
      ),
    ).toEqual([]);
  });
});

it('says by how much the event loop was late, without the pause between two samples', () => {
  const samples = createHistogram();
  expect(p99DelaySeconds(samples)).toBe(0);
  for (let sample = 0; sample < 1000; sample++) samples.record(20_000_000);
  expect(p99DelaySeconds(samples)).toBeCloseTo(0, 3);
  for (let sample = 0; sample < 1000; sample++) samples.record(70_000_000);
  expect(p99DelaySeconds(samples)).toBeCloseTo(0.05, 3);
});
