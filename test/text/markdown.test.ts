// Owns: constrained Markdown and its way into messages, attacked with what a model, a document or a visitor may write.
// Must not know how it is parsed: only what comes out counts, and whether a message may have it.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { prepareContent } from '../../src/services/content/content.ts';
import { MAX_LEXICAL_NODES } from '../../src/services/content/lexical.ts';
import { stripHidden } from '../../src/text/strip-hidden.ts';
import {
  constrainMarkdown,
  escapeMarkdown,
  markdownLink,
  markdownText,
  markdownToLexical,
  MAX_NODES,
  quoteMarkdown,
} from '../../src/text/markdown.ts';
import { hasVisibleText } from '../../src/text/text.ts';

/** The message that a Markdown text becomes. */
async function message(markdown: string): Promise<{ html: string; text: string }> {
  const prepared = prepareContent(await markdownToLexical(markdown), 'lexical', 10_000_000);
  if (!prepared.ok) throw new Error(prepared.problem);
  return { html: prepared.value.contentHtml ?? '', text: prepared.value.text };
}

const hrefs = (html: string): string[] =>
  [...html.matchAll(/<a [^>]*?href="([^"]*)"/g)].map((match) => match[1] ?? '');

describe('what is kept', () => {
  test('paragraphs, bold, italic, both, inline code and links', async () => {
    const markdown =
      'One **bold**, *italic*, ***both*** and `code`.\n\nTwo [link](https://example.com/a_b?c=1).';
    await expect(constrainMarkdown(markdown)).resolves.toBe(markdown);
    expect((await message(markdown)).html).toBe(
      '<p>One <strong>bold</strong>, <em>italic</em>, <strong><em>both</em></strong> and <code>code</code>.</p>' +
        '<p>Two <a href="https://example.com/a_b?c=1" target="_blank" rel="noopener noreferrer">link</a>.</p>',
    );
  });

  test('strikethrough in a message of two tildes, not in an answer of the assistant', async () => {
    const markdown = 'It costs ~~12~~ **~~10~~** 8, in ~5 or ~6 days.';
    expect((await message(markdown)).html).toBe(
      '<p>It costs <s>12</s> <strong><s>10</s></strong> 8, in ~5 or ~6 days.</p>',
    );
    expect((await message('one ~two~ three')).html).toBe('<p>one ~two~ three</p>');
    await expect(constrainMarkdown('~~12~~ 8')).resolves.toBe('12 8');
  });

  test('underline in a message between two pluses, where they are no letters of a word', async () => {
    const markdown = 'It is ++very **bold** and [a link](https://x.example/) here++, not in C++ or `++i++`.';
    expect((await message(markdown)).html).toBe(
      '<p>It is <u>very </u><strong><u>bold</u></strong><u> and </u>' +
        '<a href="https://x.example/" target="_blank" rel="noopener noreferrer"><u>a link</u></a><u> here</u>' +
        ', not in C++ or <code>++i++</code>.</p>',
    );
    for (const text of ['C++ and D++', 'a ++ b ++ c', '+++a+++', '++a', 'i++; j++', '++++'])
      expect((await message(text)).html).toBe(`<p>${text}</p>`);
    expect((await message('\\+\\+a\\+\\+ and `\\+`')).html).toBe('<p>++a++ and <code>\\+</code></p>');
    expect((await message('**a ++b** c++')).html).toBe('<p><strong>a ++b</strong> c++</p>');
    await expect(constrainMarkdown('++a++ in C++')).resolves.toBe('\\+\\+a++ in C++');
  });

  test('lists, also in lists, and blocks of code with their language', async () => {
    const markdown = '- a\n- b\n  - c\n\n1. one\n2. two\n   1. in\n\n```js\nlet a = `1`;\n```';
    await expect(constrainMarkdown(markdown)).resolves.toBe(markdown);
    const { html } = await message(markdown);
    expect(html).toContain('<ul><li>a</li><li>b</li><li><ul><li>c</li></ul></li></ul>');
    expect(html).toContain('<ol><li>one</li><li>two</li>');
    expect(html).toContain('<pre><code class="language-js">let a = `1`;</code></pre>');
  });

  test('breaks of lines, written or not', async () => {
    await expect(constrainMarkdown('one\ntwo  \nthree\\\nfour')).resolves.toBe('one\ntwo  \nthree  \nfour');
    expect((await message('one\ntwo')).html).toBe('<p>one<br>two</p>');
  });

  test('every script, emoji and right-to-left text as they are', async () => {
    const text = 'Привет, 你好 สวัสดี مرحبا 👩‍👩‍👧 می‌خواهم';
    await expect(constrainMarkdown(text)).resolves.toBe(text);
    expect((await message(text)).text).toBe(text);
  });
});

