// Attacks crawls that admins begin over REST, against a real site: what becomes of its pages, who may begin one, where it
// may lead, what a cancel, a stop and the end of an application leave.
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { StoreUnavailableError } from '../../src/engine/engine.ts';
import { crawlLimits } from '../../src/protocol/codes.ts';
import { startApp, type TestApp } from '../helpers/app.ts';
import { ask } from '../helpers/rest-checks.ts';
import { rowsOf } from '../helpers/database.ts';
import { eventually } from '../helpers/eventually.ts';
import { createApplication, createMember, createOrganization, type TestMember } from '../helpers/fixtures.ts';

let app: TestApp;
let admin: TestMember;
let applicationId: string;
let site: Server;
let base: string;
let pages: Record<string, string>;
let asked: string[];
/** Holds the answers to these paths until it is let go. */
let held: Set<string>;
let waiting: (() => void)[];

beforeAll(async () => {
  site = createServer((request, response) => {
    const path = request.url ?? '';
    asked.push(path);
    const page = pages[path];
    const answer = (): void => {
      if (page === undefined) response.writeHead(404).end('no');
      else
        response
          .writeHead(200, { 'content-type': path === '/robots.txt' ? 'text/plain' : 'text/html' })
          .end(page);
    };
    if (held.has(path)) void new Promise<void>((resolve) => waiting.push(resolve)).then(answer);
    else answer();
  });
  await new Promise<void>((resolve) => site.listen(0, '127.0.0.1', resolve));
  base = `http://127.0.0.1:${(site.address() as AddressInfo).port}`;
  app = await startApp({ flags: { crawlPrivate: 'allow' } });
  await createOrganization(app, 'acme');
});

afterAll(async () => {
  await app.stop();
  site.closeAllConnections();
  await new Promise((resolve) => site.close(resolve));
});

beforeEach(async () => {
  asked = [];
  held = new Set();
  waiting = [];
  admin = await createMember(app, 'acme', 'admin');
  applicationId = (await createApplication(app, 'acme', `s${app.clock.newId()}.example`)).id;
  pages = {
    '/': page('Start', '<a href="/one">1</a><a href="/two">2</a><a href="/missing">3</a>'),
    '/one': page('One', 'The wombat sleeps by day.'),
    '/two': page('Two', 'The heron stands on one leg.'),
  };
});

afterEach(async () => {
  letGo();
  await rowsOf(app, `update crawls set status = 'cancelled' where status in ('waiting', 'running')`);
});

function letGo(): void {
  for (const go of waiting.splice(0)) go();
}

const page = (title: string, body: string): string =>
  `<!doctype html><title>${title}</title><h1>${title}</h1><p>${body}</p>`;
type Crawl = Record<string, unknown> & { id: string; status: string };
const path = '/knowledge/crawls';

async function call(method: string, below: string, body?: object, who: TestMember = admin) {
  return ask(app, who, method, `/admin${below}`, body);
}

async function begin(more: object = {}): Promise<Crawl> {
  const { status, body } = await call('POST', path, { applicationId, url: base, ...more });
  expect([status, body]).toMatchObject([201, {}]);
  return body.crawl as Crawl;
}

async function get(id: string): Promise<Crawl> {
  return (await call('GET', `${path}/${id}`)).body.crawl as Crawl;
}

async function ended(id: string): Promise<Crawl> {
  return eventually(async () => {
    const crawl = await get(id);
    expect(crawl.status).not.toMatch(/waiting|running/);
    return crawl;
  });
}

const sources = async (): Promise<string[]> =>
  (await app.local('knowledge.list', { applicationId })).documents.map(({ source }) =>
    source.replace(base, ''),
  );

