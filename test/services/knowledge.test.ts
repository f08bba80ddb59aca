// Attacks the rules of knowledge: updating in place, all or nothing, plans, tenants,
// traces, what falls with what, and the journey to another server.
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { exportOrganization } from '../../src/services/data/export.ts';
import { importOrganization } from '../../src/services/data/import.ts';
import { ServiceError } from '../../src/services/core/errors.ts';
import { chunkInTurn } from '../../src/services/assistant/knowledge/chunking/chunk-in-turn.ts';
import { QueueFullError } from '../../src/net/fair-limit.ts';
import { rechunkStaleDocuments } from '../../src/services/assistant/knowledge/documents.ts';
import { hasFolder, startApp, type TestApp } from '../helpers/app.ts';
import { rowsOf } from '../helpers/database.ts';
import { eventually } from '../helpers/eventually.ts';
import { createOrganization, type TestOrganization } from '../helpers/fixtures.ts';

let app: TestApp;
let acme: TestOrganization;
let names = 0;

beforeAll(async () => {
  app = await startApp();
});
afterAll(() => app.stop());
beforeEach(async () => {
  acme = await createOrganization(app, `shop-${(names += 1)}`);
});

const add = (
  source: string,
  content: string,
  more: { title?: string; url?: string | null; format?: 'markdown' | 'html' | 'text' } = {},
  on = app,
) => on.local('knowledge.add', { applicationId: acme.application.id, source, content, ...more });
const list = async () =>
  (await app.local('knowledge.list', { applicationId: acme.application.id })).documents;
const search = async (query: string, on = app): Promise<string[]> =>
  (await on.local('knowledge.search', { applicationId: acme.application.id, query })).passages.map(
    ({ text }) => text,
  );
const indexRows = async (): Promise<Record<string, unknown>[]> =>
  await rowsOf(
    app,
    `select k.id, k.text, s.words from knowledge_passages k left join knowledge_search s on s.rowid = k.row where k.application_id = '${acme.application.id}' order by k.row`,
  );
/** Rows of the index that belong to no passage. */
const strays = async (): Promise<unknown[]> =>
  await rowsOf(
    app,
    'select rowid from knowledge_search where rowid not in (select row from knowledge_passages)',
  );

async function codeOf(work: Promise<unknown>): Promise<string> {
  return work.then(
    () => 'done',
    (error: unknown) => (error instanceof ServiceError ? error.code : String(error)),
  );
}

