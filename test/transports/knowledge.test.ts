// Attacks the knowledge of an organization over REST: by admins of another, by operators,
// by ids that are none, by bodies that are too much.
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startApp, type TestApp } from '../helpers/app.ts';
import { ask as asked, stored } from '../helpers/rest-checks.ts';
import type { Reply } from '../helpers/client.ts';
import {
  createMember,
  createApplication,
  createOrganization,
  createVisitor,
  type TestClient,
  type TestMember,
  type TestOrganization,
} from '../helpers/fixtures.ts';

let app: TestApp;
let acme: TestOrganization;
let other: TestOrganization;
let admin: TestMember;
let stranger: TestMember;
let ours = '';
let theirs = '';

beforeAll(async () => {
  app = await startApp();
  acme = await createOrganization(app, 'acme');
  other = await createOrganization(app, 'other');
  admin = await createMember(app, 'acme', 'admin');
  stranger = await createMember(app, 'other', 'admin');
  ours = (
    await ask(admin, 'POST', '/knowledge', {
      applicationId: acme.application.id,
      source: 'a',
      content: 'Refunds take CANARY-ACME days.',
    })
  ).body.document.id;
  theirs = (
    await ask(stranger, 'POST', '/knowledge', {
      applicationId: other.application.id,
      source: 'a',
      content: 'Refunds take CANARY-OTHER days.',
    })
  ).body.document.id;
});
afterAll(() => app.stop());

const ask = (who: TestClient, method: string, path: string, body?: object): Promise<Reply> =>
  asked(app, who, method, `/admin${path}`, body);

