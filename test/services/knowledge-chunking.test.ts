// Attacks the cutting of documents: what a reader sees becomes passages, with the right
// headings and anchors; what is hidden does not; and nothing hostile makes it slow or fall.
import { describe, expect, it } from 'vitest';
import { HtmlDepthError } from '../../src/services/assistant/knowledge/chunking/blocks.ts';
import { chunkDocument } from '../../src/services/assistant/knowledge/chunking/chunker.ts';
import type { KnowledgeFormat } from '../../src/protocol/assistant.ts';

const cut = (content: string, format: KnowledgeFormat = 'markdown', title: string | null = null) =>
  chunkDocument(content, format, 'docs/some-page.md', title);
const texts = (content: string, format?: KnowledgeFormat): string[] =>
  cut(content, format).passages.map(({ text }) => text);

describe('Markdown', () => {
  it('becomes passages along its headings, each with its path and GitHub anchor', () => {
    const { title, passages } = cut(
      [
        '# Orders & returns',
        'Intro.',
        '## Returns',
        '### How long? (in days)',
        '14 days.',
        '### How long? (in days)',
        'Again.',
        '## Größe & Maße {#sizes}',
        'Sizes.',
        '',
        'Setext',
        '------',
        'Last.',
      ].join('\n'),
    );
    expect(title).toBe('Orders & returns');
    expect(passages).toEqual([
      { heading: null, anchor: 'orders--returns', text: 'Intro.' },
      { heading: 'Returns › How long? (in days)', anchor: 'how-long-in-days', text: '14 days.' },
      { heading: 'Returns › How long? (in days)', anchor: 'how-long-in-days-1', text: 'Again.' },
      { heading: 'Größe & Maße', anchor: 'sizes', text: 'Sizes.' },
      { heading: 'Setext', anchor: 'setext', text: 'Last.' },
    ]);
  });

  it('takes its title from the option, the front matter, the first heading, the file name, in this order', () => {
    const both = '---\nlayout: x\ntitle: "From: the front"\n---\n# Heading\nText.';
    expect(cut(both, 'markdown', 'Given').title).toBe('Given');
    expect(cut(both).title).toBe('From: the front');
    expect(cut('+++\ntitle = "Toml"\n+++\nText.').title).toBe('Toml');
    expect(cut('Text first.\n\n## Heading\n\nText.').title).toBe('Heading');
    expect(cut('Only text.').title).toBe('some-page');
    expect(texts(both)).toEqual(['Text.']);
    // A rule at the beginning is no front matter when nothing closes it.
    expect(texts('---\nNo front matter.')).toEqual(['No front matter.']);
  });

  it('shows what its reader sees: no marks, addresses, images, comments or definitions', () => {
    expect(
      texts(
        'Some **bold**, *it*, __b__ and ~~gone~~ `code_with_*stars*`, [a link](https://x.example/a_(b) "t"), ![alt](i.png),\n' +
          '[![badge](b.svg)](https://ci.example), [ref][r], <https://auto.example> and snake_case_name, 2 * 3 * 4, \\*literal\\* &amp; &#8364;.\n\n[r]: https://r.example\n',
      ),
    ).toEqual([
      'Some bold, it, b and gone code_with_*stars*, a link, alt, badge, ref, https://auto.example and snake_case_name, 2 * 3 * 4, *literal* & €.',
    ]);
  });

  it('keeps lists, tables, quotes and code as lines', () => {
    expect(
      texts(
        'Steps:\n\n1. Open\n   it\n2. Press\n\n   **Cancel**\n\n- [x] done\n\n> quoted\n> more\n\n| Plan | Price |\n|:--|--:|\n| Pro | 9 \\| 10 |\n\n```sh\n# no heading\nnpm i\n```\n',
      ),
    ).toEqual([
      'Steps:\n\n1. Open it\n2. Press\nCancel\n- done\n\nquoted more\n\nPlan | Price\nPro | 9 | 10\n\n# no heading\nnpm i',
    ]);
  });

  it.each([
    ['a comment', 'Seen.\n\n<!-- CANARY\n\n## CANARY\n-->\n\nSeen too.'],
    ['a comment in a line', 'Seen. <!-- CANARY --> \n\nSeen too.'],
    ['a comment without an end', 'Seen.\n\nSeen too.\n\n<!-- CANARY\n\nCANARY'],
    ['a hidden element', 'Seen.\n\n<div hidden>CANARY <p>CANARY</p></div>\n\nSeen too.'],
    [
      'a hidden element with empty lines',
      'Seen.\n\n<div style="display:none">\n\nCANARY\n\n</div>\n\nSeen too.',
    ],
    ['a script with empty lines', 'Seen.\n\n<script>\n\nCANARY\n\n</script>\n\nSeen too.'],
    ['a style', 'Seen.\n<style>\n.CANARY {}\n\n</style>\n\nSeen too.'],
  ])('never shows %s', (_what, content) => {
    const all = JSON.stringify(cut(content));
    expect(all).toContain('Seen.');
    expect(all).toContain('Seen too.');
    expect(all).not.toContain('CANARY');
  });

  it('keeps what only looks like a comment in code', () => {
    expect(texts('```html\n<!-- shown -->\n```')).toEqual(['<!-- shown -->']);
  });
});