describe('what becomes text', () => {
  test('headings, quotes, tables, rules, tasks and strokes', async () => {
    const markdown =
      '# Title #\nbelow\n\nSetext\n===\n\n> quoted\n> twice\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n---\n\n- [x] done\n\n~~gone~~';
    await expect(constrainMarkdown(markdown)).resolves.toBe(
      'Title\n\nbelow\n\nSetext\n\nquoted\ntwice\n\na · b\n1 · 2\n\n- done\n\ngone',
    );
  });

  test('images become their alt text, inside links too, and code keeps its marks', async () => {
    await expect(constrainMarkdown('![a *b*](https://evil.example/?q=1) ![](x)')).resolves.toBe('a b');
    await expect(constrainMarkdown('[![alt](https://evil.example/i.png)](https://ok.example)')).resolves.toBe(
      '[alt](https://ok.example)',
    );
    await expect(constrainMarkdown('`![a](b)`')).resolves.toBe('`![a](b)`');
    await expect(constrainMarkdown('![![in](x)](y)')).resolves.toBe('in');
  });

  test('raw HTML stays the letters that it is, for a reader of Markdown as for a reader of the message', async () => {
    const markdown = '<img src=x onerror=alert(1)> <script>x</script> <!-- c --> 1 < 2 &lt;b&gt; &#60;i>';
    const constrained = await constrainMarkdown(markdown);
    expect(constrained).not.toMatch(/(?<!\\)<[a-z/!?]/i);
    expect(constrained).not.toMatch(/(?<!\\)&lt;/);
    const { html } = await message(markdown);
    expect(html).toMatch(/^<p>&lt;img/);
    expect(html.replace(/<\/?p>/g, '')).not.toContain('<');
  });

  test.each([
    'javascript:alert(1)',
    'JaVaScRiPt:alert(1)',
    'java\u0000script:alert(1)',
    'data:text/html,<b>',
    'vbscript:x',
    'file:///etc/passwd',
    '/relative',
    '//evil.example',
    'https:evil.example',
    'https://user@evil.example',
    'https://good.example&#64;evil.example/',
    'https://good.example&commat;evil.example/',
    'java&#115;cript:alert(1)',
    'javascript&colon;alert(1)',
  ])('a link to %j is its text', async (address) => {
    for (const markdown of [`[text](${address})`, `[text](<${address}>)`, `[text](${address} "title")`]) {
      expect(hrefs((await message(markdown)).html)).toEqual([]);
      expect(await constrainMarkdown(markdown)).not.toMatch(/(?<!\\)\]\(/);
      expect((await message(markdown)).text).toContain('text');
    }
  });

  test('reference links and their definitions are inert', async () => {
    const constrained = await constrainMarkdown('[text][1]\n\n[1]: https://evil.example');
    expect(constrained).toBe('\\[text\\]\\[1\\]\n\n\\[1\\]: https://evil.example');
  });

  test('addresses in angle brackets are links only where links may go', async () => {
    await expect(constrainMarkdown('<https://ok.example/a>')).resolves.toBe(
      '[https://ok.example/a](https://ok.example/a)',
    );
    await expect(constrainMarkdown('<javascript:alert(1)>')).resolves.toBe('\\<javascript:alert(1)>');
  });

  test('a link that the caller does not keep is its text', async () => {
    const keepLink = (href: string): boolean => href.startsWith('https://ok.example');
    await expect(
      constrainMarkdown('[a](https://ok.example/1) [b](https://evil.example)', { keepLink }),
    ).resolves.toBe('[a](https://ok.example/1) b');
  });
});