describe('knowledge over REST', () => {
  it('has a source as long as an index can hold it, in every script', async () => {
    // No two letters alike: what repeats would be stored shorter.
    const letters = (count: number): string =>
      Array.from({ length: count }, (_, at) => String.fromCharCode(0x4e00 + ((at * 7_919) % 20_000))).join(
        '',
      );
    const addAs = (source: string): Promise<Reply> =>
      ask(admin, 'POST', '/knowledge', { applicationId: acme.application.id, source, content: 'A wombat.' });
    for (const source of [letters(800), 'a'.repeat(2_000)]) {
      const added = await addAs(source);
      expect([added.status, added.body.document?.source]).toEqual([201, source]);
      expect((await ask(admin, 'DELETE', `/knowledge/${added.body.document.id}`)).status).toBe(200);
    }
    for (const source of [letters(801), letters(2_000)]) {
      const refused = await addAs(source);
      expect([refused.status, refused.body.details?.[0]?.path]).toEqual([400, 'source']);
      expect(refused.body.message).toContain('must have at most 2400 bytes in UTF-8');
    }
    expect((await addAs('a'.repeat(2_001))).body.message).toContain('must have at most 2000 characters');
  });

  it('is added, updated, listed, shown, searched and removed', async () => {
    const body = {
      applicationId: acme.application.id,
      source: 'faq.md',
      content: '# FAQ\n\nThe wombat sleeps.',
      url: 'https://acme.example/faq',
    };
    const added = await ask(admin, 'POST', '/knowledge', body);
    expect(added.status).toBe(201);
    expect(added.body.document).toMatchObject({ change: 'added', title: 'FAQ', passages: 1 });
    expect((await ask(admin, 'POST', '/knowledge', body)).body.document.change).toBe('unchanged');
    expect((await ask(admin, 'POST', '/knowledge', { ...body, content: 'new' })).body.document).toMatchObject(
      {
        change: 'updated',
        id: added.body.document.id,
      },
    );
    const { body: listed } = await ask(
      admin,
      'GET',
      `/knowledge?applicationId=${acme.application.id}&limit=1&offset=1`,
    );
    expect(listed).toMatchObject({ total: 2, limit: 1, offset: 1, documents: [{ source: 'faq.md' }] });
    expect(JSON.stringify(listed)).not.toContain('"content"');
    expect((await ask(admin, 'GET', `/knowledge/${added.body.document.id}`)).body.document.content).toBe(
      'new',
    );
    const found = await ask(admin, 'POST', '/knowledge/search', {
      applicationId: acme.application.id,
      query: 'new',
    });
    expect(found.body.passages[0]).toMatchObject({
      title: 'faq',
      text: 'new',
      url: 'https://acme.example/faq',
      coverage: 1,
    });
    expect((await ask(admin, 'DELETE', `/knowledge/${added.body.document.id}`)).body).toEqual({
      success: true,
    });
    expect((await ask(admin, 'GET', `/knowledge/${added.body.document.id}`)).status).toBe(404);
  });

  it('sets synonyms', async () => {
    const path = `/applications/${acme.application.id}/synonyms`;
    expect((await ask(admin, 'PUT', path, { synonyms: [['a', 'b']] })).body).toEqual({
      synonyms: [['a', 'b']],
    });
    expect((await ask(admin, 'GET', path)).body).toEqual({ synonyms: [['a', 'b']] });
    expect((await ask(admin, 'PUT', path, { synonyms: [['a']] })).status).toBe(400);
    expect((await ask(admin, 'PUT', path, { synonyms: 'a' })).status).toBe(400);
  });

  it('is not there for another organization, and nothing of it changes', async () => {
    const before = await stored(app);
    const replies = [
      await ask(stranger, 'GET', `/knowledge/${ours}`),
      await ask(stranger, 'DELETE', `/knowledge/${ours}`),
      await ask(stranger, 'GET', `/knowledge?applicationId=${acme.application.id}`),
      await ask(stranger, 'GET', '/knowledge?organization=acme'),
      await ask(stranger, 'POST', '/knowledge', {
        applicationId: acme.application.id,
        source: 'a',
        content: 'evil',
      }),
      await ask(stranger, 'POST', '/knowledge/search', {
        applicationId: acme.application.id,
        query: 'refunds',
      }),
      await ask(stranger, 'GET', `/applications/${acme.application.id}/synonyms`),
      await ask(stranger, 'PUT', `/applications/${acme.application.id}/synonyms`, { synonyms: [] }),
      await ask(stranger, 'GET', `/knowledge/${randomUUID()}`),
      await ask(stranger, 'GET', '/knowledge/no-id'),
    ];
    for (const [index, reply] of replies.entries()) {
      expect(reply.status, String(index)).toBe(404);
      expect(reply.text).not.toContain('CANARY-ACME');
    }
    expect(await stored(app)).toEqual(before);
    expect(
      (await ask(stranger, 'GET', '/knowledge')).body.documents.map((one: { id: string }) => one.id),
    ).toEqual([theirs]);
  });

  it('of one application is not found by another of the same organization', async () => {
    const second = await createApplication(app, 'acme', 'second.example');
    const found = await ask(admin, 'POST', '/knowledge/search', {
      applicationId: second.id,
      query: 'refunds',
    });
    expect(found.body.passages).toEqual([]);
  });

  it('is closed to operators and visitors', async () => {
    const operator = await createMember(app, 'acme');
    for (const [method, path, body] of [
      ['GET', '/knowledge'],
      ['POST', '/knowledge', { applicationId: acme.application.id, source: 'x', content: 'x' }],
      ['POST', '/knowledge/search', { applicationId: acme.application.id, query: 'refunds' }],
      ['DELETE', `/knowledge/${ours}`],
    ] as const) {
      expect((await ask(operator, method, path, body)).status, path).toBe(403);
      expect((await ask(createVisitor(app, acme.application), method, path, body)).status, path).toBe(401);
    }
  });

  it('says what is wrong with a document, and takes none that is too large', async () => {
    const post = (change: object) =>
      ask(admin, 'POST', '/knowledge', {
        applicationId: acme.application.id,
        source: 'b',
        content: 'text',
        ...change,
      });
    for (const change of [
      { source: '' },
      { source: 'x'.repeat(2_001) },
      { content: '' },
      { content: '<!-- -->' },
      { content: 'a\u0000b' },
      { format: 'pdf' },
      { url: 'javascript:alert(1)' },
      { title: 'x'.repeat(201) },
      { applicationId: 'x' },
    ]) {
      const reply = await post(change);
      expect(reply.status, JSON.stringify(change).slice(0, 60)).toBe(400);
      expect(reply.body.details[0].path).toBe(Object.keys(change)[0]);
    }
    expect((await post({ content: 'x'.repeat(70_000) })).status).toBe(413);
    expect((await post({ content: `${'<div>'.repeat(5_000)}x`, format: 'html' })).status).toBe(400);
  });

  it('needs a plan with the assistant', async () => {
    await createOrganization(app, 'poor', 'free');
    const owner = await createMember(app, 'poor', 'admin');
    const { id } = (await app.local('applications.list', { organization: 'poor' })).applications[0]!;
    const reply = await ask(owner, 'POST', '/knowledge', { applicationId: id, source: 'a', content: 'a' });
    expect(reply.status).toBe(403);
    expect(reply.body.error).toBe('plan_limit');
  });
});
