// Attacks how a message's content becomes rows: the contract's nodes, hostile trees, links that lie, anything at all.
// Must not test wrapping for its own sake.

import fc from 'fast-check';
import { renderToString, Box, Text } from 'ink';
import { createElement } from 'react';
import stringWidth from 'string-width';
import { describe, expect, it } from 'vitest';
import { contentLines } from '../../../src/cli/console/text/rich-lines.ts';
import { textOf } from '../../../src/cli/console/text/wrap.ts';
import { OBEYED, inkColumns } from './screen.ts';
import { strangeText } from './strange-text.ts';

type Node = Readonly<Record<string, unknown>>;
const text = (value: string, format = 0): Node => ({ type: 'text', text: value, format });
const node = (type: string, ...children: readonly Node[]): Node => ({ type, children });
const paragraph = (...children: readonly Node[]): Node => node('paragraph', ...children);
const list = (listType: string, ...items: readonly Node[]): Node => ({
  type: 'list',
  listType,
  children: items,
});
const item = (...children: readonly Node[]): Node => node('listitem', ...children);
const link = (url: unknown, ...children: readonly Node[]): Node => ({ type: 'link', url, children });
const br: Node = { type: 'linebreak' };
const tree = (...children: readonly Node[]): string =>
  JSON.stringify({ root: { type: 'root', version: 1, children } });

const lines = (content: string, columns = 60): string[] =>
  contentLines({ content, contentFormat: 'lexical' }, columns).map(textOf);
const shown = (...children: readonly Node[]): string[] => lines(tree(...children));
const plain = (content: string, columns = 60): string[] =>
  contentLines({ content, contentFormat: 'plain' }, columns).map(textOf);

describe('plain text', () => {
  it('keeps its lines, its blank lines inside, its indents, and loses those around it', () => {
    expect(plain('\n\n  a\n\n\tb\n \n')).toEqual(['  a', '', '    b']);
    expect(plain('')).toEqual(['']);
    expect(plain('   ')).toEqual(['']);
  });

  it('is not taken for a tree', () => {
    expect(plain(tree(paragraph(text('x'))), 500)).toEqual([tree(paragraph(text('x')))]);
  });
});

describe('the nodes of the contract', () => {
  it('shows paragraphs apart, line breaks inside, and no more than one empty row', () => {
    expect(
      shown(paragraph(text('a'), br, text('b')), paragraph(), paragraph(), paragraph(text('c'))),
    ).toEqual(['a', 'b', '', 'c']);
  });

  it('gives text the styles of its bits, and unknown bits none', () => {
    const [row] = contentLines(
      {
        content: tree(
          paragraph(
            text('b', 1),
            text('i', 2),
            text('s', 4),
            text('u', 8),
            text('c', 16),
            text('all', 31),
            text('n', 32),
          ),
        ),
        contentFormat: 'lexical',
      },
      60,
    );
    expect(row).toEqual([
      { text: 'b', bold: true },
      { text: 'i', italic: true },
      { text: 's', strike: true },
      { text: 'u', underline: true },
      { text: 'c', color: 'cyan' },
      { text: 'all', bold: true, italic: true, strike: true, underline: true, color: 'cyan' },
      { text: 'n' },
    ]);
  });

  it('makes headings bold', () => {
    const rows = contentLines(
      {
        content: tree({ type: 'heading', tag: 'h2', children: [text('T'), text('i', 2)] }),
        contentFormat: 'lexical',
      },
      60,
    );
    expect(rows).toEqual([
      [
        { text: 'T', bold: true },
        { text: 'i', bold: true, italic: true },
      ],
    ]);
  });

  it('numbers and marks lists, lines wrapped items up, and nests', () => {
    expect(
      lines(
        tree(
          list(
            'number',
            item(text('alpha beta gamma')),
            item(list('bullet', item(text('in')), item(text('ner')))),
            item(text('z')),
          ),
        ),
        12,
      ),
    ).toEqual(['1. alpha', '   beta', '   gamma', '   • in', '   • ner', '2. z']);
    const ten = shown(list('number', ...Array.from({ length: 10 }, (_, index) => item(text(`n${index}`)))));
    expect([ten[0], ten[9]]).toEqual([' 1. n0', '10. n9']);
    expect(shown(list('bullet', item(text('a'), br, text('b')), item()))).toEqual(['• a', '  b', '• ']);
    expect(shown(list('bullet', item(paragraph(text('p1')), paragraph(text('p2')))))).toEqual([
      '• p1',
      '  p2',
    ]);
  });

  it('leaves text half of the columns, however deep a list is', () => {
    let deep: Node = list('bullet', item(text('the deepest words')));
    for (let level = 0; level < 20; level++) deep = list('bullet', item(deep));
    const rows = lines(tree(deep), 24);
    expect(
      rows
        .join(' ')
        .replace(/[\s•]+/g, ' ')
        .trim(),
    ).toBe('the deepest words');
    expect(rows.length).toBeLessThan(8);
  });

  it('shows code as it is: every blank, no formatting, indented, with its language', () => {
    expect(
      shown({
        type: 'code',
        language: 'js',
        children: [text('if (a) {'), br, text('\tb  =  1;', 1), br, text('}')],
      }),
    ).toEqual(['  js', '  if (a) {', '      b  =  1;', '  }']);
    expect(
      shown({
        type: 'code',
        language: '\u001b[2J',
        children: [node('code-highlight', text('x')), { type: 'code-highlight', text: 'y' }],
      }),
    ).toEqual(['  xy']);
  });

  it('shows the children of what it does not know: as blocks among blocks, inside a line among text', () => {
    expect(
      shown(node('table', node('row', paragraph(text('1')), paragraph(text('2')))), paragraph(text('3'))),
    ).toEqual(['1', '', '2', '', '3']);
    expect(shown(paragraph(text('a '), { type: 'mention', text: '@ann' }, text(' b')))).toEqual(['a @ann b']);
    expect(shown(node('quote', text('said so')))).toEqual(['│ said so']);
    expect(shown(text('loose'), paragraph(text('p')))).toEqual(['loose', '', 'p']);
  });
});

