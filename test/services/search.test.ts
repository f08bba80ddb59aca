// Full-text search: in any script, over messages, subject and visitor, only in one's
// own organization, and never for what was deleted.
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { searchQuery, updateSearchIndex, tokenize } from '../../src/services/chat/search.ts';
import { startApp, type TestApp } from '../helpers/app.ts';
import {
  createConversation,
  createMember,
  createMessage,
  createOrganization,
  createVisitor,
  type TestClient,
  type TestMember,
} from '../helpers/fixtures.ts';
import { runs } from '../helpers/rounds.ts';

let app: TestApp;
let visitor: TestClient;
let operator: TestMember;
let stranger: TestMember;

beforeAll(async () => {
  app = await startApp();
  const acme = await createOrganization(app, 'acme');
  await createOrganization(app, 'other');
  visitor = createVisitor(app, acme.application);
  operator = await createMember(app, 'acme');
  stranger = await createMember(app, 'other');
});

afterAll(async () => {
  await app.stop();
});

async function find(q: string, who = operator): Promise<string[]> {
  await updateSearchIndex(app.service);
  const reply = await who.call('GET', `/conversations?q=${encodeURIComponent(q)}&limit=100`);
  expect(reply.status).toBe(200);
  return reply.body.conversations.map((one: { id: string }) => one.id);
}

describe('words', () => {
  const segmenter = new Intl.Segmenter(undefined, { granularity: 'word' });
  const segmented = (text: string): string[] =>
    [...segmenter.segment(text)]
      .filter(({ isWordLike }) => isWordLike)
      .map(({ segment }) => segment.toLowerCase());
  const letter = fc.constantFrom(...Array.from('aBz09_.:\',;- "\n@#'));

  it('are cut in ASCII text where the segmenter cuts them', () => {
    const text = fc.oneof(
      fc.string({ unit: 'binary-ascii' }),
      fc.array(letter).map((letters) => letters.join('')),
    );
    fc.assert(
      fc.property(text, (one) => {
        expect(tokenize(one)).toEqual(segmented(one));
      }),
      runs(2_000, 100_000),
    );
  });
});

describe('search in the queue', () => {
  it.each([
    ['English, any case and the beginning of the last word', 'My parcel never arrived', 'PARCEL arri'],
    ['accents', 'Où est ma commande réglée', 'reglee'],
    ['Chinese, which has no blanks', '我的包裹还没有到', '包裹'],
    ['Japanese', '荷物がまだ届きません', '荷物'],
    ['Thai', 'พัสดุของฉันยังไม่มาถึง', 'พัสดุ'],
    ['Arabic', 'أين طلبي رقم ١٢', 'طلبي'],
  ])('finds %s', async (_what, content, q) => {
    const conversationId = await createConversation(visitor);
    await createMessage(visitor, conversationId, content);
    expect(await find(q)).toEqual([conversationId]);
    expect(await find(q, stranger)).toEqual([]);
  });

  it('finds by subject and by the visitor, and what is rich by its text', async () => {
    const person = createVisitor(app, {
      id: visitor.headers['x-app-id'] as string,
      origin: visitor.headers['origin'] as string,
      domain: '',
      key: '',
      testKey: '',
    });
    await person.call('PUT', '/visitor', { name: 'Zoë Quux' });
    const conversationId = await createConversation(person, 'Refund for 100% wool');
    const rich = JSON.stringify({
      root: {
        type: 'root',
        version: 1,
        children: [
          { type: 'paragraph', version: 1, children: [{ type: 'text', version: 1, text: 'turquoise' }] },
        ],
      },
    });
    await person.call('POST', `/conversations/${conversationId}/messages`, {
      content: rich,
      contentFormat: 'lexical',
    });
    for (const q of ['Quux', '100%', 'turquoise']) expect(await find(q)).toEqual([conversationId]);
    expect(await find('paragraph')).toEqual([]);
    expect(await find('1_0%')).toEqual([]);
  });

  it('follows an edit and forgets a deletion, also in the index itself', async () => {
    const conversationId = await createConversation(visitor);
    const messageId = await createMessage(visitor, conversationId, 'aardvark');
    expect(await find('aardvark')).toEqual([conversationId]);
    await visitor.call('PATCH', `/conversations/${conversationId}/messages/${messageId}`, {
      content: 'buffalo',
    });
    expect(await find('aardvark')).toEqual([]);
    expect(await find('buffalo')).toEqual([conversationId]);
    await visitor.call('DELETE', `/conversations/${conversationId}/messages/${messageId}`);
    expect(await find('buffalo')).toEqual([]);
    expect(
      await app.service.engine.store.read(({ repositories }) => repositories.search.has(messageId)),
    ).toBe(false);
  });

  it.each([
    "'",
    '"',
    '*',
    'NEAR(',
    'a AND',
    'col:x',
    '-x',
    '^',
    ')',
    '%',
    '_',
    "x' UNION SELECT 1",
    '😀',
    'a'.repeat(200),
  ])('takes %j for text, not for syntax', async (q) => {
    expect((await find(q)).length).toBeGreaterThanOrEqual(0);
  });

  it('indexes what was there before the index', async () => {
    const conversationId = await createConversation(visitor);
    const messageId = await createMessage(visitor, conversationId, 'xylophone');
    await updateSearchIndex(app.service);
    await app.service.engine.store.write('server', async ({ repositories }) => {
      await repositories.search.remove(messageId);
      await repositories.meta.remove('search_cursor');
    });
    expect(await find('xylophone')).toEqual([conversationId]);
  });
});

describe('a query', () => {
  it('has every word that was typed, the last as a beginning', () => {
    expect(searchQuery('say "hi" AND bye')).toEqual({ words: ['say', 'hi', 'and'], prefix: 'bye' });
    expect(searchQuery('…')).toBeNull();
    expect(tokenize('Größe XL')).toEqual(['größe', 'xl']);
  });
});
