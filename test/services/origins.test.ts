// Attacks origins: every way to look like a registered domain without being one, and every form a person may write.
// The expectations follow the browsers' rule: a page's origin arrives in exactly one serialised form.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  coveringDomains,
  normaliseDomain,
  originMatches,
  parseOrigin,
} from '../../src/services/auth/origins.ts';
import { OrganizationTable } from '../../src/services/core/organization-table.ts';

function covers(written: string, header: string): boolean {
  const domain = normaliseDomain(written);
  if (!domain.ok) throw new Error(domain.problem);
  const origin = parseOrigin(header);
  if (!origin.ok) return false;
  const matches = originMatches(domain.domain, origin);
  // What is looked up for a preflight says the same.
  expect(coveringDomains(origin).includes(domain.domain)).toBe(matches);
  return matches;
}
const bytes = (text: string): string => Buffer.from(text, 'utf8').toString('latin1');

describe('a registered domain lets in', () => {
  it.each([
    ['example.com', 'https://example.com'],
    ['example.com', 'http://example.com'],
    ['example.com', 'https://example.com:443'],
    ['example.com', 'http://example.com:80'],
    ['example.com', 'HTTPS://Example.COM'],
    ['example.com', 'https://example.com.'],
    ['Example.COM.', 'https://example.com'],
    ['*.shop.example', 'https://a.shop.example'],
    ['*.shop.example', 'https://a.b.shop.example'],
    ['*.shop.example', 'http://a.shop.example.'],
    ['*.localhost', 'http://a.localhost'],
    ['localhost:3000', 'http://localhost:3000'],
    ['localhost:3000', 'https://localhost:3000'],
    ['example.com:443', 'https://example.com'],
    ['example.com:443', 'http://example.com:443'],
    ['https://full.example:8443', 'https://full.example:8443'],
    ['https://full.example:443', 'https://full.example'],
    ['http://full.example/', 'http://full.example'],
    ['127.0.0.1:8080', 'http://127.0.0.1:8080'],
    ['127.1:8080', 'http://127.0.0.1:8080'],
    ['[::1]:3000', 'http://[::1]:3000'],
    ['[0:0::1]', 'https://[::1]'],
    ['exämple.com', 'https://xn--exmple-cua.com'],
    ['ｅxample。com', 'https://example.com'],
    ['http://intranet:8080', 'http://intranet:8080'],
  ])('%s: %s', (domain, origin) => {
    expect(covers(domain, origin)).toBe(true);
  });
});

describe('a registered domain keeps out', () => {
  it.each([
    ['example.com', 'https://example.com:8443'],
    ['example.com', 'http://example.com:443'],
    ['example.com', 'https://example.com:80'],
    ['example.com', 'https://sub.example.com'],
    ['example.com', 'https://www.example.com'],
    ['example.com', 'https://evil-example.com'],
    ['example.com', 'https://evilexample.com'],
    ['example.com', 'https://example.com.evil.com'],
    ['example.com', 'https://example.community'],
    ['example.com', 'https://example.co'],
    ['example.com', 'https://examplexcom'],
    ['example.com', 'https://xn--xample-2of.com'],
    ['*.shop.example', 'https://shop.example'],
    ['*.shop.example', 'https://evilshop.example'],
    ['*.shop.example', 'https://a.shop.example.evil.com'],
    ['*.shop.example', 'https://a.shop.example:8443'],
    ['*.shop.example', 'https://.shop.example'],
    ['*.shop.example', 'https://*.shop.example'],
    ['localhost:3000', 'http://localhost:3001'],
    ['localhost:3000', 'http://localhost'],
    ['localhost:3000', 'http://127.0.0.1:3000'],
    ['localhost:3000', 'http://[::1]:3000'],
    ['https://full.example:8443', 'http://full.example:8443'],
    ['https://full.example:8443', 'https://full.example'],
    ['https://full.example:8443', 'https://full.example:08443'],
    ['https://full.example', 'http://full.example'],
    ['127.0.0.1:8080', 'http://127.1:8080'],
    ['127.0.0.1:8080', 'http://0x7f.1:8080'],
    ['127.0.0.1:8080', 'http://2130706433:8080'],
    ['127.0.0.1:8080', 'http://[::ffff:127.0.0.1]:8080'],
    ['127.0.0.1:8080', 'http://0177.0.0.1:8080'],
    ['[::1]:3000', 'http://[0:0:0:0:0:0:0:1]:3000'],
  ])('%s: %s', (domain, origin) => {
    expect(covers(domain, origin)).toBe(false);
  });
});