describe('adding', () => {
  it('the same source again updates in place: same id, new passages, nothing left of the old ones', async () => {
    const first = await add('a.md', '# A\n\nThe wombat sleeps.\n\n## Two\n\nThe wombat eats.', {
      url: 'https://a.example/x',
    });
    expect(first).toMatchObject({
      change: 'added',
      title: 'A',
      source: 'a.md',
      passages: 2,
      url: 'https://a.example/x',
      format: 'markdown',
    });
    app.clock.step(1_000);
    const second = await add('a.md', '# A\n\nThe capybara swims.');
    expect(second).toMatchObject({
      id: first.id,
      change: 'updated',
      passages: 1,
      url: 'https://a.example/x',
      createdAt: first.createdAt,
    });
    expect(second.updatedAt).not.toBe(first.updatedAt);
    expect(await search('wombat')).toEqual([]);
    expect(await search('capybara')).toEqual(['The capybara swims.']);
    expect(await list()).toHaveLength(1);
    expect(await strays()).toEqual([]);
  });

  it('what is unchanged changes nothing: no row, no time, no trace', async () => {
    await add('a.md', '# A\n\nText.', { url: 'https://a.example/' });
    const before = [
      await rowsOf(app, 'select * from knowledge_documents'),
      await indexRows(),
      await rowsOf(app, 'select id from audit'),
    ];
    app.clock.step(1_000);
    expect((await add('a.md', '# A\n\nText.', { url: 'https://a.example/' })).change).toBe('unchanged');
    expect((await add('a.md', '# A\n\nText.')).change).toBe('unchanged');
    expect([
      await rowsOf(app, 'select * from knowledge_documents'),
      await indexRows(),
      await rowsOf(app, 'select id from audit'),
    ]).toEqual(before);
    expect((await add('a.md', '# A\n\nText.', { url: null })).change).toBe('updated');
    expect((await add('a.md', '# A\n\nText.', { url: null, title: 'B' })).change).toBe('updated');
    expect((await add('a.md', '# A\n\nText.', { format: 'text', title: 'B' })).change).toBe('updated');
  });

  it('twice at once is once', async () => {
    const changes = (await Promise.all(Array.from({ length: 20 }, () => add('a.md', '# A\n\nText.')))).map(
      ({ change }) => change,
    );
    expect(changes.filter((change) => change === 'added')).toHaveLength(1);
    expect(await list()).toHaveLength(1);
    expect(await indexRows()).toHaveLength(1);
  });

  it('refuses what can neither be found nor stored, and keeps what was there', async () => {
    await add('a.md', 'The wombat sleeps.');
    for (const [content, more] of [
      ['<!-- nothing -->', {}],
      ['   ', {}],
      ['\u200b\u2060', {}],
      ['a\u0000b', {}],
      ['a\ud800b', {}],
      [`${'<div>'.repeat(5_000)}x`, { format: 'html' as const }],
      ['text', { url: 'javascript:alert(1)' }],
      ['text', { url: 'mailto:a@b.example' }],
      ['text', { url: 'https://user:pass@a.example/' }],
      ['text', { url: '/relative' }],
      ['x'.repeat(2_000_001), {}],
    ] as const)
      expect(await codeOf(add('a.md', content, more)), JSON.stringify([content.slice(0, 20), more])).toBe(
        'bad_request',
      );
    expect(await search('wombat')).toEqual(['The wombat sleeps.']);
  });

  it('takes a source for a label, never for a path', async () => {
    for (const source of [
      '../../etc/passwd',
      '/etc/passwd',
      "'; drop table knowledge_documents; --",
      '﷽'.repeat(100),
      'https://a.example/?q=1#x',
    ])
      expect((await add(source, `about ${source}`)).source).toBe(source);
    expect(await list()).toHaveLength(5);
  });

  it('takes a document of two million characters', async () => {
    const line = 'All work and no play makes the wombat a dull marsupial. ';
    const content = `${line.repeat(35_000)}\n\n## Needle\n\nThe needle is a capybara.`.slice(-2_000_000);
    const { passages } = await add('long.md', content);
    expect(passages).toBeGreaterThan(1_600);
    expect(await search('capybara needle')).toContain('The needle is a capybara.');
    expect((await app.local('knowledge.remove', { documentId: (await list())[0]!.id })).success).toBe(true);
    expect(await strays()).toEqual([]);
  });

  it('leaves a trace without the content', async () => {
    const { id } = await add('a.md', 'SECRETSONG text', { title: 'T' });
    await app.local('knowledge.setSynonyms', {
      applicationId: acme.application.id,
      synonyms: [['SECRETSONG', 'bird']],
    });
    await app.local('knowledge.remove', { documentId: id });
    const rows = await rowsOf(
      app,
      `select action, actor, subject, detail from audit where action like 'knowledge.%' and organization_id = '${acme.id}' order by rowid`,
    );
    expect(rows.map((row) => row['action'])).toEqual([
      'knowledge.add',
      'knowledge.setSynonyms',
      'knowledge.remove',
    ]);
    expect(
      rows.every(
        (row) => row['actor'] === 'local' && row['subject'] === `application:${acme.application.id}`,
      ),
    ).toBe(true);
    expect(JSON.stringify(rows)).not.toContain('SECRETSONG');
    expect(JSON.parse(String(rows[0]?.['detail']))).toEqual({
      document: id,
      source: 'a.md',
      change: 'added',
    });
  });
});

describe('a plan without the assistant', () => {
  it('adds and asks nothing, but shows and removes what there is', async () => {
    const { id } = await add('a.md', 'The wombat sleeps.');
    await app.local('organizations.update', { organization: acme.slug, plan: 'free' });
    const { id: applicationId } = acme.application;
    expect(await codeOf(add('b.md', 'text'))).toBe('plan_limit');
    expect(await codeOf(search('wombat'))).toBe('plan_limit');
    expect(await codeOf(app.local('knowledge.setSynonyms', { applicationId, synonyms: [] }))).toBe(
      'plan_limit',
    );
    expect(await list()).toHaveLength(1);
    expect((await app.local('knowledge.get', { documentId: id })).content).toBe('The wombat sleeps.');
    expect((await app.local('knowledge.synonyms', { applicationId })).synonyms).toEqual([]);
    await app.local('knowledge.remove', { documentId: id });
    expect(await list()).toEqual([]);
  });
});

