// Attacks the one table of keys: what Ink reports becomes a key, a key one command at most, own keys a clear
// answer. Must not test what commands do.

import { commandKeys, commandNames } from '../../src/desk/all-keys.ts';
import { commandTexts, createEnglishKeymap } from '../../src/desk/command-texts.ts';
import { EventEmitter } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { render, Text, useInput, type Key } from 'ink';
import { createElement } from 'react';
import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { createKeymap, keyScopes, isTextField, type CommandName } from '../../src/desk/keymap.ts';
import { KeymapError, parseKeyOverrides, findSharedKey } from '../../src/desk/own-keys.ts';
import { keyPressesOf } from '../../src/cli/console/ink-keys.ts';
import { canonicalKey, isText, keyLabel } from '../../src/desk/key-names.ts';
import { eventually } from '../helpers/eventually.ts';

/** What Ink's `useInput` reports for bytes, each handed over in one piece. */
async function reported(chunks: readonly string[]): Promise<{ input: string; key: Key }[]> {
  const seen: { input: string; key: Key }[] = [];
  const waiting: string[] = [];
  const stdin = Object.assign(new EventEmitter(), {
    isTTY: true,
    setEncoding: () => undefined,
    setRawMode: () => undefined,
    ref: () => undefined,
    unref: () => undefined,
    read: () => waiting.shift() ?? null,
  });
  const stdout = Object.assign(new EventEmitter(), { columns: 80, rows: 24, isTTY: true, write: () => true });
  const App = () => {
    useInput((input, key) => {
      seen.push({ input, key });
    });
    return createElement(Text, null, 'x');
  };
  const app = render(createElement(App), {
    // Ink asks for whole streams; these have what it uses of them.
    stdin: stdin as unknown as NodeJS.ReadStream,
    stdout: stdout as unknown as NodeJS.WriteStream,
    exitOnCtrlC: false,
    patchConsole: false,
    interactive: true,
  });
  await eventually(() => expect(stdin.listenerCount('readable')).toBeGreaterThan(0));
  for (const chunk of chunks) {
    const before = seen.length;
    waiting.push(chunk);
    stdin.emit('readable');
    await eventually(() => expect(seen.length).toBeGreaterThan(before));
  }
  app.unmount();
  return seen;
}

const BYTES: readonly (readonly [string, string])[] = [
  ['j', 'j'],
  ['G', 'G'],
  ['?', '?'],
  [' ', 'space'],
  ['1', '1'],
  ['é', 'é'],
  ['漢', '漢'],
  ['👍🏽', '👍🏽'],
  ['\r', 'enter'],
  ['\n', 'ctrl+j'],
  ['\t', 'tab'],
  ['\u001b[Z', 'shift+tab'],
  ['\u007f', 'backspace'],
  ['\b', 'backspace'],
  ['\u001b\u007f', 'alt+backspace'],
  ['\u001b[3~', 'delete'],
  ['\u001b[A', 'up'],
  ['\u001bOB', 'down'],
  ['\u001b[1;5C', 'ctrl+right'],
  ['\u001b[1;3D', 'alt+left'],
  ['\u001b[1;2A', 'shift+up'],
  ['\u001b[5~', 'pageup'],
  ['\u001b[6~', 'pagedown'],
  ['\u001b[H', 'home'],
  ['\u001b[F', 'end'],
  ['\u001b[1;5H', 'ctrl+home'],
  ['\u0001', 'ctrl+a'],
  ['\u000b', 'ctrl+k'],
  ['\u001a', 'ctrl+z'],
  ['\u001f', 'ctrl+_'],
  ['\u0003', 'ctrl+c'],
  ['\u001ba', 'alt+a'],
  ['\u001bA', 'alt+A'],
  ['\u001b1', 'alt+1'],
  ['\u001b<', 'alt+<'],
  ['\u001b/', 'alt+/'],
  ['\u001b\r', 'alt+enter'],
  ['\u001b', 'escape'],
  // The kitty keyboard protocol.
  ['\u001b[107;5u', 'ctrl+k'],
  ['\u001b[97;3u', 'alt+a'],
  ['\u001b[122;6u', 'ctrl+shift+z'],
  ['\u001b[13;2u', 'shift+enter'],
  ['\u001b[13;5u', 'ctrl+enter'],
  ['\u001b[27u', 'escape'],
  ['\u001b[127;5u', 'ctrl+backspace'],
  ['\u001b[9;2u', 'shift+tab'],
  ['\u001b[103;2u', 'G'],
  ['\u001b[107;9u', 'super+k'],
  ['\u001b[1;1:1A', 'up'],
  ['\u001b[107;5:2u', 'ctrl+k'],
  // What nothing can be made of: releases, function keys, other keys.
  ['\u001b[107;5:3u', ''],
  ['\u001bOS', ''],
  ['\u001b[21~', ''],
  ['\u001b[57358u', ''],
];