describe('links', () => {
  it.each([
    ['click', 'https://evil.example/x', 'click (https://evil.example/x)'],
    ['https://bank.example', 'https://evil.example/', 'https://bank.example (https://evil.example/)'],
    [
      'https://bank.example',
      'https://bank.example.evil.example',
      'https://bank.example (https://bank.example.evil.example)',
    ],
    ['bank.example/', 'https://bank.example', 'bank.example/'],
    ['https://a.example/x', 'https://a.example/x', 'https://a.example/x'],
    ['me@a.example', 'mailto:me@a.example', 'me@a.example'],
    ['ring', 'tel:+4930', 'ring (tel:+4930)'],
    ['', 'https://a.example', 'https://a.example'],
    // A look-alike host shows what it is.
    ['bank', 'https://bаnk.example', 'bank (https://xn--bnk-6cd.example/)'],
    // What is no link in the page is none here.
    ['x', 'javascript:alert(1)', 'x'],
    ['x', 'https://bank.example@evil.example', 'x'],
    ['x', '/relative', 'x'],
    ['x', 7, 'x'],
    ['x', 'https://a.example/\u001b]0;t\u0007', 'x'],
  ])('%j to %j', (label, url, expected) => {
    expect(shown(paragraph(link(url, text(label))))).toEqual([expected]);
  });

  it('never cuts a host, however long it is, and cuts a long path', () => {
    const host = `https://${'bank.example.'.repeat(80)}evil.example/`;
    expect(lines(tree(paragraph(link(host, text('x')))), 2000).join('')).toContain(host);
    const long = lines(tree(paragraph(link(`https://a.example/${'p'.repeat(3000)}`, text('x')))), 2000).join(
      '',
    );
    expect(long).toMatch(/^x \(https:\/\/a\.example\/p{100,}…\)$/);
    expect(long.length).toBeLessThan(320);
  });

  it('does not nest: the outer one counts', () => {
    expect(
      shown(paragraph(link('https://a.example', text('x '), link('https://b.example', text('y'))))),
    ).toEqual(['x y (https://a.example)']);
  });

  it('says the address of a link around blocks', () => {
    expect(shown(link('https://a.example', paragraph(text('x'))))).toEqual(['x', '', '(https://a.example)']);
  });
});