describe('what falls', () => {
  it('with its document, application, organization: passages, words, synonyms, and nothing of the other', async () => {
    const other = await createOrganization(app, `shop-${(names += 1)}`);
    await app.local('knowledge.add', {
      applicationId: other.application.id,
      source: 'a.md',
      content: 'The wombat stays.',
    });
    await add('a.md', 'The CANARYDOCUMENT sings.', { title: 'CANARYTITLE' });
    await app.local('knowledge.setSynonyms', {
      applicationId: acme.application.id,
      synonyms: [['CANARYWORD', 'bird']],
    });
    await app.local('applications.delete', { applicationId: acme.application.id });
    for (const table of [
      'knowledge_documents',
      'knowledge_passages',
      'knowledge_search',
      // Where SQLite keeps what it indexes.
      ...(hasFolder ? ['knowledge_search_content'] : []),
      'knowledge_synonyms',
      'knowledge_scopes',
    ])
      expect(JSON.stringify(await rowsOf(app, `select * from ${table}`)).toLowerCase(), table).not.toContain(
        'canary',
      );
    expect(await strays()).toEqual([]);
    expect(
      (await app.local('knowledge.search', { applicationId: other.application.id, query: 'wombat' }))
        .passages,
    ).toHaveLength(1);
    await app.local('organizations.delete', { organization: other.slug });
    expect(
      await rowsOf(app, `select * from knowledge_passages where application_id = '${other.application.id}'`),
    ).toEqual([]);
    if (hasFolder)
      await rowsOf(app, "insert into knowledge_search(knowledge_search, rank) values ('integrity-check', 0)");
  });

  it.runIf(hasFolder)('leaves no byte in the file', async () => {
    await add('b.md', 'The wombat stays.');
    // A word that no stem shortens: what the index keeps of it is it.
    await add('a.md', 'The QWXZ7CANARY sings.');
    await app.local('knowledge.remove', { documentId: (await list())[0]!.id });
    await app.service.engine.maintenance.clearRemoved();
    const { readFile } = await import('node:fs/promises');
    const { join } = await import('node:path');
    expect((await readFile(join(app.folder, 'deskbell.db'))).toString('latin1').toLowerCase()).not.toContain(
      'qwxz7canar',
    );
  });
});

describe('synonyms', () => {
  it('are set as a whole and refused without a word', async () => {
    const { id: applicationId } = acme.application;
    const lines = [
      ['refund', 'money back'],
      ['退款', '退钱'],
    ];
    expect((await app.local('knowledge.setSynonyms', { applicationId, synonyms: lines })).synonyms).toEqual(
      lines,
    );
    expect((await app.local('knowledge.synonyms', { applicationId })).synonyms).toEqual(lines);
    for (const synonyms of [
      [['refund', '???']],
      [['one']],
      [['a', '']],
      Array.from({ length: 501 }, () => ['a', 'b']),
    ])
      expect(await codeOf(app.local('knowledge.setSynonyms', { applicationId, synonyms }))).toBe(
        'bad_request',
      );
    expect((await app.local('knowledge.synonyms', { applicationId })).synonyms).toEqual(lines);
  });
});

