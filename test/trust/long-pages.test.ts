// A page of a list may hold some megabytes: it is read, made and written a bit in each turn of the loop. Counted in
// characters of JSON by turn, on a clock that moves on at each look.
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { startApp, type TestApp } from '../helpers/app.ts';
import {
  createConversation,
  createMember,
  createOrganization,
  createVisitorByKey,
  type TestMember,
} from '../helpers/fixtures.ts';
import { slowLooks } from '../helpers/slow-looks.ts';

const rows = 60;
const attributes = Object.fromEntries(Array.from({ length: 20 }, (_, at) => [`k${at}`, '漢"'.repeat(490)]));

let app: TestApp;
let operator: TestMember;

beforeAll(async () => {
  app = await startApp();
  const acme = await createOrganization(app, 'acme');
  operator = await createMember(app, 'acme');
  for (let at = 0; at < rows; at += 1) {
    const visitor = createVisitorByKey(app, acme.application);
    await visitor.call('PUT', '/visitor', { name: `V${at}`, attributes });
    await createConversation(visitor, `number ${at}`);
  }
});
afterAll(() => app.stop());

/** The most characters of JSON that were read, and written, in one turn of the loop while `work` ran. */
async function mostOfTurn(work: () => Promise<unknown>): Promise<{ read: number; written: number }> {
  const most = { read: 0, written: 0 };
  const now = { read: 0, written: 0 };
  const { parse, stringify } = JSON;
  vi.spyOn(JSON, 'parse').mockImplementation((text, reviver) => {
    // What a visitor is said to be: not the whole answer, which the test reads itself.
    if (text.length < 100_000) most.read = Math.max(most.read, (now.read += text.length));
    return parse(text, reviver) as unknown;
  });
  vi.spyOn(JSON, 'stringify').mockImplementation((...all: Parameters<typeof stringify>) => {
    const text = stringify(...all);
    most.written = Math.max(most.written, (now.written += text.length));
    return text;
  });
  let turns = setImmediate(function nextTurn() {
    Object.assign(now, { read: 0, written: 0 });
    turns = setImmediate(nextTurn);
  });
  slowLooks(app);
  try {
    await work();
  } finally {
    clearImmediate(turns);
    vi.restoreAllMocks();
  }
  return most;
}

it.each(['', '&q=number'])('the queue with visitors of whom much is said (%s)', async (query) => {
  const line = JSON.stringify(attributes).length;
  const { body, text } = await operator.call('GET', `/conversations?limit=100${query}`);
  expect(body.conversations).toHaveLength(rows);
  expect(body.conversations.map(({ visitor }: { visitor: object }) => visitor)).toEqual(
    Array.from({ length: rows }, () => expect.objectContaining({ attributes })),
  );
  const most = await mostOfTurn(async () => {
    // The same, to the last character.
    expect((await operator.call('GET', `/conversations?limit=100${query}`)).text).toBe(text);
  });
  expect(most.read).toBeGreaterThan(line);
  expect(most.read).toBeLessThan(25 * line);
  expect(most.written).toBeLessThan(25 * line);
});
