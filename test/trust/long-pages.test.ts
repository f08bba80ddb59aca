// A page of a list may hold some megabytes: it is read, made and written a bit in each turn of the loop. Counted in
// characters of JSON by turn, on a clock that moves on at each look.
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { startApp, type TestApp } from '../helpers/app.ts';
import {
  createConversation,
  createMember,
  createMessage,
  createOrganization,
  createVisitor,
  createVisitorByKey,
  type TestMember,
} from '../helpers/fixtures.ts';
import { rowsOf } from '../helpers/database.ts';
import { replacing } from '../helpers/replacing.ts';
import { slowLooks } from '../helpers/slow-looks.ts';

const rows = 60;
const attributes = Object.fromEntries(Array.from({ length: 20 }, (_, at) => [`k${at}`, '漢"'.repeat(490)]));

let app: TestApp;
let operator: TestMember;
let editor: TestMember;
let long: string;

beforeAll(async () => {
  app = await startApp();
  const acme = await createOrganization(app, 'acme');
  operator = await createMember(app, 'acme');
  for (let at = 0; at < rows; at += 1) {
    const visitor = createVisitorByKey(app, acme.application);
    await visitor.call('PUT', '/visitor', { name: `V${at}`, attributes });
    await createConversation(visitor, `number ${at}`);
  }
  const beta = await createOrganization(app, 'beta');
  editor = await createMember(app, 'beta');
  const writer = createVisitor(app, beta.application);
  long = await createConversation(writer);
  await createMessage(writer, long, 'the last line');
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

/** Puts so many messages of so many characters before the newest one. */
async function fill(count: number, length: number): Promise<void> {
  await rowsOf(app, "delete from messages where conversation_id = ? and id like 'm%'", long);
  await rowsOf(
    app,
    `insert into messages (id, conversation_id, organization_id, seq, changed_seq, sender_id, sender_role, content, content_format, internal, created_at)
     with recursive n(i) as (select 1 union all select i + 1 from n where i < ${count})
     select 'm' || i, conversation_id, organization_id, -i, -i, sender_id, sender_role, 'number ' || i || printf('%.*c', ${length}, 'x'), content_format, internal, created_at
     from messages, n where conversation_id = ? and seq = 1`,
    long,
  );
}

it('a transcript of long messages', async () => {
  await fill(80, 200);
  const { store } = app.service.engine;
  const read = store.read.bind(store);
  let mostRead = 0;
  vi.spyOn(store, 'read').mockImplementation((work) => {
    let ofThis = 0;
    return read(({ repositories }) => {
      const { messages } = repositories;
      const page: typeof messages.page = async (filter) => {
        const found = await messages.page(filter);
        mostRead = Math.max(mostRead, (ofThis += found.length));
        return found;
      };
      return work({ repositories: replacing(repositories, 'messages', { ...messages, page }) });
    });
  });
  slowLooks(app);
  const { body, status } = await editor.call('GET', `/conversations/${long}/transcript`);
  vi.restoreAllMocks();
  expect(status).toBe(200);
  expect(mostRead).toBe(10);
  const lines = body.transcript.text.match(/number \d+|the last line/g);
  expect(lines).toEqual([...Array.from({ length: 80 }, (_, at) => `number ${80 - at}`), 'the last line']);
});

it('a transcript of very long messages has as many as a mail takes, and says that older ones are left out', async () => {
  await fill(200, 10_000);
  const { transcript } = (await editor.call('GET', `/conversations/${long}/transcript`)).body;
  const lines = transcript.text.match(/number \d+|the last line/g);
  // Two million characters, in two parts.
  expect(lines.length).toBeGreaterThan(100);
  expect(lines.length).toBeLessThan(106);
  expect(lines.at(-1)).toBe('the last line');
  const remark = `Older messages are left out: the conversation has more than ${lines.length}.`;
  expect(transcript.text).toContain(remark);
  expect(transcript.html).toContain(remark);
});