describe('an Origin header is refused unless it is its own serialisation', () => {
  it.each([
    'null',
    'NULL',
    '',
    ' ',
    '*',
    'example.com',
    '//example.com',
    'https:/example.com',
    'https:example.com',
    'https://',
    'https://.',
    'https://..',
    'https://:443',
    'https://example.com@evil.com',
    'https://evil.com/example.com',
    'https://evil.com#example.com',
    'https://evil.com?example.com',
    'https://evil.com\\example.com',
    'https://evil.com%23.example.com',
    'https://user@example.com',
    'https://example.com/',
    'https://example.com#',
    'https://example.com?',
    'https://example.com..',
    'https://.example.com',
    'https://exa..mple.com',
    'https://%65xample.com',
    'file://',
    'file:///',
    'chrome-extension://abc',
    'moz-extension://a-b',
    'data:text/html,x',
    'about:blank',
    'blob:https://example.com/x',
    'capacitor://localhost',
    'wss://example.com',
    'ftp://example.com',
    'httpss://example.com',
    'https://\u0435xample.com',
    bytes('https://\u0435xample.com'),
    'https://\uFF45xample.com',
    bytes('https://\uFF45xample.com'),
    'https://example\u3002com',
    bytes('https://example\u3002com'),
    'https://example.\u212Aom',
    'https://exam\u00ADple.com',
    'https://example.com, https://evil.com',
    'https://example.com https://evil.com',
    'https://example.com,https://evil.com',
    ' https://example.com',
    'https://example.com ',
    'https://example.com\t',
    'https://example.com\n',
    'https://exa\tmple.com',
    'https://example.com:',
    'https://example.com:0',
    'https://example.com:00443',
    'https://example.com:65536',
    'https://example.com:99999',
    'https://example.com:44a',
    'https://example.com:-1',
    'https://example.com:443:443',
    'https://[::1',
    'https://::1',
    'https://[::1].',
    'https://[fe80::1%25eth0]',
    'https://[::FFFF:127.0.0.1]',
    'https://-a.com',
    'https://a-.com',
    'https://1.2.3.256',
    'https://1.2.3',
    `https://${'a'.repeat(64)}.com`,
    `https://${'a.'.repeat(140)}com`,
  ])('%j', (header) => {
    expect(parseOrigin(header)).toEqual({ ok: false });
  });

  it('tells the parts, ports filled in', () => {
    expect(parseOrigin('HTTP://LocalHost.:80')).toEqual({
      ok: true,
      origin: 'http://localhost',
      scheme: 'http',
      host: 'localhost',
      port: '80',
    });
    expect(parseOrigin('https://[::1]:8443')).toEqual({
      ok: true,
      origin: 'https://[::1]:8443',
      scheme: 'https',
      host: '[::1]',
      port: '8443',
    });
  });

  it('agrees with the URL parser on whatever it accepts, and never throws', () => {
    const piece = fc.constantFrom(
      'https://',
      'http://',
      'HTTP://',
      'example',
      '.',
      'com',
      ':',
      '443',
      '80',
      '@',
      '/',
      '\\',
      '#',
      '?',
      '%2e',
      'xn--',
      '[',
      ']',
      '::1',
      '-',
      '_',
      ' ',
      ',',
      '0x7f',
      '127',
      '1',
      'é',
    );
    fc.assert(
      fc.property(
        fc.array(piece, { maxLength: 9 }).map((pieces) => pieces.join('')),
        (header) => {
          const parsed = parseOrigin(header);
          if (parsed.ok) expect(new URL(header).origin.replace(/\.(?=:\d+$|$)/, '')).toBe(parsed.origin);
        },
      ),
      { numRuns: 5000 },
    );
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (header) => void parseOrigin(header)),
      { numRuns: 2000 },
    );
  });
});