describe('a crawl', () => {
  it('makes documents of a site, says what became of each page, and updates them the next time', async () => {
    const begun = await begin();
    expect(begun).toMatchObject({
      applicationId,
      url: `${base}/`,
      maxPages: 100,
      depth: 5,
      below: false,
      prune: false,
    });
    expect(await ended(begun.id)).toMatchObject({
      status: 'done',
      problem: null,
      pages: 4,
      added: 3,
      skipped: 1,
      failed: 0,
      left: null,
      problems: [{ url: `${base}/missing` }],
    });
    expect(await sources()).toEqual(['/', '/one', '/two']);
    pages['/one'] = page('One', 'The wombat digs by night.');
    delete pages['/two'];
    const again = await ended((await begin({ prune: true })).id);
    expect(again).toMatchObject({ status: 'done', updated: 1, unchanged: 1, removed: 1, added: 0 });
    expect(await sources()).toEqual(['/', '/one']);
    const { body } = await call('GET', `${path}?applicationId=${applicationId}`);
    expect(body).toMatchObject({ total: 2, crawls: [{ id: again.id }, { id: begun.id }] });
    const log = await rowsOf(app, `select actor, action, detail from audit where action = 'knowledge.crawl'`);
    expect(log.map(({ actor }) => actor)).toEqual([`member:${admin.id}`, `member:${admin.id}`]);
  });

  it('obeys robots.txt, and ends at its number of pages', async () => {
    pages['/robots.txt'] = 'User-agent: *\nDisallow: /one\nCrawl-delay: 0';
    expect(await ended((await begin()).id)).toMatchObject({ status: 'done', added: 2 });
    expect(asked).not.toContain('/one');
    expect(await ended((await begin({ maxPages: 1 })).id)).toMatchObject({ pages: 1, left: 3 });
  });

  it('ends after 30 minutes with what it has, says why and how much is left, and lets others begin', async () => {
    held.add('/two');
    const { id } = await begin();
    await eventually(() => expect(asked).toContain('/two'));
    const other = (await createApplication(app, 'acme', `s${app.clock.newId()}.example`)).id;
    const next = await begin({ applicationId: other, url: `${base}/one` });
    app.clock.advance(30 * 60_000);
    letGo();
    held.clear();
    expect(await ended(id)).toMatchObject({
      status: 'done',
      problem: expect.stringMatching(/30 minutes.*not read: 1\./),
      pages: 3,
      added: 3,
      left: 1,
    });
    expect(await sources()).toEqual(['/', '/one', '/two']);
    expect(asked).not.toContain('/missing');
    expect(await ended(next.id)).toMatchObject({ status: 'done', problem: null, left: null });
  });

  it('whose pages lead to none and take long ends then, too', async () => {
    // All are one page: the walk goes on, and hands nothing over.
    const same = '<!doctype html><link rel="canonical" href="/"><p>Same</p>';
    pages['/'] = `${same}<a href="/one">1</a><a href="/two">2</a>`;
    for (const one of ['/one', '/two']) pages[one] = same;
    held.add('/one');
    const { id } = await begin();
    await eventually(() => expect(asked).toContain('/one'));
    app.clock.advance(30 * 60_000);
    letGo();
    expect(await ended(id)).toMatchObject({ status: 'done', pages: 1, left: 1 });
    expect(asked).not.toContain('/two');
  });

  it('fails with the reason where nothing can be read', async () => {
    pages = {};
    expect(await ended((await begin()).id)).toMatchObject({ status: 'failed', added: 0, failed: 1 });
    expect((await begin({ url: `${base}/nothing` })).status).toBe('waiting');
  });
});

describe('who and where', () => {
  it('only admins of the organization, with a plan that has the assistant, an address of the web, one at a time', async () => {
    const operator = await createMember(app, 'acme');
    expect((await call('POST', path, { applicationId, url: base }, operator)).status).toBe(403);
    for (const url of [
      'ftp://x.example/',
      'javascript:alert(1)',
      'nowhere',
      'https://user:secret@x.example/',
    ])
      expect((await call('POST', path, { applicationId, url })).body).toMatchObject({
        error: 'bad_request',
        details: [{ path: 'url' }],
      });
    held.add('/');
    const first = await begin();
    expect((await call('POST', path, { applicationId, url: base })).body.error).toBe('conflict');
    await call('POST', `${path}/${first.id}/cancel`);
    const theirs = (await createOrganization(app, 'free', 'free')).application;
    const poor = await createMember(app, 'free', 'admin');
    expect((await call('POST', path, { applicationId: theirs.id, url: base }, poor)).body.error).toBe(
      'plan_limit',
    );
    // Another organization's is not there.
    expect((await call('GET', `${path}/${first.id}`, undefined, poor)).status).toBe(404);
    expect((await call('POST', `${path}/${first.id}/cancel`, undefined, poor)).status).toBe(404);
    expect((await call('POST', path, { applicationId, url: base }, poor)).status).toBe(404);
  });

  it('an organization has so many under way', async () => {
    held.add('/');
    const begun: string[] = [];
    for (let n = 0; n < crawlLimits.active; n += 1) {
      const one = await createApplication(app, 'acme', `many${n}.example`);
      const { body } = await call('POST', path, { applicationId: one.id, url: base });
      begun.push(body.crawl.id as string);
    }
    expect((await call('POST', path, { applicationId, url: base })).body.error).toBe('conflict');
    for (const id of begun) await call('POST', `${path}/${id}/cancel`);
    expect((await call('POST', path, { applicationId, url: base })).status).toBe(201);
  });
});