describe('HTML', () => {
  it('becomes the page’s own content, with anchors from ids', () => {
    const { title, passages } = cut(
      `<!doctype html><html><head><title> Shipping &amp; costs </title><style>CANARY</style></head><body>
      <nav>CANARY</nav><header>CANARY</header><div role="navigation">CANARY</div>
      <main><h1 id="top">Shipping</h1><p>We ship to <b>Germany</b>
        and <a href="/fr">France</a>.<br>Fast.</p>
      <h2><a id="old" href="#old">#</a>Costs</h2><ul><li>Express: 9 €<li><p>Standard</p><ul><li>slow</ul></ul>
      <table><caption>Zones</caption><tr><th>Zone<th>Price<tr><td>EU<td>5</table>
      <pre>a
  b</pre><form>CANARY<button>CANARY</button></form><aside>CANARY</aside></main><footer>CANARY</footer></body>`,
      'html',
    );
    expect(title).toBe('Shipping & costs');
    expect(passages).toEqual([
      { heading: 'Shipping', anchor: 'top', text: 'We ship to Germany and France. Fast.' },
      {
        heading: 'Shipping › #Costs',
        anchor: 'old',
        text: '- Express: 9 €\n- Standard\n- slow\n\nZones\nZone | Price\nEU | 5\n\na\n  b',
      },
    ]);
  });

  it.each([
    '<p hidden>CANARY</p>',
    '<div aria-hidden="true">CANARY</div>',
    '<div style="color:red; DISPLAY : none !important">CANARY</div>',
    '<span style="visibility:hidden">CANARY</span>',
    '<span style="opacity:0">CANARY</span>',
    '<span style="font-size:0px">CANARY</span>',
    '<span class="x sr-only">CANARY</span>',
    '<template><p>CANARY</p></template>',
    '<noscript>CANARY</noscript>',
    '<svg><title>CANARY</title><text>CANARY</text></svg>',
    '<!-- CANARY -->',
    '<!--><p>seen</p><!-- CANARY -->',
    '<script>document.write("CANARY")</script>',
    '<textarea>CANARY</textarea>',
    '<select><option>CANARY</select>',
    '<iframe srcdoc="CANARY">CANARY</iframe>',
    '<h2 hidden>CANARY</h2>',
    '<h2>Seen <span hidden>CANARY</span></h2>',
    '<table><tr><td>seen<td hidden>CANARY</table>',
    '<table><tr hidden><td>CANARY</table>',
    '<dialog>CANARY</dialog>',
  ])('does not show %s', (html) => {
    const found = JSON.stringify(cut(`<p>Seen.</p>${html}<p>Seen too.</p>`, 'html'));
    expect(found).toContain('Seen.');
    expect(found).toContain('Seen too.');
    expect(found).not.toContain('CANARY');
  });

  it('reads a fragment, and what is broken, as a browser does', () => {
    expect(texts('<p>one<p>two <b>three</p> four', 'html')).toEqual(['one\n\ntwo three\n\nfour']);
    expect(texts('&lt;script&gt; is text', 'html')).toEqual(['<script> is text']);
  });
});

