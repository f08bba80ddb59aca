// Attacks the rendered HTML with the case tables T173-T177, T181-T190 and the nesting rules; the second wall alone too.
// Must not test random trees (content-html-random does).

import { parseFragment, serialize } from 'parse5';
import { describe, expect, it } from 'vitest';
import { buildHtml, renderHtml, sanitize } from '../../src/services/content/html.ts';
import { checkLexical } from '../../src/services/content/lexical.ts';

const text = (value: string, more: object = {}) => ({ type: 'text', text: value, ...more });
const node = (type: unknown, ...children: unknown[]) => ({ type, children });
const p = (...children: unknown[]) => node('paragraph', ...children);
const ul = (...children: unknown[]) => ({ ...node('list', ...children), listType: 'bullet' });
const li = (...children: unknown[]) => node('listitem', ...children);
const link = (url: unknown, ...children: unknown[]) => ({ ...node('link', ...children), url });
const br = { type: 'linebreak' };
const OK = 'https://a.example/x';

function html(...children: unknown[]): string {
  const checked = checkLexical(JSON.stringify({ root: { type: 'root', version: 1, children } }));
  if (!checked.ok) throw new Error(checked.problem);
  const built = buildHtml(checked.root);
  expect(sanitize(built)).toBe(built);
  const parsed = parseFragment(built);
  expect(parseFragment(serialize(parsed))).toEqual(parsed);
  return renderHtml(checked.root);
}

describe('the table of nodes (T173, T174)', () => {
  it.each<[string, object, string]>([
    ['paragraph', p(text('hi')), '<p>hi</p>'],
    ['bad heading', { ...node('heading', text('t')), tag: 'h7' }, '<p>t</p>'],
    ['hostile heading', { ...node('heading', text('t')), tag: 'h1 onclick=alert(1)' }, '<p>t</p>'],
    ['heading without tag', node('heading', text('t')), '<p>t</p>'],
    ['bullets', ul(li(text('a')), li(text('b'))), '<ul><li>a</li><li>b</li></ul>'],
    ['numbers', { ...ul(li(text('a'))), listType: 'number', start: 5 }, '<ol><li>a</li></ol>'],
    ['other list', { ...ul(li(text('a'))), listType: 'check' }, '<ul><li>a</li></ul>'],
    ['nested list', ul(li(text('a'), ul(li(text('b'))))), '<ul><li>a<ul><li>b</li></ul></li></ul>'],
    ['code', node('code', text('a < b')), '<pre><code>a &lt; b</code></pre>'],
    [
      'code lines',
      node('code', text('\na'), br, { type: 'code-highlight', text: 'b' }),
      '<pre><code>\na<br>b</code></pre>',
    ],
    ['link', p(link(OK, text('a'))), `<p><a href="${OK}">a</a></p>`],
    ['autolink', p({ ...link(OK, text('a')), type: 'autolink' }), `<p><a href="${OK}">a</a></p>`],
    ['line break', p(text('a'), br, text('b')), '<p>a<br>b</p>'],
    ['empty paragraph', p(text('a'), node('x')), '<p>a</p>'],
  ])('renders %s', (_, child, expected) => {
    expect(html(child)).toBe(expected);
  });

  it.each(['h1', 'h2', 'h3', 'h4', 'h5', 'h6'])('renders a heading with tag %s', (tag) => {
    expect(html({ ...node('heading', text('t')), tag })).toBe(`<${tag}>t</${tag}>`);
  });

  it('keeps empty paragraphs between others', () => {
    expect(html(p(text('a')), p(), p(text('b')))).toBe('<p>a</p><p></p><p>b</p>');
  });

  it.each([
    ['TypeScript', ' class="language-typescript"'],
    ['c++', ' class="language-c++"'],
    ['c#', ' class="language-c#"'],
    ['a'.repeat(32), ` class="language-${'a'.repeat(32)}"`],
    ['a'.repeat(33), ''],
    ['', ''],
    ['js x', ''],
    ['js"onclick="x', ''],
    ['js\n', ''],
    ['\u212a', ' class="language-k"'],
    ['\u0130', ''],
    [5, ''],
    [null, ''],
    [['js'], ''],
  ])('writes the code language %j as %j', (language, attribute) => {
    expect(html({ ...node('code', text('x')), language })).toBe(`<pre><code${attribute}>x</code></pre>`);
  });
});