describe('what Ink reports', () => {
  test('is the key that was pressed', async () => {
    const reports = await reported(BYTES.map(([bytes]) => bytes));
    expect(reports.map(({ input, key }) => keyPressesOf(input, key).map((press) => press.key ?? ''))).toEqual(
      BYTES.map(([, name]) => (name === '' ? [] : [name])),
    );
  });

  test('in one piece is several keys, or pasted text', async () => {
    const reports = await reported(['jjk', 'hello\r', 'one\rtwo', 'x'.repeat(65), 'é\u0001\u0005']);
    const strokes = reports.map(({ input, key }) => keyPressesOf(input, key));
    expect(strokes[0]?.map(({ key }) => key)).toEqual(['j', 'j', 'k']);
    expect(strokes[1]?.map(({ key, text }) => text || key)).toEqual(['h', 'e', 'l', 'l', 'o', 'enter']);
    // A line end with text behind it was not typed: it must not send half of what is pasted.
    expect(strokes[2]?.map(({ key }) => key)).toEqual(['o', 'n', 'e', 'ctrl+j', 't', 'w', 'o']);
    expect(strokes[2]?.map(({ text }) => text).join('')).toBe('one\ntwo');
    expect(strokes[3]).toEqual([{ key: null, text: 'x'.repeat(65) }]);
    expect(strokes[4]?.map(({ key }) => key)).toEqual(['é', 'ctrl+a', 'ctrl+e']);
  });

  it('never makes text of a control character, whatever comes', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 12 }), (input) => {
        for (const { text } of keyPressesOf(input, {})) expect(text).not.toMatch(/(?!\n)\p{Cc}/u);
      }),
    );
  });
});

