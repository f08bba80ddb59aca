// Attacks the JSON reader that stands before bodies, frames and Lexical strings (depth, T119; prototype keys).
// Must not test what the JSON is used for.

import { describe, expect, it } from 'vitest';
import { parseJson } from '../../src/services/content/json.ts';

const arrays = (depth: number) => '['.repeat(depth) + ']'.repeat(depth);
const objects = (depth: number) => '{"a":'.repeat(depth) + '1' + '}'.repeat(depth);

describe('parseJson', () => {
  it.each(['null', '1', '"x"', 'true'])('reads the scalar %s at depth 0', (text) => {
    expect(parseJson(text, 0)).toEqual({ ok: true, value: JSON.parse(text) });
  });

  it.each([arrays, objects])('accepts 32 levels and refuses 33', (nested) => {
    expect(parseJson(nested(32))).toMatchObject({ ok: true });
    expect(parseJson(nested(33))).toEqual({ ok: false, reason: 'depth' });
    expect(parseJson(nested(1), 1)).toMatchObject({ ok: true });
    expect(parseJson(nested(1), 0)).toEqual({ ok: false, reason: 'depth' });
  });

  it.each([5_000, 30_000, 1_000_000])('refuses %i levels without overflowing the stack', (depth) => {
    expect(parseJson(arrays(depth))).toEqual({ ok: false, reason: 'depth' });
    expect(parseJson('['.repeat(depth))).toEqual({ ok: false, reason: 'depth' });
  });

  it('counts levels open at once, not brackets', () => {
    expect(parseJson(`[${'[],{},'.repeat(1_000)}0]`, 2)).toMatchObject({ ok: true });
  });

  it.each([
    ['brackets in a string', JSON.stringify(['[{'.repeat(100)])],
    ['an escaped quote before brackets', JSON.stringify([`\\"${'['.repeat(100)}`])],
    ['a string that ends in backslashes', JSON.stringify(['\\\\', '['.repeat(100)])],
    ['brackets in a key', JSON.stringify({ ['"{['.repeat(100)]: 1 })],
  ])('does not count %s', (_, text) => {
    expect(parseJson(text, 1)).toEqual({ ok: true, value: JSON.parse(text) });
  });

  it('sees depth behind a string that ends in an escaped backslash', () => {
    expect(parseJson(`["\\\\",${arrays(40)}]`)).toEqual({ ok: false, reason: 'depth' });
  });

  it('cannot be made to see fewer levels by closing what was never opened', () => {
    const result = parseJson(`${']'.repeat(100)}${arrays(100)}`);
    expect(result).toEqual({ ok: false, reason: 'syntax' });
  });

  it.each([
    '',
    ' ',
    '{',
    '"',
    '"\\',
    '[1,]',
    "{'a':1}",
    'NaN',
    '1 2',
    '\ufeff{}',
    '{}\0',
    '"\n"',
    'undefined',
    '[1]]',
  ])('refuses %j as syntax', (text) => {
    expect(parseJson(text)).toEqual({ ok: false, reason: 'syntax' });
  });

  it('keeps __proto__ an own key and pollutes nothing', () => {
    const result = parseJson('{"__proto__":{"admin":true},"constructor":{"prototype":{"admin":true}}}');
    expect(result.ok && Object.hasOwn(result.value as object, '__proto__')).toBe(true);
    expect(result.ok && Object.getPrototypeOf(result.value)).toBe(Object.prototype);
    expect(Object.hasOwn(Object.prototype, 'admin')).toBe(false);
  });
});
