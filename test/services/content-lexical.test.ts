// Attacks the reader of Lexical JSON: T177-T179, limits, storable text, prototype names; and its plain text.
// Must not test HTML.

import { describe, expect, it } from 'vitest';
import { checkLexical, plainText } from '../../src/services/content/lexical.ts';

const text = (value: unknown, more: object = {}) => ({ type: 'text', text: value, ...more });
const node = (type: unknown, ...children: unknown[]) => ({ type, children });
const source = (...children: unknown[]) => JSON.stringify({ root: { type: 'root', version: 1, children } });
const check = (...children: unknown[]) => checkLexical(source(...children));
const lines = (...children: unknown[]) => {
  const checked = check(...children);
  if (!checked.ok) throw new Error(checked.problem);
  return plainText(checked.root);
};

/** A text at the given level, each node above it of an unknown type. */
function atLevel(level: number, leaf: unknown = text('x')): unknown {
  return level === 1 ? leaf : node('quote', atLevel(level - 1, leaf));
}

describe('the shape of a document (T178)', () => {
  const good = { type: 'root', version: 1, children: [text('hi')] };

  it('takes the smallest document', () => {
    expect(checkLexical(JSON.stringify({ root: good }))).toMatchObject({ ok: true, root: { type: 'root' } });
  });

  it.each([
    ['plain words', 'hello'],
    ['empty', ''],
    ['cut off', '{"root":'],
    ['null', 'null'],
    ['an array', JSON.stringify([{ root: good }])],
    ['a string', JSON.stringify(JSON.stringify({ root: good }))],
    ['no root', JSON.stringify({ Root: good })],
    ['root null', JSON.stringify({ root: null })],
    ['root an array', JSON.stringify({ root: [good] })],
    ['root a string', JSON.stringify({ root: 'root' })],
    ['children missing', JSON.stringify({ root: { ...good, children: undefined } })],
    ['children an object', JSON.stringify({ root: { ...good, children: { 0: text('x') } } })],
    ['children a string', JSON.stringify({ root: { ...good, children: 'x' } })],
    ['another type', JSON.stringify({ root: { ...good, type: 'Root' } })],
    ['no type', JSON.stringify({ root: { ...good, type: undefined } })],
    ['version 2', JSON.stringify({ root: { ...good, version: 2 } })],
    ['version "1"', JSON.stringify({ root: { ...good, version: '1' } })],
    ['no version', JSON.stringify({ root: { ...good, version: undefined } })],
    [
      'root inherited only',
      '{"__proto__":{"root":{"type":"root","version":1,"children":[{"type":"text","text":"x"}]}}}',
    ],
    ['a byte order mark', `\ufeff${JSON.stringify({ root: good })}`],
  ])('refuses %s', (_, json) => {
    const checked = checkLexical(json);
    expect(checked.ok).toBe(false);
    expect(!checked.ok && checked.problem).toMatch(/^(is|must|shows) .+\.$/);
  });
});

describe('nodes (T177, T179)', () => {
  it.each([
    null,
    5,
    'x',
    true,
    [],
    [text('x')],
    {},
    { text: 'x' },
    { type: null },
    { type: {} },
    { type: ['text'] },
  ])('refuses the child %j, at the top and inside', (child) => {
    expect(check(text('x'), child)).toMatchObject({
      ok: false,
      problem: expect.stringContaining('root.children[1]'),
    });
    expect(check(node('paragraph', text('x'), child))).toMatchObject({
      ok: false,
      problem: expect.stringContaining('root.children[0].children[1]'),
    });
  });

  it.each([undefined, null, 5, {}, ['x']])('refuses a text node with text %j', (value) => {
    expect(check(text('x'), text(value)).ok).toBe(false);
  });

  it.each([-1, 1.5, '1', null, {}, [], true])('refuses a text node with format %j', (format) => {
    expect(check(text('x', { format })).ok).toBe(false);
  });

  it('refuses an infinite format', () => {
    expect(checkLexical(source(text('x', { format: 7 })).replace('7', '1e400')).ok).toBe(false);
  });

  it.each([undefined, 0, 31, 32, 1024, 2 ** 40 + 1])('takes a text node with format %j', (format) => {
    expect(check(text('x', { format })).ok).toBe(true);
  });

  it.each(['', 'left', null, -1, {}])('lets elements use format as they like: %j', (format) => {
    expect(
      check({ type: 'paragraph', format, children: [text('x')] }, { type: 'mention', text: 'y', format }).ok,
    ).toBe(true);
  });

  it.each([null, {}, 'x', 5])('refuses a node whose children are %j', (children) => {
    expect(check(text('x'), { type: 'paragraph', children }).ok).toBe(false);
  });

  it.each([
    'iframe',
    'image',
    '__proto__',
    'constructor',
    'toString',
    'hasOwnProperty',
    '',
    7,
    'root',
    'Paragraph',
  ])('reads the type %j as unknown and keeps what is in it', (type) => {
    const checked = check({ type, text: 'own ', children: [node('paragraph', text('inner'))] });
    expect(checked).toMatchObject({ ok: true, root: { children: [{ type: 'unknown', text: 'own ' }] } });
    expect(checked.ok && plainText(checked.root)).toBe('own \ninner');
  });

  it('passes on no field that it does not name', () => {
    const checked = check(
      text('x', { style: 'color:red', $: { a: 1 }, mode: 'normal', detail: 2, __proto__: 1 }),
    );
    expect(checked.ok && checked.root.children[0]).toEqual({
      type: 'text',
      text: 'x',
      format: 0,
      children: [],
    });
  });
});