describe('passages of another edition', () => {
  it('are cut anew by the server, with the title that was given, and only once', async () => {
    await add('a.md', '# Heading\n\nThe wombat sleeps.', { title: 'Given' });
    await add('b.html', '<p>The capybara swims.', { format: 'html' });
    await rowsOf(
      app,
      `update knowledge_documents set edition = 0 where application_id = '${acme.application.id}'`,
    );
    await rowsOf(app, `delete from knowledge_passages where application_id = '${acme.application.id}'`);
    expect(await search('wombat')).toEqual([]);
    await eventually(async () => {
      app.clock.advance(5_000);
      expect(await search('wombat')).toEqual(['The wombat sleeps.']);
      expect(await search('capybara')).toEqual(['The capybara swims.']);
    });
    expect((await list())[0]).toMatchObject({ title: 'Given' });
    const before = await indexRows();
    expect(before).toHaveLength(2);
    await rechunkStaleDocuments(app.service);
    expect(await indexRows()).toEqual(before);
  });

  it('one that finds no turn now is cut by a later run, and those behind it now', async () => {
    const long = `The wombat sleeps.\n\n${'word '.repeat(4_000)}`;
    await add('long.md', long);
    await add('short.md', 'The capybara swims.');
    await rowsOf(
      app,
      `update knowledge_documents set edition = 0 where application_id = '${acme.application.id}'`,
    );
    await rowsOf(app, `delete from knowledge_passages where application_id = '${acme.application.id}'`);
    const cutting = Array.from({ length: 9 }, () =>
      chunkInTurn(app.service, acme.id, { source: 'x', format: 'text', content: long }),
    );
    await expect(rechunkStaleDocuments(app.service)).rejects.toThrow(QueueFullError);
    expect(await search('capybara')).toEqual(['The capybara swims.']);
    expect(await search('wombat')).toEqual([]);
    await Promise.all(cutting);
    await rechunkStaleDocuments(app.service);
    expect(await search('wombat')).toHaveLength(1);
  });
});

describe('export and import', () => {
  async function exported(): Promise<string[]> {
    const lines: string[] = [];
    await exportOrganization(
      { service: app.service, actor: { kind: 'local' }, address: null, contentLimit: 0 },
      acme.slug,
      async (line) => void lines.push(line),
    );
    return lines;
  }
  const importInto = (target: TestApp, lines: readonly string[]) =>
    importOrganization(
      { service: target.service, actor: { kind: 'local' }, address: null, contentLimit: 0 },
      async function* () {
        yield* lines;
      },
    );

  it('carries documents and synonyms, and the other server finds the same', async () => {
    await add('a.md', '# Refunds\n\n## How long?\n\nThe wombat sleeps.', { url: 'https://a.example/r' });
    await add('zh', '# 退款\n\n十四天内退款。');
    await app.local('knowledge.setSynonyms', {
      applicationId: acme.application.id,
      synonyms: [['wombat', 'fluffy beast']],
    });
    const before = await app.local('knowledge.search', {
      applicationId: acme.application.id,
      query: 'fluffy beast',
    });
    const documents = await list();
    const target = await startApp();
    try {
      // The target's own numbers are taken already.
      const home = await createOrganization(target, 'home');
      await target.local('knowledge.add', {
        applicationId: home.application.id,
        source: 'a',
        content: 'The wombat of CANARY.',
      });
      await importInto(target, await exported());
      const after = await target.local('knowledge.search', {
        applicationId: acme.application.id,
        query: 'fluffy beast',
      });
      expect(after.passages.map(({ id: _new, ...rest }) => rest)).toEqual(
        before.passages.map(({ id: _old, ...rest }) => rest),
      );
      expect(
        (await target.local('knowledge.list', { applicationId: acme.application.id })).documents,
      ).toEqual(documents);
      expect(await search('退款', target)).toEqual(['十四天内退款。']);
      expect(
        (await target.local('knowledge.search', { applicationId: home.application.id, query: 'wombat' }))
          .passages,
      ).toHaveLength(1);
    } finally {
      await target.stop();
    }
  });

  it('refuses a document that reaches elsewhere', async () => {
    await add('a.md', 'The wombat sleeps.', { url: 'https://a.example/r' });
    const lines = await exported();
    const target = await startApp();
    try {
      for (const change of [
        { url: 'javascript:alert(1)' },
        { organization_id: randomUUID() },
        { application_id: randomUUID() },
      ]) {
        const forged = lines.map((line) => {
          const { table, row } = JSON.parse(line) as { table?: string; row?: object };
          return table === 'knowledge_documents'
            ? JSON.stringify({ table, row: { ...row, ...change } })
            : line;
        });
        const { createHash } = await import('node:crypto');
        const hash = createHash('sha256');
        for (const line of forged.slice(0, -1)) hash.update(`${line}\n`);
        forged[forged.length - 1] = JSON.stringify({
          end: true,
          rows: forged.length - 2,
          sha256: hash.digest('hex'),
        });
        expect(await codeOf(importInto(target, forged)), JSON.stringify(change)).toBe('bad_request');
      }
      expect(await rowsOf(target, 'select * from knowledge_documents')).toEqual([]);
    } finally {
      await target.stop();
    }
  });
});