describe('the table', () => {
  it('gives no key to two commands in one place', () => {
    expect(findSharedKey()).toBeNull();
  });

  it.each(commandNames)(
    '%s has keys that terminals can send, works somewhere, and says what it does in at most 24 characters',
    (name) => {
      const { keys, where, instead } = commandKeys[name];
      const about = commandTexts[name];
      expect(about.length).toBeGreaterThan(1);
      expect(about.length).toBeLessThanOrEqual(24);
      for (const key of [...keys, ...Object.values(instead ?? {}).flat()])
        expect(canonicalKey(key)).toEqual({ key });
      expect(new Set(keys).size).toBe(keys.length);
      const keymap = createEnglishKeymap();
      // Everywhere it is said to work it has a key, and that key finds it.
      for (const scope of where) {
        const [first] = keymap.keysOf(name, scope);
        expect(first, `${name} in ${scope}`).toBeDefined();
        expect(keymap.commandFor(scope, first ?? '')).toBe(name);
      }
    },
  );

  it('leaves letters to the text fields', () => {
    const keymap = createEnglishKeymap();
    for (const scope of keyScopes.filter(isTextField)) {
      for (const key of ['a', 'j', 'q', '?', ':', '/', 'space', 'G', '1', 'é'])
        expect(keymap.commandFor(scope, key)).toBeUndefined();
      for (const line of keymap.help(scope)) expect(line.keys.length).toBeGreaterThan(0);
    }
  });

  it('has what an operator’s hands know', () => {
    const keymap = createEnglishKeymap();
    const wanted: readonly (readonly [Parameters<typeof keymap.commandFor>[0], string, CommandName])[] = [
      ['queue', 'j', 'down'],
      ['queue', 'up', 'up'],
      ['queue', 'enter', 'open'],
      ['queue', 'a', 'accept'],
      ['queue', 'n', 'nextUnread'],
      ['conversation', 'alt+a', 'nextUnread'],
      ['composer', 'alt+a', 'nextUnread'],
      ['queue', '3', 'tabAll'],
      ['queue', '/', 'search'],
      ['conversation', 'r', 'reply'],
      ['conversation', 'N', 'note'],
      ['conversation', 'x', 'resolve'],
      ['queue', 'R', 'release'],
      ['conversation', 't', 'transfer'],
      ['queue', ':', 'palette'],
      ['conversation', 'ctrl+k', 'palette'],
      ['composer', 'ctrl+k', 'killToEnd'],
      ['composer', 'ctrl+p', 'palette'],
      ['queue', '?', 'help'],
      ['queue', 'q', 'quit'],
      ['composer', 'ctrl+c', 'quit'],
      ['composer', 'tab', 'nextPane'],
      ['composer', 'escape', 'back'],
      ['composer', 'enter', 'send'],
      ['composer', 'alt+enter', 'newline'],
      ['composer', 'ctrl+j', 'newline'],
      ['composer', 'ctrl+n', 'toggleNote'],
      ['composer', 'ctrl+g', 'aiDraft'],
      ['composer', 'pageup', 'pageUp'],
      ['composer', 'alt+z', 'redo'],
      ['menu', 'enter', 'choose'],
      ['menu', 'ctrl+n', 'down'],
      ['confirm', 'y', 'yes'],
      ['confirm', 'escape', 'no'],
    ];
    expect(wanted.map(([scope, key]) => keymap.commandFor(scope, key))).toEqual(
      wanted.map(([, , command]) => command),
    );
  });

  it('shows help in its own order, with keys as people read them', () => {
    const help = createEnglishKeymap().help('conversation');
    const order = help.map(({ command }) => commandNames.indexOf(command));
    expect(order).toEqual(order.toSorted((one, other) => one - other));
    expect(help.find(({ command }) => command === 'nextUnread')).toEqual({
      command: 'nextUnread',
      keys: ['n', 'Alt+A'],
      about: 'next unread',
    });
    expect(createEnglishKeymap().label('palette', 'composer')).toBe('^P');
    expect(createEnglishKeymap().label('send', 'queue')).toBeUndefined();
  });

  it('shows no key that does nothing now', () => {
    const keymap = createKeymap(null, { about: (command) => command, works: (key) => !isText(key) });
    expect(keymap.label('accept', 'queue')).toBeUndefined();
    expect(keymap.label('nextUnread', 'conversation')).toBe('Alt+A');
    const shown = keymap.help('conversation').flatMap(({ keys }) => keys);
    expect(shown).toContain('Alt+A');
    expect(shown.filter((key) => /^[!-~]$/.test(key))).toEqual([]);
    // They are still bound: which ones are taken is the face's business.
    expect(keymap.commandFor('queue', 'a')).toBe('accept');
  });
});

describe('names of keys', () => {
  it.each([
    ['ctrl+k', '^K'],
    ['alt+a', 'Alt+A'],
    ['alt+A', 'Alt+⇧A'],
    ['enter', '↵'],
    ['shift+tab', '⇧Tab'],
    ['alt+enter', 'Alt+↵'],
    ['ctrl+shift+z', 'Ctrl+⇧Z'],
    ['ctrl+left', 'Ctrl+←'],
    ['ctrl+_', '^_'],
    ['G', 'G'],
    ['+', '+'],
    ['ctrl++', '^+'],
    ['space', 'Space'],
  ])('%s is shown as %s', (key, label) => {
    expect(keyLabel(key)).toBe(label);
  });

  it.each([
    ['Ctrl+K', 'ctrl+k'],
    ['^K', 'ctrl+k'],
    ['C-k', 'ctrl+k'],
    ['M-x', 'alt+x'],
    ['Option+Return', 'alt+enter'],
    ['shift+alt+left', 'alt+shift+left'],
    ['Alt+Shift+a', 'alt+A'],
    ['shift+g', 'G'],
    ['^', '^'],
    ['+', '+'],
    ['ctrl++', 'ctrl++'],
    [' ', 'space'],
    ['PgUp', 'pageup'],
    ['漢', '漢'],
  ])('%j may be written for %s', (written, key) => {
    expect(canonicalKey(written)).toEqual({ key });
  });

  it.each([
    ['', 'empty'],
    ['f4', 'function keys'],
    ['ctrl+f12', 'function keys'],
    ['entr', 'there is no key "entr"'],
    ['hyperdrive+a', 'no modifier "hyperdrive"'],
    ['ctrl+m', 'same key as enter'],
    ['ctrl+i', 'same key as tab'],
    ['ctrl+x ctrl+e', 'more than one key'],
    ['shift+1', 'the character that Shift makes'],
    ['ctrl+', 'there is no key'],
  ])('%j is refused: %s', (written, why) => {
    expect(canonicalKey(written)).toEqual({ problem: expect.stringContaining(why) });
  });

  it('keeps every name of the table, and every name that a key press can have is one', () => {
    for (const [, name] of BYTES)
      if (name !== '' && !name.startsWith('ctrl+j')) expect(canonicalKey(name)).toEqual({ key: name });
    expect([isText('a'), isText('space'), isText('👍🏽'), isText('ctrl+a'), isText('up')]).toEqual([
      true,
      true,
      true,
      false,
      false,
    ]);
  });
});

