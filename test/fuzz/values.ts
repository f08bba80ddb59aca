// Owns what an attacker puts where something else was expected: values, mutations of a JSON value, and mutations of
// its text. Must not know who is sent it.
import fc from 'fast-check';

/** Texts that have broken parsers, stores, terminals and pages. `%me%` becomes the caller's own word when it is sent. */
const texts = [
  '',
  ' ',
  '\u00a0',
  '\0',
  'a\0b',
  '\ud800',
  'a\udfffb',
  '\ud83d\ude00',
  'e\u0301\u0323',
  '\u202e%me%',
  '\u200b',
  '\ufeff',
  '\ufffe',
  '\r\n',
  '\u2028',
  '\u001b]0;x\u0007',
  '<script>alert(1)</script>',
  '"><img src=x onerror=alert(1)>',
  "' or 1=1 --",
  '"; drop table messages; --',
  '%00',
  '%',
  '%me%*',
  'NEAR(a b)',
  '"a',
  '../../etc/passwd',
  'file:///etc/passwd',
  'javascript:alert(1)',
  'http://127.0.0.1:1/',
  'http://[::1]/',
  '__proto__',
  'constructor',
  'toString',
  'null',
  'true',
  '0',
  '-1',
  '1e400',
  '2026-13-45T99:99:99Z',
  '9999-12-31T23:59:59Z',
  '+010000-01-01T00:00:00Z',
  '00000000-0000-0000-0000-000000000000',
  '*',
  '[]',
  '{}',
  '${x}',
  '{{x}}',
  'İ',
  'ß',
  'ﬁ',
  'a'.repeat(101),
  'a'.repeat(501),
  '\u0301'.repeat(300),
  '((((((((((a+)+)+)+)+)+)+)+)+)+$',
  'https://127.0.0.1/'.repeat(60),
] as const;

export const nastyText: fc.Arbitrary<string> = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(...texts) },
  { weight: 2, arbitrary: fc.string({ unit: 'binary', maxLength: 20 }) },
  { weight: 1, arbitrary: fc.string({ unit: 'grapheme', maxLength: 20 }) },
  { weight: 1, arbitrary: fc.integer({ min: 1, max: 12_000 }).map((length) => '語'.repeat(length)) },
);

const numbers = [
  0,
  -0,
  -1,
  1,
  1.5,
  100,
  101,
  1e21,
  -1e21,
  Number.MAX_SAFE_INTEGER,
  Number.MAX_SAFE_INTEGER + 1,
  Number.MIN_SAFE_INTEGER,
  Number.MAX_VALUE,
  5e-324,
  2 ** 31,
  -(2 ** 31),
  2 ** 63,
];

/** Anything that JSON can say. */
export const nastyValue: fc.Arbitrary<unknown> = fc.oneof(
  { weight: 5, arbitrary: nastyText },
  { weight: 3, arbitrary: fc.constantFrom<unknown>(...numbers) },
  {
    weight: 3,
    arbitrary: fc.constantFrom<unknown>(
      null,
      true,
      false,
      [],
      {},
      [[]],
      [null],
      { length: -1 },
      { toString: 1 },
    ),
  },
  { weight: 1, arbitrary: fc.array(nastyText, { maxLength: 5 }) },
  { weight: 1, arbitrary: fc.integer({ min: 2, max: 60 }).map(nested) },
  { weight: 1, arbitrary: fc.constantFrom(200, 3_000).map((length) => Array<number>(length).fill(1)) },
);

function nested(levels: number): unknown {
  let value: unknown = 1;
  for (let level = 0; level < levels; level += 1) value = level % 2 === 0 ? [value] : { a: value };
  return value;
}

/** One change of a JSON value: at the `at`-th place, counted around. */
interface Mutation {
  readonly at: number;
  readonly kind: 'remove' | 'replace' | 'wrap' | 'rename' | 'copy';
  readonly value: unknown;
}

const mutation: fc.Arbitrary<Mutation> = fc.record({
  at: fc.nat(200),
  kind: fc.constantFrom('remove', 'replace', 'replace', 'replace', 'wrap', 'rename', 'copy'),
  value: nastyValue,
});

type Container = unknown[] | Record<string, unknown>;
type Place = readonly [Container, string];

const isContainer = (value: unknown): value is Container => typeof value === 'object' && value !== null;

