// Many requests in one piece of a connection: Node hands all of them over in one turn of the loop. Owns how many of
// them are begun, and what is said of the others. Must not test what a limit counts.
import { afterAll, beforeAll, expect, it } from 'vitest';
import { maxAtOnce } from '../../src/http/bursts.ts';
import { startApp, type TestApp } from '../helpers/app.ts';
import { exchange, requestBytes } from '../helpers/raw-http.ts';
import { checkReply } from '../helpers/rest-checks.ts';

let app: TestApp;
beforeAll(async () => {
  app = await startApp();
});
afterAll(() => app.stop());

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
