// Full-text search: in any script, over messages, subject and visitor, only in one's
// own organization, and never for what was deleted.
import Database from 'better-sqlite3';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { SearchStretch, WordQuery } from '../../src/engine/repositories/search.ts';
import { asTokenized } from '../../src/engine/sqlite/repositories/search.ts';
import { searchQuery, updateSearchIndex, tokenize } from '../../src/services/chat/search.ts';
import { hasFolder, startApp, type TestApp } from '../helpers/app.ts';
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
import { replacing } from '../helpers/replacing.ts';
import { runs } from '../helpers/rounds.ts';

let app: TestApp;
let visitor: TestClient;
let operator: TestMember;
let stranger: TestMember;
let organizationId: string;
let other: TestOrganization;

beforeAll(async () => {
  app = await startApp();
  const acme = await createOrganization(app, 'acme');
  organizationId = acme.id;
  other = await createOrganization(app, 'other');
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
      .filter(({ segment, isWordLike }) => isWordLike && /[a-z\d]/i.test(segment))
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

  it.each([
    ['French, joined by an apostrophe', "Où est l'avion d’Orly", ['avion', 'ORL', "l'avion", 'avion orly']],
    ['Italian', "Manca dell'altro ordine", ['altro', "dell'alt"]],
    ['what follows a colon or a full stop without a blank', 'Status:verzonden.Morgen', ['verzonden', 'morg']],
    [
      'an address',
      'I am zoe@mail.nexample.org',
      ['nexample', 'nexample.org', 'mail.nexample', 'zoe nexample'],
    ],
    [
      'names of programs',
      '__init_module__ failed',
      ['module', 'init', '__init', 'init_mod', 'module failed'],
    ],
    [
      'a number, by its beginning and its parts',
      'version v1.22.333 at 7:45',
      ['v1.22', 'v1.22.3', '22.333', '45'],
    ],
    ['Arabic, with its vowels and without', 'أين طَلَبِي الجديد', ['طلبي', 'طَلَبِي', 'طلب']],
    ['Thai and Hindi, by their vowels', 'เขากินข้าว नहीं मिला', ['กิน', 'ข้าว', 'नहीं', 'मिला']],
    ['with soft hyphens', 'Liefer\u00adbedin\u00adgungen', ['lieferbedingungen', 'liefer\u00adbed']],
  ])('finds parts of a word: %s', async (_name, content, queries) => {
    const conversationId = await createConversation(visitor);
    await createMessage(visitor, conversationId, content);
    for (const q of queries) {
      expect(await find(q), q).toContain(conversationId);
      expect(await find(q, stranger), q).toEqual([]);
    }
    for (const q of ["m'avion", "l'orly", 'กัน', 'मीला']) expect(await find(q), q).toEqual([]);
  });

  it('finds nothing by signs alone, and by words beside them only what has these', async () => {
    const conversationId = await createConversation(visitor);
    await createMessage(visitor, conversationId, 'hornbill');
    for (const q of ['__', '＿＿', '"__"', '* : ^', '🎉', '()']) expect(await find(q), q).toEqual([]);
    expect(await find('hornbill __')).toEqual([conversationId]);
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

describe('an index that is large', () => {
  it('is read in shorter turns beside many users, and the lines of what was found ten at a time', async () => {
    const ids: string[] = [];
    for (let index = 0; index < 25; index += 1) {
      ids.push(await createConversation(visitor));
      await createMessage(visitor, ids[index]!, 'wombat');
    }
    const { store } = app.service.engine;
    const stretches: number[] = [];
    const pages: number[] = [];
    const read = store.read.bind(store);
    vi.spyOn(store, 'read').mockImplementation((work) =>
      read(({ repositories }) => {
        const { search, conversations } = repositories;
        const watched = replacing(repositories, 'search', {
          ...search,
          matches: (query, organization, stretch) => {
            stretches.push(stretch.most);
            return search.matches(query, organization, stretch);
          },
        });
        return work({
          repositories: replacing(watched, 'conversations', {
            ...conversations,
            queuePage: (organization, some, reader) => {
              pages.push(some.length);
              return conversations.queuePage(organization, some, reader);
            },
          }),
        });
      }),
    );
    const hasMany = vi.spyOn(app.service.engine.pace, 'hasManyUsers').mockReturnValue(false);
    try {
      const alone = await find('wombat');
      expect(alone.toSorted()).toEqual(ids.toSorted());
      expect(stretches).toEqual([500]);
      expect(pages).toEqual([10, 10, 5]);
      hasMany.mockReturnValue(true);
      expect(await find('wombat')).toEqual(alone);
      expect(stretches).toEqual([500, 150]);
    } finally {
      vi.restoreAllMocks();
    }
  });

  /** Searches stretch by stretch, as small as they are given. @returns the conversations, and how many stretches */
  async function byStretches(query: WordQuery, span: number, most: number): Promise<[string[], number]> {
    const found: string[] = [];
    let before: number | null = null;
    for (let stretches = 1; ; stretches += 1) {
      const stretch: SearchStretch = { before, span, most };
      const answer = await app.service.engine.store.read(({ repositories }) =>
        repositories.search.matches(query, organizationId, stretch),
      );
      expect(answer.conversations.length).toBeLessThanOrEqual(most);
      found.push(...answer.conversations);
      ({ before } = answer);
      if (before === null) return [found, stretches];
    }
  }

  it.runIf(hasFolder)('is searched in stretches, and each match is met once, the newest first', async () => {
    const ids: string[] = [];
    for (let index = 0; index < 12; index += 1) {
      const id = await createConversation(visitor);
      await createMessage(visitor, id, index % 3 === 0 ? 'ferret and otter' : 'otter alone');
      ids.unshift(id);
    }
    await updateSearchIndex(app.service);
    const ferrets = ids.filter((_, at) => at % 3 === 2);
    for (const [span, most] of [
      [1, 1],
      [3, 2],
      [7, 100],
      [1_000_000, 2],
      [1_000_000, 1_000],
    ] as const) {
      expect((await byStretches({ words: [], prefix: 'otter' }, span, most))[0]).toEqual(ids);
      expect((await byStretches({ words: ['otter'], prefix: 'fer' }, span, most))[0]).toEqual(ferrets);
    }
    const [, stretches] = await byStretches({ words: [], prefix: 'otter' }, 1_000_000, 2);
    expect(stretches).toBeGreaterThanOrEqual(6);
    expect((await find('ferret ott')).toSorted()).toEqual(ferrets.toSorted());
  });

  it('finds a beginning that more words have than are looked up at once', async () => {
    const words = Array.from({ length: 130 }, (_, index) => `kapok${String(index).padStart(3, '0')}`);
    const first = await createConversation(visitor);
    await createMessage(visitor, first, `${words.slice(0, 129).join(' ')} Kapök`);
    const last = await createConversation(visitor);
    await createMessage(visitor, last, words[129]);
    await updateSearchIndex(app.service);
    const endings = (after: string | null, most: number): Promise<string[] | null> =>
      app.service.engine.store.read(({ repositories }) =>
        repositories.search.endings('kapok', organizationId, after, most),
      );
    // The word itself, without its accent, comes first. PostgreSQL finds beginnings by itself.
    expect(await endings(null, 3)).toEqual(hasFolder ? ['kapok', 'kapok000', 'kapok001'] : null);
    expect(await endings('kapok127', 100)).toEqual(hasFolder ? ['kapok128', 'kapok129'] : null);
    expect((await find('kapok')).toSorted()).toEqual([first, last].toSorted());
    expect(await find('kapok129')).toEqual([last]);
    expect(await find('alone kapok')).toEqual([]);
  });

  it.runIf(hasFolder)('lists no word of another organization, and those of several parts', async () => {
    const conversationId = await createConversation(visitor);
    await createMessage(visitor, conversationId, 'zebu.example and zebra');
    const theirs = createVisitor(app, other.application);
    await createMessage(theirs, await createConversation(theirs), 'zebec');
    await updateSearchIndex(app.service);
    const endings = (prefix: string, id: string): Promise<string[] | null> =>
      app.service.engine.store.read(({ repositories }) => repositories.search.endings(prefix, id, null, 10));
    expect(await endings('zeb', organizationId)).toEqual(['zebra', 'zebu', 'zebu\u02bcexample']);
    expect(await endings('zeb', other.id)).toEqual(['zebec']);
    // What joins parts is a letter of the index.
    expect(await endings('zebu.ex', organizationId)).toEqual(['zebu\u02bcexample']);
    expect(await find('zebu.ex')).toEqual([conversationId]);
    expect(await find('example.zeb')).toEqual([]);
  });

  it('has its words as the tokenizer leaves them, letter by letter', () => {
    const db = new Database(':memory:');
    try {
      db.exec("create virtual table words using fts5(text, tokenize = 'unicode61 remove_diacritics 2')");
      db.exec('create virtual table found using fts5vocab(words, instance)');
      const insert = db.prepare('insert into words (rowid, text) values (?, ?)');
      const letters = new Map<number, string>();
      for (let code = 0x30; code < 0x20000; code += 1) {
        if (code >= 0xd800 && code < 0xe000) continue;
        const [word = ''] = tokenize(`a${String.fromCodePoint(code)}b`);
        if (asTokenized(word) !== null) letters.set(code, word);
      }
      expect(letters.size).toBeGreaterThan(50_000);
      db.transaction(() => {
        for (const [code, word] of letters) insert.run(code, word);
      })();
      const terms = db
        .prepare<[], { doc: number; terms: string }>(
          "select doc, group_concat(term, ' ') as terms from found group by doc",
        )
        .all();
      expect(terms.filter(({ doc, terms: all }) => all !== asTokenized(letters.get(doc) ?? ''))).toEqual([]);
      expect(terms.length).toBe(letters.size);
    } finally {
      db.close();
    }
  });
});

describe('a query', () => {
  it('has every word that was typed, the last as a beginning', () => {
    expect(searchQuery('say "hi" AND bye')).toEqual({ words: ['say', 'hi', 'and'], prefix: 'bye' });
    expect(searchQuery('…')).toBeNull();
    expect(tokenize('Größe XL')).toEqual(['größe', 'xl']);
  });
});