describe('an end before the end', () => {
  it('a cancel leaves what was read, and nothing that comes afterwards', async () => {
    held.add('/two');
    const { id } = await begin();
    await eventually(() => expect(asked).toContain('/two'));
    const { body } = await call('POST', `${path}/${id}/cancel`);
    expect(body.crawl).toMatchObject({ status: 'cancelled', added: 2 });
    letGo();
    held.clear();
    // The next one begins, so that the one before has let go.
    expect(await ended((await begin({ url: `${base}/one` })).id)).toMatchObject({ unchanged: 1 });
    expect(await sources()).toEqual(['/', '/one']);
    expect(await get(id)).toMatchObject({ status: 'cancelled', pages: 2 });
    expect((await call('POST', `${path}/${id}/cancel`)).body.crawl.status).toBe('cancelled');
  });

  it('an application takes its crawl along', async () => {
    held.add('/one');
    const { id } = await begin();
    await eventually(() => expect(asked).toContain('/one'));
    await app.local('applications.delete', { applicationId });
    letGo();
    expect((await call('GET', `${path}/${id}`)).status).toBe(404);
  });

  it('a stop ends although storage refuses to note that it breaks off, and the next start notes it', async () => {
    held.add('/one');
    const { id } = await begin();
    await eventually(() => expect(asked).toContain('/one'));
    const { store } = app.service.engine;
    vi.spyOn(store, 'write').mockRejectedValue(new StoreUnavailableError('The disk is full.'));
    app = await app.restart();
    letGo();
    await eventually(async () => expect(await get(id)).toMatchObject({ status: 'interrupted' }));
  });

  it('a stop breaks it off, a kill too, and what waited goes on', async () => {
    held.add('/one');
    const { id } = await begin();
    await eventually(() => expect(asked).toContain('/one'));
    app = await app.restart();
    expect(await get(id)).toMatchObject({
      status: 'interrupted',
      added: 1,
      problem: expect.stringContaining('again'),
    });
    letGo();
    held.clear();
    // As a kill leaves it, and one that had not begun.
    await rowsOf(app, `update crawls set status = 'running' where id = '${id}'`);
    await rowsOf(
      app,
      `insert into crawls select 'waits', organization_id, application_id, url, max_pages, depth, below, prune, 'waiting', null,
         0, 0, 0, 0, 0, 0, 0, null, '[]', created_at + 1, null, null from crawls where id = '${id}'`,
    );
    app = await app.restart();
    await eventually(async () => {
      const rows = await rowsOf(app, `select id, status from crawls where id in ('${id}', 'waits')`);
      expect(Object.fromEntries(rows.map((row) => [row['id'], row['status']]))).toEqual({
        [id]: 'interrupted',
        waits: 'done',
      });
    });
  });
});

it('reads no private address unless the server’s owner says so, whatever leads there', async () => {
  app = await app.restart({ crawlPrivate: 'refuse' });
  for (const url of [
    base,
    'http://127.1/',
    'http://[::1]/',
    'http://169.254.169.254/latest/',
    'http://0x7f000001/',
  ])
    expect((await call('POST', path, { applicationId, url })).body).toMatchObject({
      error: 'bad_request',
      details: [{ path: 'url', message: expect.stringContaining('DESKBELL_CRAWL_PRIVATE') }],
    });
  const byName = await begin({ url: base.replace('127.0.0.1', 'localhost') });
  expect(await ended(byName.id)).toMatchObject({
    status: 'failed',
    problem: expect.stringContaining('private or local'),
  });
  expect(asked).toEqual([]);
});