describe('marks (T175)', () => {
  it.each(Array.from({ length: 32 }, (_, format) => format))(
    'nests format %i from strong to code',
    (format) => {
      const tags = ['strong', 'em', 's', 'u', 'code'].filter((_, index) => format & [1, 2, 4, 8, 16][index]!);
      const open = tags.map((tag) => `<${tag}>`).join('');
      const close = tags
        .toReversed()
        .map((tag) => `</${tag}>`)
        .join('');
      expect(html(p(text('x', { format })))).toBe(`<p>${open}x${close}</p>`);
      expect(html(p(text('x', { format: format + 2 ** 40 + 64 })))).toBe(`<p>${open}x${close}</p>`);
    },
  );
});

describe('unknown types (T177)', () => {
  const types = [
    'iframe',
    'image',
    'quote',
    'table',
    'script',
    '__proto__',
    'constructor',
    'toString',
    'valueOf',
    '',
    3,
  ];

  it.each(types)('renders the children of %j in its place', (type) => {
    expect(html(node(type, p(text('a')), p(text('b'))))).toBe('<p>a</p><p>b</p>');
    expect(html(p(text('a'), node(type, text('b')), text('c')))).toBe('<p>abc</p>');
    expect(html(node(type, text('a')), node(type, text('b')))).toBe('<p>a</p><p>b</p>');
    expect(html({ type, text: '<own>', children: [p(text('a'))] })).toBe('<p>&lt;own&gt;</p><p>a</p>');
  });

  it('keeps mentions in their line, with their marks', () => {
    const mention = { type: 'mention', text: '@ann', format: 1 };
    expect(html(node('quote', text('hi '), mention, text('!')))).toBe('<p>hi <strong>@ann</strong>!</p>');
  });

  it('leaves nothing of a rule or an image', () => {
    expect(
      html(p(text('a')), { type: 'horizontalrule' }, { type: 'image', src: 'https://t.example/p.png' }),
    ).toBe('<p>a</p>');
  });
});