describe('normaliseDomain', () => {
  it.each([
    ['example.com', 'example.com'],
    ['EXAMPLE.com.', 'example.com'],
    ['example.com/', 'example.com'],
    ['example.com:08443', 'example.com:8443'],
    ['*.Example.com', '*.example.com'],
    ['localhost', 'localhost'],
    ['localhost:3000', 'localhost:3000'],
    ['HTTPS://Example.com:443', 'https://example.com'],
    ['http://example.com:443', 'http://example.com:443'],
    ['https://example.com:8443/', 'https://example.com:8443'],
    ['*.shop.co.uk', '*.shop.co.uk'],
    ['a_b.example.com', 'a_b.example.com'],
  ])('stores %s as %s', (input, domain) => {
    expect(normaliseDomain(input)).toEqual({ ok: true, domain });
  });

  it.each([
    '*',
    '*.com',
    '*.co.uk',
    '*.com.',
    '*.github.io',
    '*.vercel.app',
    '*.COM',
    '*.com.au',
    'https://',
    'http://',
    'example.com/x',
    'https://example.com/x',
    'https://example.com//',
    'exa mple.com',
    ' example.com',
    'example.com\n',
    'javascript:1',
    'JavaScript:1',
    'data:1',
    'javascript:alert(1)',
    'javascript://example.com',
    'ftp://example.com',
    'file:///x',
    '..',
    '.',
    '.com',
    'example..com',
    'example.com..',
    '-a.com',
    'a-.com',
    `${'a'.repeat(60)}.`.repeat(4) + 'aaaaaaaaaa',
    `${'a'.repeat(64)}.com`,
    'a'.repeat(254),
    '',
    'null',
    'NULL',
    'user@example.com',
    'https://user:pw@example.com',
    'example.com?x',
    'example.com#x',
    'https://example.com?',
    'https://example.com#',
    'example.com\\x',
    'exa%6dple.com',
    'example.com:',
    'example.com:0',
    'example.com:65536',
    'example.com:x',
    'https://example.com:',
    'a:b:c',
    '::1',
    '[::1',
    '[::1]x',
    '**.example.com',
    'a.*.com',
    '*.*.com',
    '*example.com',
    'example.*',
    '*.',
    '*.example.com:8443',
    'https://*.example.com',
    '*.127.0.0.1',
    '*.[::1]',
    '\uFF0A.com',
    '*\u3002com',
    'example.com\uFF0Fx',
    'example.com\uFF1A80',
    'exa\u2100mple.com',
    'com',
    'intranet',
    'intranet:8080',
    '1.2.3.256',
    'example.com,evil.com',
    'exa\u0000mple.com',
    '/',
    '//',
    '//example.com',
  ])('refuses %j with a sentence', (input) => {
    const result = normaliseDomain(input);
    expect(result).toMatchObject({ ok: false });
    expect(result.ok ? '' : result.problem.length).toBeGreaterThan(20);
  });

  it('counts 253 characters, not 254', () => {
    const of = (length: number) =>
      `${'a'.repeat(63)}.${'b'.repeat(63)}.${'c'.repeat(63)}.${'d'.repeat(length - 192)}`;
    expect(normaliseDomain(of(253)).ok).toBe(true);
    expect(normaliseDomain(of(254)).ok).toBe(false);
  });

  it('warns of public suffixes and of names stored in punycode', () => {
    expect(normaliseDomain('co.uk')).toMatchObject({
      ok: true,
      domain: 'co.uk',
      warning: expect.stringContaining('co.uk'),
    });
    expect(normaliseDomain('\u0435xample.com')).toMatchObject({
      ok: true,
      domain: 'xn--xample-2of.com',
      warning: expect.stringContaining('xn--xample-2of.com'),
    });
  });

  it('is stable: what it stores, it stores again unchanged, and a full origin covers itself', () => {
    const label = fc.stringMatching(/^[a-zA-Z0-9äßЖ_-]{1,8}$/);
    const input = fc.tuple(
      fc.constantFrom('', '*.', 'https://', 'http://'),
      fc.array(label, { minLength: 1, maxLength: 4 }),
      fc.constantFrom('', '.', ':80', ':443', ':8080', '/'),
    );
    fc.assert(
      fc.property(input, ([start, labels, end]) => {
        const first = normaliseDomain(start + labels.join('.') + end);
        if (!first.ok) return;
        expect(normaliseDomain(first.domain)).toMatchObject({ ok: true, domain: first.domain });
        if (first.domain.includes('://')) expect(covers(first.domain, first.domain)).toBe(true);
      }),
      { numRuns: 3000 },
    );
  });
});

describe('the domains of all organizations', () => {
  const label = fc.constantFrom('a', 'b', 'shop', 'www');
  const host = fc.oneof(
    fc.array(label, { minLength: 1, maxLength: 4 }).map((labels) => [...labels, 'example'].join('.')),
    fc.constantFrom('localhost', '192.0.2.1', '[::1]'),
  );
  const port = fc.constantFrom('', ':80', ':443', ':3000');
  const written = fc.oneof(
    fc.tuple(fc.constantFrom('', '*.'), host).map((parts) => parts.join('')),
    fc.tuple(host, port).map((parts) => parts.join('')),
    fc.tuple(fc.constantFrom('http://', 'https://'), host, port).map((parts) => parts.join('')),
  );
  const domains = fc
    .array(written, { maxLength: 6 })
    .map((all) => all.map((one) => normaliseDomain(one)).flatMap((one) => (one.ok ? [one.domain] : [])));
  const origin = fc
    .tuple(fc.constantFrom('http://', 'https://'), host, port)
    .map((parts) => parseOrigin(parts.join('')));

  it('cover what one of them covers, also after changes', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.constantFrom('one', 'two', 'three'), domains), { maxLength: 5 }),
        fc.array(origin, { minLength: 1, maxLength: 5 }),
        (changes, origins) => {
          const table = new OrganizationTable<string>((domain) => domain);
          const now = new Map<string, readonly string[]>();
          for (const [id, some] of changes) {
            if (some.length === 0) now.delete(id);
            else now.set(id, some);
            table.replace(id, some);
            for (const one of origins) {
              if (!one.ok) continue;
              const covered = [...now.values()].flat().some((domain) => originMatches(domain, one));
              expect(coveringDomains(one).some((domain) => table.has(domain))).toBe(covered);
            }
          }
        },
      ),
    );
  });
});
