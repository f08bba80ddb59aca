// What a caller sends much of in one go: requests, which Node hands over in one turn of the loop, and names in a query.
// Owns how many requests are begun and what is said of the others, and that a query is read once. Must not test what a
// limit counts.
import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, expect, it, vi } from 'vitest';
import { maxAtOnce } from '../../src/http/bursts.ts';
import { startApp, type TestApp } from '../helpers/app.ts';
import { createOrganization } from '../helpers/fixtures.ts';
import { exchange, requestBytes, send } from '../helpers/raw-http.ts';
import { checkReply } from '../helpers/rest-checks.ts';

let app: TestApp;
beforeAll(async () => {
  app = await startApp();
});
afterAll(() => app.stop());
afterEach(() => vi.restoreAllMocks());

const path = '/healthz';

/** So many requests as one piece. @param close the last one says that no other follows */
function pieceOf(count: number, close = false): Buffer {
  const headers = [['Connection', 'keep-alive']] as const;
  const pieces = Array<Buffer>(close ? count - 1 : count).fill(requestBytes(app.url, { path, headers }));
  return Buffer.concat(close ? [...pieces, requestBytes(app.url, { path })] : pieces);
}

it('answers as many as may come at once', async () => {
  const replies = await exchange(app.url, pieceOf(maxAtOnce), { wanted: maxAtOnce });
  expect(replies.map(({ status }) => status)).toEqual(Array(maxAtOnce).fill(200));
});

it('begins no more, says why, and ends the connection', async () => {
  const answered = (): number => app.service.metrics.requests.get(`GET ${path} 2xx`) ?? 0;
  const before = answered();
  const replies = await exchange(app.url, pieceOf(1_000), { wanted: 1_000 });
  expect(replies.map(({ status }) => status)).toEqual([429]);
  const [reply] = replies;
  expect(checkReply(reply!, 'GET', path).body).toMatchObject({ cause: 'per_address', retryAfter: 1 });
  expect(reply?.headers.get('connection')).toBe('close');
  expect(answered() - before).toBeLessThanOrEqual(maxAtOnce);
});

it('counts several pieces that come in one turn as one', async () => {
  const headers = [
    ['Connection', 'keep-alive'],
    ['X-Padding', 'x'.repeat(2_500)],
  ] as const;
  const one = requestBytes(app.url, { path, headers });
  const replies = await exchange(app.url, Buffer.concat(Array<Buffer>(200).fill(one)), { wanted: 200 });
  // Those of the first piece may have been answered by then.
  expect(replies.filter(({ status }) => status === 200).length).toBeLessThanOrEqual(maxAtOnce);
  expect(replies.length).toBeLessThanOrEqual(maxAtOnce + 1);
});

it('counts each connection alone, and each turn anew', async () => {
  const each = await Promise.all(
    [1, 2, 3, 4].map(() => exchange(app.url, pieceOf(maxAtOnce, true), { wanted: maxAtOnce + 1 })),
  );
  for (const replies of each) expect(replies).toHaveLength(maxAtOnce);
});

it('looks at each name of a query once, however many there are', async () => {
  const { application } = await createOrganization(app, 'acme');
  const names = 'a&'.repeat(7_000);
  const lookUp = vi.spyOn(URLSearchParams.prototype, 'getAll');
  const origin = [
    ['Origin', application.origin],
    ['X-App-Id', application.id],
  ] as const;
  const config = await send(app.url, { path: `/api/v1/widget/config?${names}`, headers: origin });
  const file = await send(app.url, { path: `/api/v1/files/${randomUUID()}?${names}` });
  expect([config.status, file.status]).toEqual([200, 404]);
  expect(lookUp.mock.calls.length).toBe(0);
});