describe('escaping (T181, T190)', () => {
  it.each([
    ['<script>alert(1)</script>', '&lt;script&gt;alert(1)&lt;/script&gt;'],
    ['&lt;b&gt;', '&amp;lt;b&amp;gt;'],
    ['&amp;lt;', '&amp;amp;lt;'],
    [`"'\``, `"'\``],
    [']]>', ']]&gt;'],
    ['<!--', '&lt;!--'],
    ['a\r\nb\rc', 'a\nb\nc'],
    ['\u00a0\u0001\u202e', '\u00a0\u0001\u202e'],
  ])('escapes %j once, in text, in code and in links', (raw, escaped) => {
    expect(html(p(text(`x${raw}`)))).toBe(`<p>x${escaped}</p>`);
    expect(html(node('code', text(`x${raw}`)))).toBe(`<pre><code>x${escaped}</code></pre>`);
    expect(html(p(link(OK, text(`x${raw}`))))).toBe(`<p><a href="${OK}">x${escaped}</a></p>`);
  });

  const corpus = [
    '<xmp><img src=x onerror=alert(1)></xmp>',
    '<svg><textarea><img src=x onerror=alert(1)></textarea></svg>',
    '<math><xmp></math><img src=x onerror=alert(1)></xmp>',
    '<option>&lt;script&gt;alert(1)&lt;/script&gt;</option>',
    '<noscript><p title="</noscript><img src=x onerror=alert(1)>">',
    '<template><script>alert(1)</script></template>',
    '<plaintext><script>alert(1)</script>',
    '<style><img src="</style><img src=x onerror=alert(1)>">',
    '<iframe srcdoc="<script>alert(1)</script>"><b>x</iframe>',
    '<!--><img src=x onerror=alert(1)>-->',
    '<![CDATA[<img src=x onerror=alert(1)>]]>',
    '<form id=x><input name=attributes></form><a name=body id=documentElement>x</a>',
    '<math><mtext><table><mglyph><style><!--</style><img title="--&gt;&lt;img src=1 onerror=alert(1)&gt;">',
    '<svg></p><style><a id="</style><img src=1 onerror=alert(1)>">',
    '<a href="javascript:alert(1)" onclick=alert(1) style="position:fixed" class=fixed id=x target=_top>x</a>',
    '<a href="/rel">x</a><a href="#x">x</a><a href="//evil.example">x</a><a href="ｊavascript:alert(1)">x</a>',
    '<a href="https://user:pw@evil.example">x</a><a href="java\u200bscript:1">x</a><a target=_blank rel=opener>x</a>',
    '<span class="fixed inset-0 language-x">x</span><pre class="language-x">x</pre><code class="fixed">x</code>',
    '<p style="background:url(//evil)" onmouseover=alert(1) data-x=1>x</p><base href=//evil><meta http-equiv=refresh>',
  ];

  it.each(corpus)('shows %s as text', (raw) => {
    const parsed = parseFragment(html(p(text(raw))));
    expect(parsed.childNodes).toMatchObject([
      { nodeName: 'p', childNodes: [{ nodeName: '#text', value: raw }] },
    ]);
  });

  it.each(corpus)('leaves nothing active of %s when it meets the second wall alone', (raw) => {
    const clean = sanitize(raw);
    expect(sanitize(clean)).toBe(clean);
    expect(clean.match(/<(?!\/?(?:p|br|a|b|span|pre|code)>)[^>]*>/g) ?? []).toEqual(
      raw.includes('target=_blank') ? ['<a target="_blank" rel="noopener noreferrer">'] : [],
    );
  });

  it('keeps a good link and a language class at the second wall', () => {
    const good = `<p><a href="${OK}?a=1&amp;b=2">x</a></p><pre><code class="language-c++">x</code></pre>`;
    expect(sanitize(good)).toBe(good);
    expect(sanitize('<a href=" https://а.example/ ">x</a>')).toBe('<a href="https://xn--80a.example/">x</a>');
    expect(sanitize('<code class="language-x fixed">x</code>')).toBe('<code class="language-x">x</code>');
  });
});

describe('addresses (T182, T183, T185)', () => {
  it.each([
    'javascript:alert(1)',
    'JaVaScRiPt:alert(1)',
    ' javascript:alert(1)',
    '\tjavascript:alert(1)',
    '\u0001javascript:alert(1)',
    'java\tscript:alert(1)',
    'java\nscript:alert(1)',
    'java\0script:alert(1)',
    '&#106;avascript:alert(1)',
    '&#0000106;avascript:alert(1)',
    '&#x6A;avascript:alert(1)',
    'javascript&colon;alert(1)',
    'java&Tab;script:alert(1)',
    'java\u200bscript:alert(1)',
    'ｊavascript:alert(1)',
    '\u202ejavascript:alert(1)',
    'javascript://%0aalert(1)',
    'data:text/html,<script>alert(1)</script>',
    'vbscript:x',
    'blob:https://a.example/1',
    'file:///etc/passwd',
    'feed:javascript:alert(1)',
    'feed:https://a.example',
    'view-source:https://a.example',
    'intent://x#Intent;end',
    'ftp://a.example',
    '//evil.example',
    '\\\\evil.example',
    '/\\evil.example',
    '/rel',
    'rel',
    '#x',
    '?x',
    '',
    ' ',
    5,
    {},
    null,
    undefined,
    ['https://a.example'],
    'https:evil',
    'https:/evil.example',
    'https:///evil.example',
    'https:\\\\evil.example',
    'https://',
    'https://[::1',
    'https://a b.example/',
    'https://user:pw@evil.example',
    'https://user@evil.example',
    'https://@evil.example',
    'https://a.example%40@evil.example/',
    'ht\ttps://a.example',
    'https://a.exa\u0000mple',
    'https://a.example/x\ty',
    'https://a.example/\u001b[2J',
    'https://a.example/\u0085',
    'mailto:',
    'mailto://user:pw@evil.example/x',
    'blob:x',
    'httpsx://a.example',
    'http+x://a.example',
    'tel:',
  ])('turns a link to %j into its text', (url) => {
    expect(html(p(link(url, text('shown'))))).toBe('<p>shown</p>');
  });

  const long = `https://a.example/${'x'.repeat(10_000)}`;
  it.each([
    ['https://a.example', 'https://a.example'],
    ['HTTPS://A.example/?a=1&b="<c>"\'', "HTTPS://A.example/?a=1&amp;b=&quot;&lt;c&gt;&quot;'"],
    ['http://a.example:8080/x#y', 'http://a.example:8080/x#y'],
    ['https://a.example/@user?next=me@a.example', 'https://a.example/@user?next=me@a.example'],
    ['mailto:a@b.c?bcc=x', 'mailto:a@b.c?bcc=x'],
    ['tel:+1', 'tel:+1'],
    ['  https://a.example/x\n', 'https://a.example/x'],
    ['https://аpple.example/ü', 'https://xn--pple-43d.example/%C3%BC'],
    ['https://a.example\\@evil.example', 'https://a.example/@evil.example'],
    ['https://a.example/<!--x-->', 'https://a.example/&lt;!--x--&gt;'],
    [long, long],
  ])('keeps %j', (url, href) => {
    expect(html(p(link(url, text('a'))))).toBe(`<p><a href="${href}">a</a></p>`);
  });
});