describe('limits', () => {
  it('takes 32 levels below the root and refuses 33', () => {
    expect(check(atLevel(32)).ok).toBe(true);
    expect(check(atLevel(32, { ...text('x'), children: [] })).ok).toBe(true);
    expect(check(atLevel(33))).toMatchObject({
      ok: false,
      problem: expect.stringContaining('nested too deeply'),
    });
  });

  it.each([36, 5_000, 30_000])('refuses %i levels before parsing them', (level) => {
    const json = `${'{"type":"a","children":['.repeat(level)}${']}'.repeat(level)}`;
    const checked = checkLexical(`{"root":{"type":"root","version":1,"children":[${json}]}}`);
    expect(checked).toMatchObject({ ok: false, problem: expect.stringContaining('nested too deeply') });
  });

  it('takes 2,000 nodes and refuses 2,001, wherever they stand', () => {
    const texts = (count: number) => Array.from({ length: count }, () => text('x'));
    expect(check(...texts(2000)).ok).toBe(true);
    expect(check(...texts(2001))).toMatchObject({
      ok: false,
      problem: expect.stringContaining('too many nodes'),
    });
    expect(check(node('paragraph', ...texts(999)), node('paragraph', ...texts(999))).ok).toBe(true);
    expect(check(node('paragraph', ...texts(999)), node('paragraph', ...texts(1000))).ok).toBe(false);
  });
});

describe('text that cannot be kept or seen', () => {
  it.each(['a\0', '\ud800', 'x\udc00'])('refuses %j in text and in an unknown node', (value) => {
    expect(check(text('x'), text(value)).ok).toBe(false);
    expect(check(text('x'), { type: 'mention', text: value }).ok).toBe(false);
  });

  it.each([
    [[]],
    [[node('paragraph')]],
    [[node('paragraph', text(''))]],
    [[node('paragraph', text(' \u200b'), node('linebreak'), text('\u2800'))]],
    [[{ type: 'link', url: 'https://a.example', children: [] }]],
    [[{ type: 'image', src: 'https://a.example/x.png', altText: 'x' }]],
  ])('refuses a document that shows nothing: %j', (children) => {
    expect(check(...children)).toMatchObject({
      ok: false,
      problem: expect.stringContaining('shows no text'),
    });
  });
});

describe('plainText', () => {
  it('puts each block on a line of its own', () => {
    const item = (...children: unknown[]) => node('listitem', ...children);
    expect(
      lines(
        { ...node('heading', text('Title')), tag: 'h1' },
        node('paragraph', text('a '), text('b', { format: 1 }), node('linebreak'), text('c')),
        node('paragraph'),
        node(
          'list',
          item(text('one')),
          item(text('two'), node('list', item(text('deep')))),
          item(text('three')),
        ),
        node('code', text('x = 1'), node('linebreak'), { type: 'code-highlight', text: 'y = 2' }),
        node('quote', text('said')),
        node('quote', text('again')),
      ),
    ).toBe('Title\na b\nc\none\ntwo\ndeep\nthree\nx = 1\ny = 2\nsaid\nagain');
  });

  it('keeps inline nodes of unknown types in their line', () => {
    const mention = { type: 'mention', text: '@ann' };
    expect(lines(node('paragraph', text('hi '), mention, text('!')))).toBe('hi @ann!');
    expect(lines(node('quote', text('hi '), mention, text('!')))).toBe('hi @ann!');
    expect(lines(node('list', node('listitem', mention, mention)))).toBe('@ann@ann');
  });

  it('keeps the text of links and not their address', () => {
    const link = { ...node('link', text('here')), url: 'https://a.example/secret' };
    expect(lines(node('paragraph', text('see '), link, text('.')))).toBe('see here.');
  });

  it('keeps text as it was written', () => {
    expect(lines(node('paragraph', text('<b>&amp; e\u0301 \u202eשלום')))).toBe('<b>&amp; e\u0301 \u202eשלום');
  });
});