function placesOf(container: Container, places: Place[] = []): Place[] {
  for (const [key, value] of Object.entries(container)) {
    places.push([container, key]);
    if (isContainer(value)) placesOf(value, places);
  }
  return places;
}

/** Defines instead of assigning: `__proto__` is to be a key like any other. */
function put(container: Container, key: string, value: unknown): void {
  // The length of a list can't be made to be a key.
  if (Array.isArray(container) && key === 'length') return;
  Object.defineProperty(container, key, { value, enumerable: true, configurable: true, writable: true });
}

function mutate(original: unknown, mutations: readonly Mutation[]): unknown {
  const root = { root: structuredClone(original) };
  for (const { at, kind, value: shared } of mutations) {
    const value = structuredClone(shared);
    const places = placesOf(root);
    const [container, key] = places[at % places.length] ?? [root, 'root'];
    const old: unknown = Reflect.get(container, key);
    if (kind === 'remove') Reflect.deleteProperty(container, key);
    else if (kind === 'replace') put(container, key, value);
    else if (kind === 'wrap') put(container, key, at % 2 === 0 ? [old] : { [key]: old });
    else if (kind === 'rename') put(container, typeof value === 'string' ? value : `${key} `, old);
    else if (Array.isArray(container)) container.push(...[...container].slice(0, 50));
    else put(container, `${key}2`, old);
  }
  return root.root;
}

/** Mostly as it was made; else with one to three changes anywhere in it. */
export function mutated(original: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> {
  return fc.oneof(
    { weight: 3, arbitrary: original },
    {
      weight: 2,
      arbitrary: fc
        .tuple(original, fc.array(mutation, { minLength: 1, maxLength: 3 }))
        .map(([value, mutations]) => mutate(value, mutations)),
    },
  );
}

/** What is done to the text of a JSON value before it is sent. */
export interface TextMutation {
  readonly kind: 'cut' | 'insert' | 'repeat' | 'duplicate key' | 'escape' | 'deep' | 'number';
  readonly at: number;
  readonly piece: string;
}

export const textMutation: fc.Arbitrary<TextMutation> = fc.record({
  kind: fc.constantFrom('cut', 'insert', 'insert', 'repeat', 'duplicate key', 'escape', 'deep', 'number'),
  at: fc.nat(5_000),
  piece: fc.constantFrom(
    '\0',
    '\ufeff',
    '"',
    ',',
    '}',
    ']',
    '{',
    '\\',
    '//',
    'NaN',
    '\u0007',
    '"__proto__":{"admin":true},',
    '\\u0000',
    '\\ud800',
  ),
});

/** @returns the text of JSON, broken in one way */
export function mutateText(json: string, { kind, at, piece }: TextMutation): string {
  const place = at % (json.length + 1);
  switch (kind) {
    case 'cut':
      return json.slice(0, place);
    case 'insert':
      return json.slice(0, place) + piece + json.slice(place);
    case 'repeat':
      return json + json;
    case 'duplicate key':
      return json.replace(/^\{("(?:[^"\\]|\\.)*":)/, `{$1null,"__proto__":{"internal":true},$1`);
    case 'escape':
      return json.replace(/[a-z]/, (letter) => `\\u00${letter.charCodeAt(0).toString(16)}`);
    case 'deep':
      return `${'['.repeat(at)}${json}${']'.repeat(at)}`;
    case 'number':
      return json.replace(/:("(?:[^"\\]|\\.)*"|\d+)/, at % 2 === 0 ? ':1e999' : ':-0.0e-99999');
  }
}

/** Once in so many times a value, else null. */
export const seldom = <T>(value: fc.Arbitrary<T>, times: number): fc.Arbitrary<T | null> =>
  fc.oneof({ weight: times - 1, arbitrary: fc.constant(null) }, { weight: 1, arbitrary: value });

/** So many steps; a failing case is shrunk to the few that it needs. */
export function batchOf<T>(step: fc.Arbitrary<T>, length: number): fc.Arbitrary<T[]> {
  // Practically never null at first, but shrunk to it.
  const maybe = fc.option(step, { freq: 1e9 });
  return fc
    .array(maybe, { minLength: length, maxLength: length, size: 'max' })
    .map((steps) => steps.filter((one) => one !== null));
}
