// Attacks what the console leaves on the disk and takes from the terminal: private files,
// an editor that fails, focus reports that must not become keys.
import { chmod, mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createOutbox } from '../../../src/cli/console/outbox.ts';
import {
  clipboardBytes,
  createTerminalInput,
  editorOf,
  editText,
} from '../../../src/cli/console/terminal.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'deskbell-console-'));
});
afterAll(() => rm(folder, { recursive: true }));

const mode = async (path: string): Promise<string> => ((await stat(path)).mode & 0o777).toString(8);

describe('the outbox', () => {
  test('gives back what it was given, to the next process too, and only at its own place', () => {
    const outbox = createOutbox(folder, 'https://one.example', 'acme');
    outbox.setItem('member:key/with\\odd:signs', '{"a":1}');
    outbox.setItem('note:x', '');
    const again = createOutbox(folder, 'https://one.example', 'acme');
    expect(Array.from({ length: again.length }, (_, index) => again.key(index))).toEqual([
      'member:key/with\\odd:signs',
      'note:x',
    ]);
    expect(again.getItem('member:key/with\\odd:signs')).toBe('{"a":1}');
    expect(again.getItem('note:x')).toBe('');
    for (const [server, organization] of [
      ['https://two.example', 'acme'],
      ['https://one.example', 'other'],
    ] as const)
      expect(createOutbox(folder, server, organization).length).toBe(0);
    outbox.removeItem('note:x');
    outbox.removeItem('note:x');
    expect(again.length).toBe(1);
    expect(again.getItem('note:x')).toBeNull();
  });

  test('is private, whatever the umask', async () => {
    const before = process.umask(0);
    try {
      const private_ = join(folder, 'wide');
      createOutbox(private_, 's', 'o').setItem('k', 'secret');
      const [place] = await readdir(join(private_, 'outbox'));
      expect(await mode(join(private_, 'outbox', place!))).toBe('700');
      expect(await mode(join(private_, 'outbox', place!, 'k.json'))).toBe('600');
    } finally {
      process.umask(before);
    }
  });

  test('no key leaves its folder', async () => {
    createOutbox(folder, 's', 'o').setItem('../../escaped', 'x');
    expect((await readdir(folder)).filter((name) => name.includes('escaped'))).toEqual([]);
  });
});

describe('the editor', () => {
  const streams = { stdin: process.stdin, stdout: process.stdout };
  const script = async (body: string): Promise<string> => {
    const path = join(folder, `editor-${Math.abs(body.length * 31 + body.charCodeAt(0))}.sh`);
    await writeFile(path, `#!/bin/sh\n${body}\n`);
    await chmod(path, 0o755);
    return path;
  };
  const leftovers = async (): Promise<string[]> =>
    (await readdir(folder)).filter((name) => name.startsWith('edit-'));

  test('gets the text in a private file, gives back what it saved, and leaves nothing', async () => {
    const seen = join(folder, 'seen');
    const editor = await script(
      `stat -c %a "$1" > '${seen}'; stat -c %a "$(dirname "$1")" >> '${seen}'; printf ' and more' >> "$1"`,
    );
    expect(await editText(editor, folder, 'ünï', streams)).toBe('ünï and more');
    expect(await import('node:fs/promises').then(({ readFile }) => readFile(seen, 'utf8'))).toBe(
      '600\n700\n',
    );
    expect(await leftovers()).toEqual([]);
  });

  test('that fails, or is not there, changes nothing and leaves nothing', async () => {
    expect(await editText(await script('echo lost > "$1"; exit 3'), folder, 'kept', streams)).toBeNull();
    expect(await editText(join(folder, 'no-such-editor'), folder, 'kept', streams)).toBeNull();
    expect(await editText(await script('rm "$1"; exit 0 # gone'), folder, 'kept', streams)).toBeNull();
    expect(await leftovers()).toEqual([]);
  });

  test('may be a command with arguments', async () => {
    expect(await editText(`${await script('printf "$1" > "$2"')} 'with blank'`, folder, 'x', streams)).toBe(
      'with blank',
    );
  });

  test('is VISUAL, then EDITOR, then vi; an empty one is none', () => {
    expect(editorOf({ VISUAL: 'code -w', EDITOR: 'nano' })).toBe('code -w');
    expect(editorOf({ VISUAL: ' ', EDITOR: 'nano' })).toBe('nano');
    expect(editorOf({})).toBe('vi');
  });
});

describe('the terminal', () => {
  const terminal = () => {
    const real = Object.assign(new PassThrough(), {
      isTTY: true,
      setRawMode: () => real,
      ref: () => real,
      unref: () => real,
    });
    const output = new PassThrough();
    const focus: boolean[] = [];
    const input = createTerminalInput(
      real as unknown as NodeJS.ReadStream,
      output as unknown as NodeJS.WriteStream,
      (focused) => focus.push(focused),
    );
    return { real, output, focus, input };
  };
  const tick = () => new Promise((resolve) => setImmediate(resolve));

  test('reports of the window’s focus are heard and never typed', async () => {
    const { real, focus, input } = terminal();
    input.stream.setRawMode(true);
    real.write('a\u001b[Ob\u001b[I');
    real.write('\u001b[O');
    real.write('\u001b[A');
    await tick();
    expect(focus).toEqual([false, true, false]);
    expect(String(input.stream.read())).toBe('ab\u001b[A');
  });

  test('they are asked for with raw mode, and no more without; then nothing is read', async () => {
    const { real, output, input } = terminal();
    input.stream.setRawMode(true);
    input.stream.setRawMode(false);
    expect(String(output.read())).toBe('\u001b[?1004h\u001b[?7l\u001b[?1004l\u001b[?7h');
    expect(real.isPaused()).toBe(true);
    input.stream.setRawMode(true);
    expect(real.isPaused()).toBe(false);
    input.end();
    expect(real.listenerCount('data')).toBe(0);
  });

  test('what is typed while it is handed over goes to the other program, such as a password', async () => {
    const { real, input } = terminal();
    input.stream.setRawMode(true);
    input.stream.setRawMode(false);
    real.resume();
    real.write('correct horse\r');
    await tick();
    input.stream.setRawMode(true);
    real.write('a');
    await tick();
    expect(String(input.stream.read())).toBe('a');
    expect(real.listenerCount('data')).toBe(1);
  });

  test('a copied text is nothing but its bytes in base64', () => {
    expect(clipboardBytes('\u001b[2Jü')).toBe(
      `\u001b]52;c;${Buffer.from('\u001b[2Jü').toString('base64')}\u0007`,
    );
  });
});