describe('targets (T186)', () => {
  it.each(['opener', '', undefined, ['opener'], 'noopener', null])(
    'makes rel exact for _blank and rel %j',
    (rel) => {
      expect(html(p({ ...link(OK, text('a')), target: '_blank', rel }))).toBe(
        `<p><a href="${OK}" target="_blank" rel="noopener noreferrer">a</a></p>`,
      );
    },
  );

  it.each(['_top', 'x"y', '_self', '_parent', '_BLANK', '', ['_blank'], null])(
    'drops the target %j and a rel that is not known',
    (target) => {
      expect(html(p({ ...link(OK, text('a')), target, rel: 'opener' }))).toBe(`<p><a href="${OK}">a</a></p>`);
    },
  );
});

describe('rel', () => {
  const linked = (rel: unknown, target?: string): string =>
    html(p({ ...link(OK, text('a')), rel, ...(target === undefined ? {} : { target }) }));

  it.each([
    ['nofollow', 'nofollow'],
    ['ugc sponsored noreferrer noopener nofollow', 'nofollow noopener noreferrer sponsored ugc'],
    ['  UGC\tugc\nNoFollow ', 'nofollow ugc'],
    ['opener nofollow "onclick=alert(1) nofollow"', 'nofollow'],
  ])('of %j keeps the known tokens, each once', (rel, kept) => {
    expect(linked(rel)).toBe(`<p><a href="${OK}" rel="${kept}">a</a></p>`);
    expect(sanitize(linked(rel))).toBe(linked(rel));
  });

  it('keeps its tokens beside what a new tab needs', () => {
    expect(linked('ugc nofollow', '_blank')).toBe(
      `<p><a href="${OK}" target="_blank" rel="nofollow noopener noreferrer ugc">a</a></p>`,
    );
  });

  it.each(['', 'opener', 'no follow', 'nofollow,ugc', ['nofollow'], 5, null, { nofollow: true }])(
    'of %j keeps nothing',
    (rel) => expect(linked(rel)).toBe(`<p><a href="${OK}">a</a></p>`),
  );

  it('is reduced at the second wall as well', () => {
    expect(sanitize(`<a href="${OK}" rel="opener ugc">x</a>`)).toBe(`<a href="${OK}" rel="ugc">x</a>`);
  });
});