describe('what an enemy sends', () => {
  test('lists in a thousand lists, and a thousand levels of anything, stay within what a message may have', async () => {
    const deep = Array.from({ length: 1_000 }, (_, level) => `${' '.repeat(level * 2)}- level ${level}`).join(
      '\n',
    );
    expect((await message(deep)).text).toContain('level 999');
    for (const nested of [
      '> '.repeat(1_000),
      '- '.repeat(1_000),
      '['.repeat(5_000),
      '*'.repeat(5_000),
      '`'.repeat(5_000),
      '![['.repeat(2_000),
    ]) {
      expect((await message(`${nested}end`)).text).toContain('end');
    }
  });

  test.each([
    ['headings by underlines', 'a\n=\n'.repeat(6_000)],
    [
      'lists by indentation',
      Array.from({ length: 140 }, (_, level) => `${' '.repeat(level * 2)}- a`).join('\n'),
    ],
    ['quotes in lists in one line', '- > '.repeat(300)],
  ])('%s, more than anybody writes, are text', async (_name, markdown) => {
    expect((await message(`**end**\n\n${markdown}`)).html).not.toContain('<strong>');
    expect((await message(`**end**\n\n${markdown.slice(0, 8)}`)).html).toContain('<strong>');
  });

  test('more nodes than a message may have become fewer, and no word is lost', async () => {
    expect(MAX_NODES).toBe(MAX_LEXICAL_NODES);
    expect(
      (await message(Array.from({ length: 3_000 }, (_, at) => `- item${at}`).join('\n'))).text,
    ).toContain('item2999');
    expect((await message('**b** c '.repeat(2_000))).text).toContain('b');
    expect((await message('line\n'.repeat(9_000))).text).toContain('line');
  });

  test('a number that is no character, half a character, U+0000 and an unclosed fence', async () => {
    expect((await message('a &#99999999999; b')).text).toBe('a &#99999999999; b');
    expect((await message('a\ud800b\u0000c')).text).toBe('a\ufffdbc');
    expect((await message('```js\nnever closed')).html).toContain('never closed');
    expect((await message('```evil"onload=x\ncode\n```')).html).not.toContain('onload');
  });

  test('text that hides is dropped, text that needs its joiners is not', () => {
    expect(stripHidden('a\u200bb\u202ec\u2066d\u{e0041}e\u{e0101}f\ufeffg\u001bh\r\ni')).toBe('abcdefgh\ni');
    expect(stripHidden('می‌خواهم 👩‍👧')).toBe('می‌خواهم 👩‍👧');
  });

  test('any text at all: it can be sent whenever it shows something, with links only where they may go', async () => {
    const marks = [
      '*',
      '**',
      '_',
      '`',
      '```\n',
      '[',
      ']',
      '(',
      ')',
      '![',
      '<',
      '>',
      '&',
      '~',
      '!',
      '|',
      '\\',
      '&#60;',
      '<b>',
      '- ',
      '1. ',
      '# ',
      '> ',
    ];
    const others = [
      '\n',
      '\n\n',
      '  ',
      '---\n',
      'word',
      'Ж',
      '你',
      '\u202e',
      '](https://a.example)',
      '](javascript:1)',
    ];
    const piece = fc.constantFrom(...marks, ...others, 'https://b.example/x_y', '<https://c.example>');
    await fc.assert(
      fc.asyncProperty(fc.array(piece, { maxLength: 30 }), async (pieces) => {
        const markdown = pieces.join('');
        const prepared = prepareContent(await markdownToLexical(markdown), 'lexical', 1_000_000);
        if (prepared.ok) {
          for (const href of hrefs(prepared.value.contentHtml ?? ''))
            expect(href).toMatch(/^https:\/\/[abc]\.example/);
          expect(prepared.value.contentHtml).not.toMatch(
            /<(?!\/?(?:p|br|strong|em|s|code|pre|ul|ol|li|a)\b)/,
          );
        }
        const words = /word|Ж|你/.test(markdown.replace(/(?:`{3,}|~{3,}).*/g, ''));
        if (words) expect(prepared.ok).toBe(true);
        const constrained = await constrainMarkdown(markdown);
        // From the left: an escaped mark begins no code, and code holds no escapes.
        const outsideCode = constrained.replaceAll(/\\[\\<[\]!`]|(`+)[\s\S]*?(?<!`)\1(?!`)/g, '·');
        expect(outsideCode).not.toMatch(/<[a-z]|!\[/i);
        for (const [, address] of outsideCode.matchAll(/\]\(([^)]*)\)/g))
          expect(address).toMatch(/^https:\/\/[abc]\.example/);
      }),
      { numRuns: 400 },
    );
  });
});

describe('plain text as Markdown', () => {
  test('shows exactly what it says', async () => {
    const text =
      '# not a heading\n1. *stars* [x](https://a.example) <b> a_b_c\n- dash\n\n`tick` ![i](x) &lt; \\ end';
    expect((await message(escapeMarkdown(text))).text.replaceAll('\n', ' ')).toBe(
      text.replaceAll(/\n+/g, ' '),
    );
    expect((await message(escapeMarkdown(text))).html).not.toMatch(/<(?:a|em|h1|ul|ol|code)\b/);
    expect(await markdownText('**a** [b](https://c.example)\n\n- d')).toBe('a b\nd');
  });

  test('keeps the lists of a passage, and nothing else of it is Markdown', async () => {
    const passage =
      'You need *all*:\n- a [x](https://a.example)\n- <b>\n\n1. first\n2. second\n\nDone - or 1. not.';
    expect((await message(quoteMarkdown(passage))).html).toBe(
      '<p>You need *all*:</p><ul><li>a [x](https://a.example)</li><li>&lt;b&gt;</li></ul><ol><li>first</li><li>second</li></ol><p>Done - or 1. not.</p>',
    );
  });

  test('a link whose title tries to leave it', () => {
    expect(markdownLink('a](https://evil.example) [b', 'https://ok.example/(x)')).toBe(
      '[a\\](https://evil.example) \\[b](https://ok.example/%28x%29)',
    );
    expect(markdownLink('a *b*', 'javascript:1')).toBe('a \\*b\\*');
    expect(markdownLink('a', null)).toBe('a');
  });

  test('nothing shows where nothing was', async () => {
    for (const nothing of ['', ' \n ', '![](x)', '---', '\u200b']) {
      expect(hasVisibleText(await constrainMarkdown(nothing))).toBe(false);
    }
  });
});