describe('own keys', () => {
  it('are taken as the documentation and the advice write them', () => {
    const page = readFileSync(join(import.meta.dirname, '../../docs/console.md'), 'utf8');
    const [, shown = ''] = /```json\n(\{ "accept".*\})\n```/.exec(page) ?? [];
    expect(Object.keys(parseKeyOverrides(shown))).toEqual(['accept', 'palette', 'discard']);
    let advice = '';
    try {
      parseKeyOverrides('{');
    } catch (error) {
      advice = String(error);
    }
    const [, advised = ''] = /(\{.*\})/.exec(advice) ?? [];
    expect(Object.keys(parseKeyOverrides(advised))).toEqual(['accept', 'palette']);
  });

  it('take the place of the table’s, everywhere', () => {
    const keymap = createEnglishKeymap(
      parseKeyOverrides('{"accept": ["Ctrl+O", "o"], "palette": "alt+p", "sound": []}'),
    );
    expect([
      keymap.commandFor('queue', 'ctrl+o'),
      keymap.commandFor('conversation', 'o'),
      keymap.commandFor('queue', 'a'),
    ]).toEqual(['accept', 'accept', undefined]);
    expect([
      keymap.commandFor('composer', 'alt+p'),
      keymap.commandFor('composer', 'ctrl+p'),
      keymap.commandFor('queue', ':'),
    ]).toEqual(['palette', undefined, undefined]);
    expect([keymap.keysOf('sound'), keymap.label('sound', 'queue'), keymap.about('sound')]).toEqual([
      [],
      undefined,
      'notifications on or off',
    ]);
    expect(keymap.help('queue').some(({ command }) => command === 'sound')).toBe(false);
  });

  it('may change two commands’ places with each other', () => {
    const keymap = createEnglishKeymap(parseKeyOverrides('{"accept": ["x"], "resolve": ["a"]}'));
    expect([keymap.commandFor('queue', 'x'), keymap.commandFor('queue', 'a')]).toEqual(['accept', 'resolve']);
  });

  it.each([
    ['{"accept": ["x"]}', '"accept" and "resolve" would share the key "x" (queue)'],
    ['{"acept": ["a"]}', 'no command "acept". Did you mean "accept"?'],
    ['{"nextunread": ["a"]}', 'Did you mean "nextUnread"?'],
    ['{"zzzzzzzz": []}', 'Commands: open, accept'],
    ['{"accept": 7}', '"accept" must be a list of keys'],
    ['{"accept": [7]}', 'is not a text'],
    ['{"accept": ["f5"]}', '"accept": "f5" can\'t be used'],
    ['{"send": ["s"]}', '"s" is text where that command works'],
    ['{"newline": ["enter"]}', '"send" and "newline" would share the key "enter" (composer)'],
    ['[]', 'must be an object'],
    ['{', 'not JSON'],
    ['{"constructor": ["a"]}', 'no command "constructor"'],
    ['{"__proto__": ["a"]}', 'no command "__proto__"'],
  ])('%s is refused with a sentence', (source, sentence) => {
    expect(() => parseKeyOverrides(source)).toThrow(KeymapError);
    expect(() => parseKeyOverrides(source)).toThrow(sentence);
  });

  it('never make a keymap in which a key has two commands, whatever is tried', () => {
    const keys = fc.subarray(['a', 'x', 'enter', 'ctrl+k', 'alt+a', 'escape', 'y', 'ctrl+p', 'tab']);
    fc.assert(
      fc.property(fc.dictionary(fc.constantFrom(...commandNames), keys, { maxKeys: 4 }), (own) => {
        try {
          expect(findSharedKey(parseKeyOverrides(JSON.stringify(own)))).toBeNull();
        } catch (error) {
          expect(error).toBeInstanceOf(KeymapError);
        }
      }),
    );
  });
});