describe('nesting (T187)', () => {
  const a = (inner: string) => `<a href="${OK}">${inner}</a>`;
  it.each<[string, object, string]>([
    ['a link in a link', p(link(OK, text('x'), link('https://b.example', text('y')))), `<p>${a('xy')}</p>`],
    [
      'text after a link in a link',
      p(link(OK, link('https://b.example', text('x')), text('y'))),
      `<p>${a('xy')}</p>`,
    ],
    ['a link in a dropped link', p(link('javascript:1', link(OK, text('x')))), `<p>${a('x')}</p>`],
    [
      'a block in a link',
      p(link(OK, text('x'), p(text('y')), text('z'))),
      `<p>${a('x')}</p><p>${a('y')}</p><p>${a('z')}</p>`,
    ],
    ['a list in a link', link(OK, ul(li(text('x')))), `<ul><li>${a('x')}</li></ul>`],
    ['a link in a list in a link', link(OK, ul(li(link(OK, text('x'))))), `<ul><li>${a('x')}</li></ul>`],
    ['a link with nothing in it', p(text('x'), link(OK)), '<p>x</p>'],
    [
      'a list in a paragraph',
      p(text('x'), ul(li(text('y'))), text('z')),
      '<p>x</p><ul><li>y</li></ul><p>z</p>',
    ],
    [
      'a heading in a heading',
      { ...node('heading', text('x'), { ...node('heading', text('y')), tag: 'h2' }), tag: 'h1' },
      '<h1>x</h1><h2>y</h2>',
    ],
    ['code in a paragraph', p(node('code', text('x'))), '<pre><code>x</code></pre>'],
    ['text at the top', text('x'), '<p>x</p>'],
    ['an item without list', li(text('x')), '<p>x</p>'],
    ['an item in a paragraph', p(text('x'), li(text('y'))), '<p>x</p><p>y</p>'],
    ['an item in an item', ul(li(text('x'), li(text('y')))), '<ul><li>x<p>y</p></li></ul>'],
    [
      'a list in a list',
      ul(li(text('x')), ul(li(text('y')))),
      '<ul><li>x</li><li><ul><li>y</li></ul></li></ul>',
    ],
    [
      'strangers in a list',
      ul(text('x'), br, text('y'), li(text('z')), p(text('q'))),
      '<ul><li>x<br>y</li><li>z</li><li><p>q</p></li></ul>',
    ],
    [
      'an unknown node with items',
      ul(node('group', li(text('x')), li(text('y')))),
      '<ul><li>x</li><li>y</li></ul>',
    ],
    ['a paragraph in an item', ul(li(p(text('x')), p(text('y')))), '<ul><li><p>x</p><p>y</p></li></ul>'],
    [
      'blocks in code',
      node('code', p(text('x')), ul(li(text('y')), li(text('z'))), text('q')),
      '<pre><code>x<br>y<br>z<br>q</code></pre>',
    ],
    ['text before a block in code', node('code', text('x'), p(text('y'))), '<pre><code>x<br>y</code></pre>'],
    [
      'a code mark in code',
      node('code', text('x', { format: 17 })),
      '<pre><code><strong>x</strong></code></pre>',
    ],
    ['children of text', p({ ...text('x'), children: [text('y')] }), '<p>xy</p>'],
    ['children of a break', p(text('x'), { ...br, children: [text('y')] }), '<p>x<br>y</p>'],
  ])('makes valid HTML of %s', (_, child, expected) => {
    expect(html(child)).toBe(expected);
  });
});

describe('fields of the sender (T189)', () => {
  it('writes nothing of them', () => {
    const names = [
      'style',
      'class',
      'className',
      'direction',
      'mode',
      'id',
      'onclick',
      'title',
      'start',
      'value',
      'href',
    ];
    const more = {
      ...Object.fromEntries(names.map((name) => [name, 'x'])),
      $: { x: 1 },
      indent: 1e9,
      detail: 9,
      checked: true,
    };
    const plain = [p(text('a'), link(OK, text('b'))), ul(li(text('c'))), node('code', text('d'))];
    const dressed = [
      { ...p({ ...text('a'), ...more }, { ...link(OK, text('b')), ...more }), ...more },
      { ...ul({ ...li(text('c')), ...more }), ...more },
      { ...node('code', text('d')), ...more },
    ];
    expect(html(...dressed)).toBe(html(...plain));
  });
});