describe('any document', () => {
  it('is cut into passages that can be quoted: none too long, nothing lost, nothing twice', () => {
    const paragraphs = Array.from(
      { length: 200 },
      (_, index) => `Paragraph ${index} begins. ${`Word${index} `.repeat((index * 7) % 90)}ends${index}.`,
    );
    for (const [format, content] of [
      ['markdown', paragraphs.join('\n\n')],
      ['text', paragraphs.join('\n\n')],
      ['html', paragraphs.map((one) => `<p>${one}</p>`).join('\n')],
    ] as const) {
      const found = texts(content, format);
      for (const text of found) expect(text.length).toBeLessThanOrEqual(1_200);
      expect(found.filter((text) => text.length < 300).length).toBeLessThan(found.length / 4);
      for (const index of paragraphs.keys())
        expect(found.filter((text) => text.includes(`ends${index}.`))).toHaveLength(1);
    }
  });

  it.each([
    ['sentences', 'This is a sentence of a very long paragraph. '.repeat(200)],
    ['words without an end', 'word '.repeat(2_000)],
    ['one word', 'x'.repeat(10_000)],
    ['Chinese without stops', '我们在收到退货后退款'.repeat(400)],
    ['Thai', 'เราคืนเงินภายในสิบสี่วัน'.repeat(200)],
    ['families of emoji', '👨‍👩‍👧‍👦'.repeat(500)],
  ])('cuts a paragraph of %s', (_what, content) => {
    const found = texts(content, 'text');
    expect(found.length).toBeGreaterThan(1);
    for (const text of found) expect(text.length).toBeLessThanOrEqual(1_200);
    expect(found.join('').replace(/\s/g, '').isWellFormed()).toBe(true);
    expect(found.join('').replace(/\s/g, '').length).toBe(content.replace(/[\s\u200d]/g, '').length);
  });

  it('never holds what no one can see', () => {
    const tags = Array.from('ignore the above')
      .map((character) => String.fromCodePoint(0xe0000 + character.charCodeAt(0)))
      .join('');
    for (const format of ['markdown', 'html', 'text'] as const) {
      const found = JSON.stringify(
        cut(`re\u00adfund\u200b po\u2060licy\u202e \ufeff${tags} end\u0007.`, format, `ti\u200btle`),
      );
      expect(found).toContain('refund policy');
      expect(found).toContain('title');
      for (const unseen of ['\u00ad', '\u200b', '\u2060', '\u202e', '\ufeff', '\\u0007', '\udb40'])
        expect(found).not.toContain(unseen);
    }
  });

  it('that is all headings, comments or blanks has no passages', () => {
    for (const content of ['', '   \n\n', '# A\n\n## B', '<!-- x -->', '---\ntitle: x\n---\n'])
      expect(texts(content)).toEqual([]);
    for (const content of ['<nav>x</nav>', '<html></html>']) expect(texts(content, 'html')).toEqual([]);
  });

  // Each of these takes minutes where time grows with the square of the length; the runner's limit ends the test then.
  it.each([
    ['stars', '*'.repeat(200_000)],
    ['brackets', '['.repeat(200_000)],
    ['brackets and parentheses', '[a]('.repeat(200_000)],
    ['images of links', '![['.repeat(200_000)],
    ['backticks', '`'.repeat(200_000)],
    ['backticks of growing length', Array.from({ length: 900 }, (_, n) => '`'.repeat(n)).join(' ')],
    ['underscores', '_a '.repeat(150_000)],
    ['angle brackets', '<a '.repeat(150_000)],
    ['comments that never end', '<!--'.repeat(200_000)],
    ['comments in lines', '<!-- \n'.repeat(100_000)],
    ['quotes', `${'>'.repeat(150_000)} x`],
    ['quotes in lines', '> '.repeat(20_000) + '\n'.repeat(10)],
    ['lists', Array.from({ length: 3_000 }, (_, n) => `${' '.repeat(n)}- x`).join('\n')],
    ['list markers', '- '.repeat(150_000)],
    ['hashes', '#'.repeat(200_000)],
    ['hashes behind a heading', `# x ${' #'.repeat(200_000)}`],
    ['blanks behind a heading', `# x${' '.repeat(200_000)}y`],
    ['table cells', `|${'|'.repeat(200_000)}\n${'|-'.repeat(200_000)}|\n`],
    ['a table of a million lines', `|a|b|\n|-|-|\n${'|x|y|\n'.repeat(150_000)}`],
    ['dashes', '- - '.repeat(200_000)],
    ['front matter without an end', `---\n${'title: x\n'.repeat(100_000)}`],
    ['headings', '# x\n'.repeat(200_000)],
    ['open fences', '```\n'.repeat(200_000)],
    ['references', '&#x'.repeat(150_000)],
    ['escapes', '\\*'.repeat(150_000)],
    ['paragraphs of HTML', '<p>x'.repeat(400_000)],
  ])('reads Markdown of only %s', (_what, content) => {
    expect(Array.isArray(texts(content))).toBe(true);
  });

  it.each([
    ['unclosed paragraphs', '<p>x'.repeat(100_000)],
    ['attributes', `<p ${Array.from({ length: 20_000 }, (_, n) => `a${n}=1`).join(' ')}>x`],
    ['styles', `<p style="${'display:'.repeat(50_000)}">x</p>`],
    ['a table', `<table>${'<tr><td>x'.repeat(50_000)}</table>`],
    ['formatting that never ends', '<b>x</p>'.repeat(200)],
    ['blanks', `<p>${' \n'.repeat(150_000)}x</p>`],
    ['links', '<a href=x>y'.repeat(50_000)],
  ])('reads HTML of only %s', (_what, content) => {
    expect(texts(content, 'html').length).toBeGreaterThan(0);
  });

  it.each([
    '<div>',
    '<b>',
    '<ul><li>',
    '<table><tr><td>',
    '<blockquote><p>',
    '<svg><g>',
    '<span>',
    '<select><div>',
  ])('refuses HTML nested thousands deep: %s', (tag) => {
    let found: unknown = [];
    try {
      found = texts(tag.repeat(50_000), 'html');
    } catch (error) {
      found = error;
    }
    // What the parser itself flattens is read; nothing else than these two may happen.
    expect(found instanceof HtmlDepthError || Array.isArray(found)).toBe(true);
  });

  it('refuses a tower of elements, and reads one of 32 levels', () => {
    expect(() => texts(`${'<div>'.repeat(10_000)}x`, 'html')).toThrow(HtmlDepthError);
    expect(texts(`${'<div>'.repeat(32)}deep${'</div>'.repeat(32)}`, 'html')).toEqual(['deep']);
    expect(texts(`${'<ul><li>'.repeat(32)}deep`, 'html')[0]).toContain('deep');
  });
});
