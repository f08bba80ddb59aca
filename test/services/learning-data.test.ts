// Owns: what becomes of what was learnt when data are exported, imported, erased and grow old. The questions are visitors'
// words and go with them; what a person kept is a document of the team and stays until it or its application goes.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { sizeLimits } from '../../src/protocol/codes.ts';
import { rechunkStaleDocuments } from '../../src/services/assistant/knowledge/documents.ts';
import { exportOrganization } from '../../src/services/data/export.ts';
import { importOrganization } from '../../src/services/data/import.ts';
import { purge } from '../../src/services/data/retention.ts';
import { startApp, type TestApp } from '../helpers/app.ts';
import { createShop } from '../helpers/assistant.ts';
import { request } from '../helpers/client.ts';
import { rowsOf } from '../helpers/database.ts';
import {
  createMember,
  createVisitor,
  createVisitorByKey,
  type TestClient,
  type TestOrganization,
} from '../helpers/fixtures.ts';

const day = 86_400_000;
const wonky = 'My doodad is wonky, what now?';
const wrap = 'Do you wrap gifts?';
let app: TestApp;
let shop: TestOrganization;
let applicationId: string;

beforeAll(async () => {
  app = await startApp();
  shop = await createShop(app, 'shop', 'assist');
  applicationId = shop.application.id;
});
afterAll(() => app.stop());

const callOn = ({ service }: TestApp) =>
  ({ service, actor: { kind: 'local' }, address: null, contentLimit: sizeLimits.contentRest }) as const;
const ask = async (visitor: TestClient, question: string) =>
  (await visitor.call('POST', '/ai/answer', { question })).body;
const gapsOf = async (on: TestApp) =>
  (await on.local('knowledge.gaps', { applicationId })).gaps.map(({ question }) => question);
const firstFor = async (on: TestApp, query: string) =>
  (await on.local('knowledge.search', { applicationId, query })).passages[0];

/** Keeps a reply, and a question with the passage about refunds, and settles what asked for the reply. */
async function teach(): Promise<void> {
  const gaps = (await app.local('knowledge.gaps', { applicationId })).gaps;
  await app.local('knowledge.keepReply', {
    applicationId,
    question: wrap,
    reply: 'We wrap any parcel as a gift for 3 euros: tick Gift wrap in the cart.',
    settles: gaps.filter(({ question }) => question === wrap).flatMap(({ entries }) => entries),
  });
  const { passages } = await app.local('knowledge.search', { applicationId, query: 'return a product' });
  await app.local('knowledge.keepQuestion', {
    applicationId,
    passageId: passages[0]?.id ?? '',
    question: wonky,
  });
}

test('an export has what a person kept, and another server learns it from there; the log stays where it is', async () => {
  const visitor = createVisitor(app, shop.application);
  await ask(visitor, wrap);
  await ask(visitor, 'Which quantum telescopes do you stock?');
  await teach();
  expect(await gapsOf(app)).toEqual(['Which quantum telescopes do you stock?']);

  const lines: string[] = [];
  await exportOrganization(callOn(app), shop.id, async (line) => void lines.push(line));
  const target = await startApp();
  try {
    await importOrganization(callOn(target), async function* () {
      yield* lines;
    });
    await rechunkStaleDocuments(target.service);
    expect(lines.join('\n')).not.toContain('quantum');
    expect(await gapsOf(target)).toEqual([]);
    expect(await firstFor(target, 'gift wrap a parcel')).toMatchObject({ title: wrap });
    // The question is a heading of the passage in the index of the other server, too.
    expect(await firstFor(target, 'wonky doodad')).toMatchObject({ title: 'Refunds' });
    const document = (await firstFor(target, 'wonky doodad'))?.documentId ?? '';
    const { questions } = await target.local('knowledge.questions', { documentId: document });
    expect(questions.map(({ question }) => question)).toEqual([wonky]);
  } finally {
    await target.stop();
  }
});

test("an erased visitor's questions are no gaps any more; what a person kept stays", async () => {
  const visitor = createVisitorByKey(app, shop.application);
  await visitor.call('PUT', '/visitor', { name: 'Vera' });
  await ask(visitor, 'Have you got left-handed zeppelins?');
  expect(await gapsOf(app)).toContain('Have you got left-handed zeppelins?');
  const admin = await createMember(app, 'shop', 'admin');
  const [row] = await rowsOf(app, "select id from visitors where name = 'Vera'");
  const path = `/api/v1/admin/visitors/${visitor.id}?applicationId=${applicationId}`;
  const exported = await request(app.url, 'GET', path, admin.headers);
  expect(exported.text).toContain('left-handed zeppelins');
  expect((await request(app.url, 'DELETE', path, admin.headers)).status).toBe(200);
  expect(await rowsOf(app, `select * from ai_log where visitor_key = '${String(row?.['id'])}'`)).toEqual([]);
  expect(await gapsOf(app)).toEqual(['Which quantum telescopes do you stock?']);
  expect(await firstFor(app, 'wonky doodad')).toMatchObject({ title: 'Refunds' });
});

test('gaps grow old as messages do; what was kept stays', async () => {
  app.clock.step(364 * day);
  await purge(app.service);
  expect(await gapsOf(app)).toEqual(['Which quantum telescopes do you stock?']);
  app.clock.step(2 * day);
  await purge(app.service);
  expect(await gapsOf(app)).toEqual([]);
  expect(await firstFor(app, 'gift wrap a parcel')).toMatchObject({ title: wrap });
  expect(await firstFor(app, 'wonky doodad')).toMatchObject({ title: 'Refunds' });
});

test('what was kept goes with its document, and all of it with its application', async () => {
  const questions = () => rowsOf(app, `select * from knowledge_questions`);
  expect(await questions()).toHaveLength(1);
  const refunds = await firstFor(app, 'wonky doodad');
  await app.local('knowledge.remove', { documentId: refunds?.documentId ?? '' });
  expect(await questions()).toEqual([]);
  await app.local('applications.delete', { applicationId });
  for (const table of ['knowledge_documents', 'knowledge_passages', 'knowledge_scopes', 'ai_log'])
    expect(
      await rowsOf(app, `select * from ${table} where application_id = '${applicationId}'`),
      table,
    ).toEqual([]);
});
