// Search never meets another tenant's words, neither in what it finds nor in how long it takes.
import Database from 'better-sqlite3';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { tokenize, updateSearchIndex } from '../../src/services/chat/search.ts';
import { startApp, type TestApp } from '../helpers/app.ts';
import {
  createConversation,
  createMember,
  createMessage,
  createOrganization,
  createVisitor,
  type TestMember,
  type TestOrganization,
} from '../helpers/fixtures.ts';

const many = 20_000;

let app: TestApp;
let beta: TestOrganization;
let spy: TestMember;

beforeAll(async () => {
  app = await startApp();
  const alpha = await createOrganization(app, 'alpha');
  beta = await createOrganization(app, 'beta');
  spy = await createMember(app, 'alpha');
  const own = createVisitor(app, alpha.application);
  await createMessage(own, await createConversation(own), 'an ordinary question');
  const visitor = createVisitor(app, beta.application);
  const conversationId = await createConversation(visitor);
  const template = await createMessage(visitor, conversationId, 'merger insolvency');
  await updateSearchIndex(app.service);
  await fill(template);
});
afterAll(() => app.stop());

/** Copies one message and its words many times, a few hundred at once. */
async function fill(template: string): Promise<void> {
  const { store, clock } = app.service.engine;
  const words = tokenize('merger insolvency');
  for (let from = 0; from < many; from += 500)
    await store.write({ organization: beta.id }, async ({ repositories }) => {
      const row = (await repositories.messages.byId(template))!;
      const scope = await repositories.search.scopeOf(beta.id);
      for (let at = from; at < from + 500; at += 1) {
        const id = clock.newId();
        const { visitor_name: _visitor, member_name: _member, ...message } = row;
        await repositories.messages.append({ ...message, id, client_message_id: null }, 'visitor');
        await repositories.search.put(scope, id, words);
      }
    });
}

it('every indexed word begins with its organization, and so does each part that one has', async () => {
  const visitor = createVisitor(app, beta.application);
  const conversationId = await createConversation(visitor);
  // An apostrophe, a host, vowel signs, a character that joins: SQLite's tokenizer parts words at all of these.
  const texts = [
    "I don't l’avion",
    'zoe@www.example.com __init__ v1.2,3',
    'พัสดุของฉันยังไม่มาถึง',
    'नहीं मिला',
    'طَلَبِي',
    'می\u200cخواهم',
    'Ḁ̇x̌y 5️⃣ ᦰᦱ',
  ];
  for (const text of texts) await createMessage(visitor, conversationId, text);
  await updateSearchIndex(app.service);
  const database = new Database(join(app.folder, 'deskbell.db'), { readonly: true });
  database.exec("create virtual table temp.words using fts5vocab('main', 'search', 'row')");
  const terms = database.prepare('select term from temp.words').pluck().all() as string[];
  database.close();
  expect(terms.length).toBeGreaterThan(3);
  for (const term of terms) expect(term).toMatch(/^\d+x[\p{L}\p{N}\p{Co}]/u);
});

it('every trigram of a subject, a name or an address begins with its organization', async () => {
  const ids: string[] = [];
  for (const slug of ['gamma', 'delta']) {
    const { id, application } = await createOrganization(app, slug);
    const visitor = createVisitor(app, application);
    await visitor.call('PUT', '/visitor', { name: 'Ada' });
    await createConversation(visitor, 'A subject');
    ids.push(id);
  }
  const database = new Database(join(app.folder, 'deskbell.db'), { readonly: true });
  for (const index of ['subjects', 'visitors']) {
    const terms = database.prepare(`select distinct term from search_${index}_vocabulary`).pluck().all();
    const begin = ids.map((id) => `${id.slice(-12)}x`);
    for (const own of begin) expect(terms.some((term) => String(term).startsWith(own))).toBe(true);
    for (const term of terms) expect(begin).toContain(String(term).slice(0, 13));
  }
  database.close();
});

it('takes as long for a word of another tenant as for a word that is in no message', async () => {
  const search = async (q: string): Promise<number> => {
    const before = process.cpuUsage();
    const { body } = await spy.call('GET', `/conversations?q=${q}`);
    expect(body.total).toBe(0);
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1_000;
  };
  const medians: Record<string, number> = {};
  const times: Record<string, number[]> = { insolvency: [], unheardof: [] };
  for (let round = 0; round < 40; round += 1)
    for (const word of Object.keys(times)) times[word]?.push(await search(word));
  for (const [word, all] of Object.entries(times)) medians[word] = all.toSorted((a, b) => a - b)[20] ?? 0;
  const { insolvency = 0, unheardof = 0 } = medians;
  process.stdout.write(
    `search among ${many} foreign messages: ${insolvency.toFixed(2)} ms for their word, ${unheardof.toFixed(2)} ms for none\n`,
  );
  // Forty times as long where the words of others are met first.
  expect(insolvency).toBeLessThan(2 * unheardof + 5);
});