describe('what is no tree', () => {
  it.each([
    '',
    'hello',
    '{"root":',
    '[]',
    'null',
    '{"root":[]}',
    '{"root":{"children":7}}',
    '{"root":{"children":[null,1,"x",[]]}}',
  ])('shows %j as its text', (content) => {
    expect(lines(content)).toEqual([content]);
  });

  it('shows a tree of impossible depth or size as its text, quickly', () => {
    const deep = `{"root":{"children":${'[{"type":"quote","children":'.repeat(3000)}[]${'}]'.repeat(3000)}}}`;
    expect(lines(deep).join('')).toBe(deep);
    const many = JSON.stringify({
      root: { children: Array.from({ length: 20_000 }, () => ({ type: 'paragraph' })) },
    });
    expect(lines(many).join('').length).toBe(many.length);
  });

  it('shows a tree of 2,000 nodes whole', () => {
    const rows = shown(...Array.from({ length: 1000 }, (_, index) => paragraph(text(`p${index}`))));
    expect(rows).toHaveLength(1999);
    expect(rows.at(-1)).toBe('p999');
  });
});

describe('anything', () => {
  const anyNode = fc.letrec<{ node: Node }>((tie) => ({
    node: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      fc.record({
        type: fc.constant('text'),
        text: strangeText,
        format: fc.oneof(fc.integer({ min: 0, max: 64 }), fc.constantFrom('left', null, -1, 1.5)),
      }),
      fc.record({
        type: fc.constantFrom(
          'paragraph',
          'heading',
          'list',
          'listitem',
          'code',
          'link',
          'autolink',
          'linebreak',
          'quote',
          'table',
          'horizontalrule',
          'mention',
          7,
          null,
        ),
        listType: fc.constantFrom('bullet', 'number', 'check'),
        tag: fc.constantFrom('h1', 'h9'),
        language: fc.constantFrom('js', '\u001b[0m'),
        url: fc.oneof(strangeText, fc.webUrl()),
        text: fc.option(strangeText, { nil: undefined }),
        children: fc.oneof(fc.array(tie('node'), { maxLength: 5 }), fc.constantFrom(null, 'x', [null, 3])),
      }),
    ),
  })).node;

  it('becomes rows that fit, and that hold nothing a terminal obeys', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          strangeText,
          fc.array(anyNode, { maxLength: 6 }).map((nodes) => tree(...nodes)),
        ),
        fc.integer({ min: 1, max: 70 }),
        (content, columns) => {
          for (const contentFormat of ['plain', 'lexical'] as const) {
            const rows = contentLines({ content, contentFormat }, columns);
            expect(rows.length).toBeGreaterThan(0);
            for (const row of rows) {
              expect(inkColumns(textOf(row))).toBeLessThanOrEqual(columns);
              for (const span of row) expect(span.text).not.toMatch(OBEYED);
            }
          }
        },
      ),
      { numRuns: 250 },
    );
  });

  it('keeps every letter of every text of a tree', () => {
    const word = fc.stringMatching(/^[a-z]{1,12}$/);
    fc.assert(
      fc.property(
        fc.array(word, { minLength: 1, maxLength: 8 }),
        fc.integer({ min: 4, max: 40 }),
        (words, columns) => {
          const nodes = words.map((one, index) => {
            const inner = text(one, index);
            return (
              [
                paragraph(inner),
                list('bullet', item(inner)),
                { type: 'code', children: [inner] },
                node('unknown', inner),
                inner,
                link('x', inner),
              ][index % 6] ?? inner
            );
          });
          expect(
            lines(tree(...nodes), columns)
              .join('')
              .replace(/[^a-z]/g, ''),
          ).toBe(words.join(''));
        },
      ),
    );
  });

  it('leaves a border to its right where it is, in what Ink writes', () => {
    fc.assert(
      fc.property(strangeText, fc.integer({ min: 6, max: 30 }), (content, columns) => {
        const rows = contentLines({ content, contentFormat: 'plain' }, columns);
        const frame = createElement(
          Box,
          { borderStyle: 'single', width: columns + 2, flexDirection: 'column' },
          ...rows.map((row, key) => createElement(Text, { key, wrap: 'truncate' }, textOf(row) || ' ')),
        );
        const written = renderToString(frame, { columns: columns + 2 }).split('\n');
        expect(written).toHaveLength(rows.length + 2);
        written.forEach((row, index) => {
          expect(row).toMatch(/[│┐┘]$/);
          if (index === 0 || index === rows.length + 1) expect(stringWidth(row)).toBe(columns + 2);
        });
      }),
      { numRuns: 40 },
    );
  });
});
