// Attacks the crawl against a real server of ours: it stays on its host and within its
// bounds, obeys robots.txt, reads no private address, and survives whatever a page does.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  crawlSite,
  type CrawledPage,
  type CrawlTruncated,
  type CrawlOptions,
} from '../../src/services/assistant/knowledge/crawl/crawler.ts';
import { createTestClock, type TestClock } from '../helpers/clock.ts';
import { buildDocx, buildPdf, paragraph, pdfLine } from '../helpers/document-files.ts';
import { eventually } from '../helpers/eventually.ts';

type Answer = string | ((request: IncomingMessage, response: ServerResponse) => void);

let server: Server;
let base: string;
let clock: TestClock;
let pages: Record<string, Answer>;
let asked: { path: string; agent: string | undefined }[];
let slept: number[];
let left: CrawlTruncated | null;

beforeEach(async () => {
  pages = {};
  asked = [];
  slept = [];
  clock = createTestClock();
  server = createServer((request, response) => {
    asked.push({ path: request.url ?? '', agent: request.headers['user-agent'] });
    const answer = pages[request.url ?? ''];
    if (answer === undefined) response.writeHead(404).end('no');
    else if (typeof answer === 'function') answer(request, response);
    else response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end(answer);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});

afterEach(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

async function crawl(options: Partial<CrawlOptions> & { path?: string } = {}): Promise<CrawledPage[]> {
  const found: CrawledPage[] = [];
  const { path = '/', ...rest } = options;
  const walk = crawlSite({
    clock,
    start: new URL(path, base),
    maxPages: 50,
    depth: 5,
    withinFolder: false,
    allowPrivate: true,
    userAgent: 'deskbell/0.0.0 (knowledge)',
    knownUrls: [],
    delayMs: 200,
    sleep: async (ms) => void slept.push(ms),
    signal: new AbortController().signal,
    ...rest,
  });
  left = null;
  for await (const page of walk) {
    if (page.kind === 'left') left = page;
    else found.push(page);
  }
  return found;
}

const paths = (found: readonly CrawledPage[], kind: CrawledPage['kind'] = 'page'): string[] =>
  found.filter((page) => page.kind === kind).map(({ url }) => url.replace(base, ''));
const problems = (found: readonly CrawledPage[]): string[] =>
  found.flatMap((page) => ('problem' in page ? [page.problem] : []));

describe('the walk', () => {
  it('follows links of the same host, each page once, however it is written', async () => {
    pages = {
      '/': '<a href="/a#x">a</a><a href="a?utm_source=mail">a</a><a href="/b?y=2&x=1">b</a><a href="/b?x=1&y=2">b</a><a href="//other.example/">no</a><a href="mailto:x@y">no</a><a href="javascript:alert(1)">no</a><a href="/file.zip">no</a><a href="http://[">no</a>',
      '/a': '<a href="/">home</a><a href="./a">me</a><a href="/c" rel="nofollow">no</a>',
      '/b?x=1&y=2': '<base href="/deep/"><a href="d">d</a>',
      '/deep/d': 'D',
    };
    expect(paths(await crawl())).toEqual(['/', '/a', '/b?x=1&y=2', '/deep/d']);
    expect(asked.filter(({ path }) => path === '/a')).toHaveLength(1);
    expect(new Set(asked.map(({ agent }) => agent))).toEqual(new Set(['deskbell/0.0.0 (knowledge)']));
    // Polite: a pause before every page but the first.
    expect(slept).toEqual([200, 200, 200]);
  });

  it('ends: at its number of pages, at its depth, in its folder', async () => {
    pages = new Proxy(
      {},
      {
        get: (_all, path) =>
          String(path) === '/robots.txt' || String(path) === '/sitemap.xml'
            ? undefined
            : `<a href="${String(path).replace(/\/$/, '')}/x">on</a>`,
      },
    );
    expect(await crawl({ maxPages: 7, depth: 100 })).toHaveLength(7);
    expect(left).toEqual({ kind: 'left', waiting: 1 });
    expect(await crawl({ depth: 2 })).toHaveLength(3);
    expect(left).toBeNull();
    pages = { '/docs/a': '<a href="b">b</a><a href="/c">c</a>', '/docs/b': 'b', '/c': 'c' };
    expect(paths(await crawl({ path: '/docs/a', withinFolder: true }))).toEqual(['/docs/a', '/docs/b']);
  });

  it('takes the canonical address of a page, on its own host only', async () => {
    pages = {
      '/': '<a href="/a?session=1">a</a><a href="/a?session=2">a</a><a href="/evil">e</a>',
      '/a?session=1': '<link rel="canonical" href="/a">A',
      '/a?session=2': '<link rel="canonical" href="/a">A',
      '/evil': '<link rel="canonical" href="https://other.example/x">E',
    };
    expect(paths(await crawl())).toEqual(['/', '/a', '/evil']);
  });

  it('uses a sitemap, also one of sitemaps, and nothing foreign in it', async () => {
    const xml =
      (text: string): Answer =>
      (_request, response) =>
        void response.writeHead(200, { 'content-type': 'application/xml' }).end(text);
    pages = {
      '/': 'home',
      '/sitemap.xml': xml(
        `<sitemapindex><sitemap><loc>${base}/pages.xml</loc></sitemap><sitemap><loc>http://other.example/x.xml</loc></sitemap></sitemapindex>`,
      ),
      '/pages.xml': xml(
        `<urlset><url><loc> ${base}/one </loc></url><url><loc>http://127.0.0.2/two</loc></url><url><loc>${base}/two?a=1&amp;b=2</loc></url></urlset>`,
      ),
      '/one': '1',
      '/two?a=1&b=2': '2',
    };
    expect(paths(await crawl())).toEqual(['/', '/one', '/two?a=1&b=2']);
  });

  it('takes of a sitemap without end as many addresses as it looks at, and goes on', async () => {
    const some = Array.from({ length: 300_000 }, (_, at) => `<loc>${at < 2 ? base : ''}/${at}</loc>`).join(
      '',
    );
    pages = {
      '/': '<a href="/linked">linked</a>',
      '/sitemap.xml': (_request, response) =>
        void response.writeHead(200, { 'content-type': 'application/xml' }).end(`<urlset>${some}</urlset>`),
      '/linked': 'l',
      '/0': '0',
      '/1': '1',
    };
    expect(paths(await crawl())).toEqual(['/', '/linked', '/0', '/1']);
  });

  it('stops when it is told to', async () => {
    const stop = new AbortController();
    pages = {
      '/': '<a href="/a">a</a>',
      '/a': (_request, response) => void (stop.abort(), response.end('late')),
    };
    const found = await crawl({ signal: stop.signal });
    expect(paths(found)).toEqual(['/']);
  });
});

describe('robots', () => {
  const robots =
    (text: string, status = 200): Answer =>
    (_request, response) =>
      void response.writeHead(status, { 'content-type': 'text/plain' }).end(text);

  it('txt is obeyed: its rules for us, its pause, its sitemaps', async () => {
    pages = {
      '/robots.txt': robots(
        `User-agent: *\nDisallow: /\n\nUser-agent: deskbell\nDisallow: /secret\nCrawl-delay: 3\nSitemap: ${base}/map.xml`,
      ),
      '/map.xml': (_request, response) =>
        void response
          .writeHead(200, { 'content-type': 'text/xml' })
          .end(`<urlset><loc>${base}/mapped</loc></urlset>`),
      '/': '<a href="/secret/a">s</a><a href="/open">o</a>',
      '/open': 'o',
      '/secret/a': 'CANARY',
      '/mapped': 'm',
    };
    expect(paths(await crawl())).toEqual(['/', '/open', '/mapped']);
    expect(asked.map(({ path }) => path)).not.toContain('/secret/a');
    expect(slept).toEqual([3_000, 3_000]);
  });

  it('txt is obeyed behind a redirect', async () => {
    pages = {
      '/robots.txt': robots('User-agent: *\nDisallow: /secret'),
      '/': '<a href="/moved">d</a>',
      '/moved': (_request, response) => void response.writeHead(302, { location: '/secret' }).end(),
      '/secret': 'CANARY',
    };
    expect(paths(await crawl())).toEqual(['/']);
    expect(asked.map(({ path }) => path)).not.toContain('/secret');
  });

  it('txt that forbids everything forbids the first page, too', async () => {
    pages = { '/robots.txt': robots('User-agent: *\nDisallow: /'), '/': 'x' };
    expect(problems(await crawl())).toEqual(['robots.txt of the site does not allow it']);
    expect(asked.map(({ path }) => path)).toEqual(['/robots.txt']);
  });

  it('txt that is missing allows, one that fails forbids', async () => {
    pages = { '/': 'x', '/robots.txt': robots('no', 403) };
    expect(paths(await crawl())).toEqual(['/']);
    pages['/robots.txt'] = '<html>every path is a page here';
    expect(paths(await crawl())).toEqual(['/']);
    pages['/robots.txt'] = robots('down', 503);
    asked = [];
    expect(problems(await crawl())[0]).toContain('robots.txt could not be read: the server answered 503');
    expect(asked.map(({ path }) => path)).toEqual(['/robots.txt']);
  });

  it('meta and header are obeyed', async () => {
    pages = {
      '/': '<a href="/a">a</a><a href="/b">b</a><a href="/c">c</a>',
      '/a': '<meta name="ROBOTS" content="noindex"><a href="/d">d</a>',
      '/b': '<meta name="robots" content="nofollow"><a href="/e">e</a>',
      '/c': (_request, response) =>
        void response
          .writeHead(200, { 'content-type': 'text/html', 'x-robots-tag': 'noindex, nofollow' })
          .end('<a href="/e">e</a>'),
      '/d': 'd',
      '/e': 'CANARY',
    };
    const found = await crawl();
    expect(paths(found)).toEqual(['/', '/b', '/d']);
    expect(paths(found, 'gone')).toEqual(['/a', '/c']);
  });
});

describe('addresses', () => {
  it.each([
    'http://127.0.0.1:1/',
    'http://[::1]/',
    'http://2130706433/',
    'http://0x7f.1/',
    'http://169.254.169.254/latest',
    'http://10.0.0.1/',
    'http://[::ffff:127.0.0.1]/',
  ])('that are private are refused: %s', async (address) => {
    const found = await crawl({ start: new URL(address), allowPrivate: false });
    expect(problems(found)).toEqual(['it leads to a private or local address']);
  });

  it('that are private behind a name are refused, also when the name changes its mind', async () => {
    pages = { '/': 'CANARY' };
    const answers = [[{ address: '203.0.113.9', family: 4 }], [{ address: '127.0.0.1', family: 4 }]];
    const found = await crawl({
      start: new URL(base.replace('127.0.0.1', 'rebind.example')),
      allowPrivate: false,
      resolve: (_name, done) => done(null, answers.shift() ?? [{ address: '127.0.0.1', family: 4 }]),
    });
    expect(problems(found)[0]).toContain('private or local');
    expect(asked).toEqual([]);
  });

  const redirect =
    (to: string, status = 302): Answer =>
    (_request, response) =>
      void response.writeHead(status, { location: to }).end();

  it('of other hosts are not followed by a redirect', async () => {
    let reached = 0;
    const other = createServer((_request, response) => {
      reached += 1;
      response.end('CANARY');
    });
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
    const { port } = other.address() as AddressInfo;
    for (const to of [
      `http://127.0.0.1:${port}/`,
      `http://localhost:${port}/`,
      '//[::1]/',
      'http://169.254.169.254/',
      'https://127.0.0.1:1/',
      'file:///etc/passwd',
      'http://[',
    ]) {
      pages = { '/': redirect(to) };
      const found = await crawl();
      expect(paths(found), to).toEqual([]);
      expect(problems(found)[0], to).toMatch(/another host|no address|leads away/);
    }
    expect(reached).toBe(0);
    await new Promise((resolve) => other.close(resolve));
  });

  it('of the same host are, but not for ever', async () => {
    pages = { '/': redirect('/new'), '/new': 'N', '/loop': redirect('/loop') };
    expect(paths(await crawl())).toEqual(['/new']);
    expect(problems(await crawl({ path: '/loop' }))).toEqual(['it redirects more than 5 times']);
    expect(asked.filter(({ path }) => path === '/loop').length).toBe(6);
  });
});

describe('pages', () => {
  it('of other kinds are left out, and other documents are read as what they are', async () => {
    const typed =
      (type: string, text = 'text'): Answer =>
      (_request, response) =>
        void response.writeHead(200, { 'content-type': type }).end(text);
    pages = {
      '/': '<a href=/image>i</a><a href=/plain>p</a><a href=/md>m</a><a href=/bin>b</a><a href=/none>n</a>',
      '/image': typed('image/png'),
      '/plain': typed('text/plain'),
      '/md': typed('text/markdown; charset=utf-8', '# M'),
      '/bin': typed('text/html', 'a\0b'),
      '/none': (_request, response) => void response.writeHead(200).end('<p>no type'),
    };
    const found = await crawl();
    expect(found.flatMap((page) => (page.kind === 'page' ? [page.format] : []))).toEqual([
      'html',
      'text',
      'markdown',
      'html',
    ]);
    expect(problems(found)).toEqual(['it is image/png, which is no page', 'it is no text']);
  });

  it('reads files of the site, unless they do not want to be kept or can not be read', async () => {
    const file =
      (type: string, bytes: Uint8Array, headers: Record<string, string> = {}): Answer =>
      (_request, response) =>
        void response.writeHead(200, { 'content-type': type, ...headers }).end(bytes);
    const pdf = buildPdf([pdfLine('Warranty', 24, 780) + pdfLine('Every wombat has two years.', 12, 740)]);
    const docxType = 'application/vnd.openxmlformats-officedocument.wordprocessingml.document';
    pages = {
      '/': '<a href=/a.pdf>a</a><a href=/b.docx>b</a><a href=/c.pdf>c</a><a href=/d.pdf>d</a><a href=/e.pdf>e</a>',
      '/a.pdf': file('application/pdf', pdf),
      '/b.docx': file(docxType, buildDocx(paragraph('Gifts', 'Heading1') + paragraph('We wrap them.'))),
      '/c.pdf': file('application/pdf', pdf, { 'x-robots-tag': 'noindex' }),
      '/d.pdf': file('application/pdf', Buffer.from('hello')),
      '/e.pdf': file('application/pdf', pdf, { 'content-length': '20000001' }),
    };
    const found = await crawl();
    expect(found.flatMap((page) => (page.kind === 'page' ? [[page.format, page.content]] : []))).toEqual([
      ['html', expect.any(String)],
      ['html', '<h1>Warranty</h1>\n<p>Every wombat has two years.</p>'],
      ['html', '<h1>Gifts</h1><p>We wrap them.</p>'],
    ]);
    expect(problems(found)).toEqual([
      'the page does not want to be kept (noindex)',
      'it is no PDF file, or damaged',
      'it is larger than 20 MB',
    ]);
    expect(paths(found, 'gone')).toEqual(['/c.pdf']);
  });

  it.each([
    ['what the header says', 'text/html; charset=iso-8859-1', Buffer.from('caf\xe9', 'latin1')],
    [
      'what the page says',
      'text/html',
      Buffer.from('<meta charset="windows-1251"><p>\xe2\xee\xe7\xe2\xf0\xe0\xf2 caf', 'latin1'),
    ],
    ['UTF-16 with a mark', 'text/html', Buffer.from('\ufeffcafé', 'utf16le')],
    ['what it is, where the header lies', 'text/html; charset=utf-8', Buffer.from('caf\xe9', 'latin1')],
    ['what it is, where the header is nonsense', 'text/html; charset=klingon', Buffer.from('café')],
    ['a mark of UTF-8', 'text/html; charset=latin1', Buffer.from('\ufeffcafé')],
    ['what can be stored of it', 'text/html; charset=utf-8', Buffer.from(`${' '.repeat(9_000)}ca\0fé`)],
    ['what can be stored of UTF-16', 'text/html', Buffer.from('\ufeffca\0fé', 'utf16le')],
  ])('are read by %s', async (_what, type, bytes) => {
    pages = {
      '/': (_request, response) => void response.writeHead(200, { 'content-type': type }).end(bytes),
    };
    const [page] = await crawl();
    expect(page?.kind === 'page' ? page.content : page).toMatch(/café$|возврат caf$/);
  });

  it('are unpacked, but bombs are not', async () => {
    const packed =
      (bytes: Buffer, encoding = 'gzip'): Answer =>
      (_request, response) =>
        void response
          .writeHead(200, { 'content-type': 'text/html', 'content-encoding': encoding })
          .end(bytes);
    pages = {
      '/': packed(
        gzipSync(
          '<a href=/bomb>b</a><a href=/broken>c</a><a href=/strange>d</a><a href=/cut>e</a><a href=/inherited>f</a>',
        ),
      ),
      '/bomb': packed(gzipSync(Buffer.alloc(100_000_000, 0x20))),
      '/broken': packed(Buffer.from('no gzip at all')),
      '/strange': packed(Buffer.from('x'), 'zstd, rot13'),
      '/cut': packed(gzipSync('x'.repeat(10_000)).subarray(0, 20)),
      '/inherited': packed(Buffer.from('x'), 'constructor'),
    };
    const found = await crawl();
    expect(paths(found)).toEqual(['/']);
    expect(problems(found)).toEqual([
      'it is larger than 6 MB',
      'its encoding is broken',
      "it is encoded as zstd, rot13, which can't be read",
      'its encoding is broken',
      "it is encoded as constructor, which can't be read",
    ]);
  });

  it('of 100 MB end early, whether they say so or not', async () => {
    let sent = 0;
    pages = {
      '/': '<a href=/said>a</a><a href=/unsaid>b</a>',
      '/said': (_request, response) =>
        void response
          .writeHead(200, { 'content-type': 'text/html', 'content-length': 100_000_000 })
          .write('x'),
      '/unsaid': (_request, response) => {
        response.writeHead(200, { 'content-type': 'text/html' });
        const chunk = Buffer.alloc(64_000, 0x78);
        const more = (): void => {
          while (sent < 100_000_000 && !response.destroyed) {
            sent += chunk.length;
            if (!response.write(chunk)) return void response.once('drain', more);
          }
        };
        more();
      },
    };
    const found = await crawl();
    expect(problems(found)).toEqual(['it is larger than 6 MB', 'it is larger than 6 MB']);
    expect(sent).toBeLessThan(50_000_000);
  });

  it.each<[string, Answer]>([
    ['says nothing', () => undefined],
    [
      'says half',
      (_request, response) => void response.writeHead(200, { 'content-type': 'text/html' }).write('<p>half'),
    ],
  ])('that %s are given up in time, and the walk goes on', async (_what, answer) => {
    pages = { '/': '<a href=/slow>a</a><a href=/next>b</a>', '/slow': answer, '/next': 'n' };
    const under = crawl();
    await eventually(() => expect(asked.map(({ path }) => path)).toContain('/slow'));
    // Once: the pages that follow have their own time.
    clock.advance(15_000);
    expect(paths(await under)).toEqual(['/', '/next']);
    expect(problems(await under)).toEqual(['it took longer than 15 s']);
  });

  it('that fail are told of, those that are gone apart', async () => {
    pages = {
      '/': '<a href=/gone>a</a><a href=/error>b</a><a href=/cut>c</a><a href=/deep>d</a>',
      '/error': (_request, response) => void response.writeHead(500).end(),
      '/cut': (request) => void request.socket.destroy(),
      '/deep': '<div>'.repeat(5_000),
    };
    const found = await crawl();
    expect(paths(found, 'gone')).toEqual(['/gone']);
    expect(paths(found, 'failed')).toEqual(['/error', '/cut', '/deep']);
  });

  it('known from before are looked at again', async () => {
    pages = { '/': 'home', '/orphan': 'o' };
    const found = await crawl({ knownUrls: [`${base}/orphan`, `${base}/lost`, 'https://other.example/x'] });
    expect(paths(found)).toEqual(['/', '/orphan']);
    expect(paths(found, 'gone')).toEqual(['/lost']);
  });
});
