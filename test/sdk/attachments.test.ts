// What all faces say of files alike, and how a file's name travels: pure functions.
import { describe, expect, test } from 'vitest';
import { endingOf, isOnlyNames, refusalOf, textOfNames } from '../../src/sdk/attachments.ts';
import {
  attachmentIn,
  isOver,
  isPicture,
  kindOf,
  newestPage,
  pictureTypes,
  sizeText,
} from '../../src/sdk/shown-files.ts';
import { inlineFileTypes } from '../../src/protocol/codes.ts';
import { encodeFileName } from '../../src/sdk/files.ts';
import type { SdkAttachment } from '../../src/sdk/types.ts';

const file = (over: Partial<SdkAttachment> = {}): SdkAttachment => ({
  id: 'f1',
  name: 'cup.png',
  type: 'image/png',
  size: 1_000,
  width: 40,
  height: 30,
  url: 'https://chat.example.com/api/v1/files/f1?expires=1&signature=x',
  ...over,
});

describe('what is not uploaded at all', () => {
  const rules = { maxBytes: 100, maxFiles: 2, blockedEndings: ['exe'] };
  test.each([
    [{ name: 'a.png', size: 100 }, 1, null],
    [{ name: 'a.png', size: 101 }, 0, 'tooLarge'],
    [{ name: 'a.png', size: 1 }, 2, 'tooMany'],
    [{ name: 'a.png', size: 0 }, 0, 'empty'],
    [{ name: 'A.ExE', size: 1 }, 0, 'blockedKind'],
    [{ name: 'exe', size: 1 }, 0, null],
  ] as const)('%o beside %i others: %s', (facts, already, why) => {
    expect(refusalOf(facts, already, rules)).toBe(why);
  });
});

test.each([
  ['plan.PDF', 'pdf'],
  ['archive.tar.gz', 'gz'],
  ['no ending', ''],
  ['.hidden', 'hidden'],
  ['a.', ''],
  ['folder.d/name', ''],
])('the ending of %s is %j', (name, ending) => {
  expect(endingOf(name)).toBe(ending);
});

test('a kind is the ending, else what the type says', () => {
  expect(kindOf({ name: 'a.pdf', type: 'text/plain' })).toBe('PDF');
  expect(kindOf({ name: 'a', type: 'application/x-tar' })).toBe('TAR');
  expect(kindOf({ name: 'a', type: 'application/octet-stream' })).toBe('');
});

test.each([
  [1, 'en', '1 byte'],
  [999, 'en', '999 byte'],
  [1_000, 'en', '1 KiB'],
  [348_160, 'en', '340 KiB'],
  [1_572_864, 'en', '1.5 MiB'],
  [1_572_864, 'de', '1,5 MiB'],
  [1_572_864, 'fr-CH', '1,5 Mio'],
  [26_214_400, 'en', '25 MiB'],
  [21_474_836_480, 'en', '20 GiB'],
])('%i bytes in %s: %s', (bytes, tag, text) => {
  expect(sizeText(bytes, tag)).toBe(text);
});

describe('a message that is files alone', () => {
  test('says their names, and is recognised by them', () => {
    const names = ['cup.png', ' plan.pdf '];
    const text = textOfNames(names);
    expect(text).toBe('cup.png, plan.pdf');
    const files = names.map((name) => file({ name }));
    expect(isOnlyNames(text, 'plain', files)).toBe(true);
    expect(isOnlyNames('Look at cup.png', 'plain', files)).toBe(false);
    expect(isOnlyNames(text, 'lexical', files)).toBe(false);
    expect(isOnlyNames('', 'plain', undefined)).toBe(false);
    expect(isOnlyNames('', 'plain', [])).toBe(false);
  });

  test('stays short whatever the files are called', () => {
    const names = Array.from({ length: 10 }, (_, index) => `${index}${'x'.repeat(250)}`);
    const text = textOfNames(names);
    expect(text.length).toBeLessThan(600);
    expect(text).toMatch(/…$/);
    expect(
      isOnlyNames(
        text,
        'plain',
        names.map((name) => file({ name })),
      ),
    ).toBe(true);
  });
});

test.each([
  [{}, true],
  [{ type: 'image/svg+xml' }, false],
  [{ type: 'text/html' }, false],
  [{ width: null }, false],
  [{ height: 0 }, false],
])('a file with %o is shown in its place: %s', (over, shown) => {
  expect(isPicture(file(over))).toBe(shown);
});

test('they are those that the service hands out to be shown', () => {
  expect(pictureTypes).toEqual(inlineFileTypes);
});

test('an address is over a moment before its time', () => {
  const now = 1_800_000_000_000;
  const at = (expires: number): string => `https://a.example/f?expires=${expires}&signature=x`;
  expect(isOver(at(now / 1_000 + 60), now)).toBe(false);
  expect(isOver(at(now / 1_000 + 2), now)).toBe(true);
  expect(isOver(at(now + 60_000), now)).toBe(false);
  expect(isOver(at(now - 1), now)).toBe(true);
  expect(isOver('https://a.example/f', now)).toBe(false);
});

describe('a new address', () => {
  const sent = (id: string): { id: string; state: string } => ({ id, state: 'sent' });
  test('is asked for with one message, or with the newest', () => {
    const all = [sent('a'), sent('b'), { id: 'c', state: 'sending' }];
    expect(newestPage('1', all, 'a')).toBe('/conversations/1/messages?order=desc&limit=1&before=b');
    expect(newestPage('1', all, 'b')).toBe('/conversations/1/messages?order=desc&limit=20');
  });

  test('is found in the answer, and nowhere else', () => {
    const page = { messages: [{ id: 'a', attachments: [file({ url: 'https://new.example/' })] }] };
    expect(attachmentIn(page, 'a', 'f1')?.url).toBe('https://new.example/');
    for (const other of [page.messages, { messages: 1 }, null, 'x', {}])
      expect(attachmentIn(other, 'a', 'f1')).toBeNull();
    expect(attachmentIn(page, 'b', 'f1')).toBeNull();
    expect(attachmentIn(page, 'a', 'f2')).toBeNull();
  });
});

test.each([
  ['plan.pdf', "UTF-8''plan.pdf"],
  ['Größe (1).png', "UTF-8''Gr%C3%B6%C3%9Fe%20%281%29.png"],
  ['a\r\nX-Evil: 1', "UTF-8''a%0D%0AX-Evil%3A%201"],
  ['half \ud83d', "UTF-8''half%20%EF%BF%BD"],
  ['😀', "UTF-8''%F0%9F%98%80"],
])('the name %j travels as %s', (name, header) => {
  expect(encodeFileName(name)).toBe(header);
});
