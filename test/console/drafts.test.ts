// Attacks the keeping of drafts: crashes, other users, other consoles, damaged and full disks.
// Must not test composers.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createDraftStore, draftDelayMs, type DraftStoreOptions } from '../../src/cli/console/drafts.ts';
import type { DraftStore } from '../../src/desk/drafts.ts';
import { eventually } from '../helpers/eventually.ts';

const ID = '0198c5de-0000-7000-8000-000000000001';
const OTHER = '0198c5de-0000-7000-8000-000000000002';

let stateFolder: string;
let timers: { ms: number; run: () => void; off: boolean }[];
let problems: string[];

beforeEach(() => {
  stateFolder = mkdtempSync(join(tmpdir(), 'drafts-'));
  timers = [];
  problems = [];
});
afterEach(() => rmSync(stateFolder, { recursive: true, force: true }));

function open(more: Partial<DraftStoreOptions> = {}): DraftStore {
  return createDraftStore({
    stateFolder,
    server: 'http://localhost:4600',
    organization: 'acme',
    after: (ms, run) => {
      const timer = { ms, run, off: false };
      timers.push(timer);
      return () => {
        timer.off = true;
      };
    },
    onProblem: (sentence) => problems.push(sentence),
    ...more,
  });
}

/** Lets every timer fire that was set and not cancelled. */
function passTime(): void {
  for (const timer of timers.splice(0)) if (!timer.off) timer.run();
}

function filesBelow(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
}

describe('keeping', () => {
  it('writes a change soon, and a run of changes once, without being put off by them', () => {
    const drafts = open();
    for (let length = 1; length <= 50; length++) drafts.set(ID, { text: 'x'.repeat(length), note: false });
    expect(timers.map(({ ms }) => ms)).toEqual([draftDelayMs]);
    expect(filesBelow(stateFolder)).toEqual([]);
    passTime();
    expect(open().get(ID)).toEqual({ text: 'x'.repeat(50), note: false });
    drafts.set(ID, { text: 'more', note: true });
    expect(timers).toHaveLength(1);
    passTime();
    expect(open().get(ID)).toEqual({ text: 'more', note: true });
  });

  it('keeps any text as it is, and knows what is not on disk yet', () => {
    const drafts = open();
    const text = 'line\n\u001b[31m 👨‍👩‍👧 \u202e "quoted" \\ \ufffd';
    drafts.set(ID, { text, note: true });
    expect([drafts.get(ID), drafts.ids(), drafts.get(OTHER)]).toEqual([{ text, note: true }, [ID], null]);
    drafts.flush();
    expect([open().get(ID), open().ids()]).toEqual([{ text, note: true }, [ID]]);
    expect(timers.every(({ off }) => off)).toBe(true);
  });

  it('removes at once what was sent, written or not', () => {
    const drafts = open();
    drafts.set(ID, { text: 'a', note: false });
    drafts.set(OTHER, { text: 'b', note: false });
    drafts.flush();
    drafts.remove(ID);
    drafts.set(OTHER, { text: 'changed', note: false });
    drafts.remove(OTHER);
    passTime();
    expect([drafts.get(ID), drafts.ids(), filesBelow(stateFolder)]).toEqual([null, [], []]);
    drafts.remove('never-there');
    expect(problems).toEqual([]);
  });

  it('takes an empty text for none', () => {
    const drafts = open();
    drafts.set(ID, { text: 'a', note: false });
    drafts.flush();
    drafts.set(ID, { text: ' \n ', note: false });
    passTime();
    expect([drafts.get(ID), filesBelow(stateFolder)]).toEqual([null, []]);
  });

  it('keeps servers and organizations apart, and no id can leave the folder', () => {
    open().set(ID, { text: 'acme', note: false });
    passTime();
    expect([open({ organization: 'other' }).get(ID), open({ server: 'https://x.example' }).get(ID)]).toEqual([
      null,
      null,
    ]);
    const drafts = open();
    for (const id of ['../../../evil', '/etc/passwd', 'a/b', '..', '', '\0', 'x'.repeat(500)]) {
      drafts.set(id, { text: `of ${id}`, note: false });
      drafts.flush();
      expect(open().get(id)?.text).toBe(`of ${id}`);
    }
    for (const file of filesBelow(stateFolder)) expect(file).toMatch(/\/drafts\/[0-9a-f]{24}\/[\w-]+\.json$/);
    expect(existsSync(join(stateFolder, '..', 'evil.json'))).toBe(false);
  });
});

describe('two consoles at once', () => {
  it('don’t lose each other’s drafts', () => {
    const one = open();
    const two = open();
    one.set(ID, { text: 'of one', note: false });
    two.set(OTHER, { text: 'of two', note: false });
    passTime();
    expect([one.ids(), two.ids()]).toEqual([
      [ID, OTHER],
      [ID, OTHER],
    ]);
    expect([one.get(OTHER)?.text, two.get(ID)?.text]).toEqual(['of two', 'of one']);
    one.remove(ID);
    expect(two.get(ID)).toBeNull();
  });

  it('don’t remove what the other one wrote since', () => {
    const one = open();
    const two = open();
    one.set(ID, { text: 'sent by one', note: false });
    one.flush();
    two.set(ID, { text: 'still being written by two', note: false });
    two.flush();
    one.remove(ID);
    expect(two.get(ID)?.text).toBe('still being written by two');
    two.remove(ID);
    expect(two.get(ID)).toBeNull();
  });
});

describe('a damaged disk', () => {
  it.each(['', '{"text":', '[]', '{"text":7}', 'null', '\0\0'])(
    'sets %j aside, says so, and goes on',
    async (content) => {
      const first = open();
      first.set(ID, { text: 'x', note: false });
      first.flush();
      const [file = ''] = filesBelow(stateFolder);
      writeFileSync(file, content);
      const drafts = open();
      expect(drafts.get(ID)).toBeNull();
      // Never during the call itself.
      expect(problems).toEqual([]);
      await Promise.resolve();
      expect(problems).toEqual([expect.stringContaining('.damaged')]);
      expect(readFileSync(`${file}.damaged`, 'utf8')).toBe(content);
      drafts.set(ID, { text: 'again', note: false });
      drafts.flush();
      expect(open().get(ID)?.text).toBe('again');
      expect(drafts.ids()).toEqual([ID]);
    },
  );

  it('says of a damaged file only what could be done with it', async () => {
    const first = open();
    first.set(ID, { text: 'x', note: false });
    first.flush();
    const [file = ''] = filesBelow(stateFolder);
    writeFileSync(file, 'damaged');
    // A folder there stops root too.
    mkdirSync(`${file}.damaged`);
    expect(open().get(ID)).toBeNull();
    await Promise.resolve();
    expect(problems).toEqual([
      expect.stringMatching(/could not be read, and its file can't be set aside \(/),
    ]);
  });

  it('keeps drafts in memory where they can’t be written, says so once, and writes them when they can be', async () => {
    // A file where the folder should be stops root too, unlike missing rights.
    writeFileSync(join(stateFolder, 'drafts'), 'in the way');
    const drafts = open();
    drafts.set(ID, { text: 'kept', note: false });
    passTime();
    drafts.set(OTHER, { text: 'too', note: false });
    passTime();
    expect([drafts.get(ID)?.text, drafts.get(OTHER)?.text, drafts.ids()]).toEqual([
      'kept',
      'too',
      [ID, OTHER],
    ]);
    await Promise.resolve();
    expect(problems).toHaveLength(1);
    expect(problems[0]).toMatch(/can't be kept on disk/);
    rmSync(join(stateFolder, 'drafts'));
    drafts.flush();
    expect(open().ids()).toEqual([ID, OTHER]);
  });

  it('sweeps away what a killed console left half written, but not another’s file of this moment', () => {
    const drafts = open();
    drafts.set(ID, { text: 'x', note: false });
    drafts.flush();
    const [file = ''] = filesBelow(stateFolder);
    writeFileSync(`${file}.1-0.tmp`, 'old');
    utimesSync(`${file}.1-0.tmp`, 1, 1);
    writeFileSync(`${file}.2-0.tmp`, 'of this moment');
    expect(open().ids()).toEqual([ID]);
    expect(filesBelow(stateFolder).toSorted()).toEqual([file, `${file}.2-0.tmp`]);
  });

  it('does not write through a link that another user put there', () => {
    const drafts = open();
    drafts.set(ID, { text: 'x', note: false });
    drafts.flush();
    const [file = ''] = filesBelow(stateFolder);
    const victim = join(stateFolder, 'victim');
    writeFileSync(victim, '{"text":"untouched"}');
    rmSync(file);
    symlinkSync(victim, file);
    drafts.set(ID, { text: 'new', note: false });
    drafts.flush();
    expect(readFileSync(victim, 'utf8')).toBe('{"text":"untouched"}');
    expect(open().get(ID)?.text).toBe('new');
  });
});

describe('a process of its own', () => {
  const module = pathToFileURL(join(import.meta.dirname, '../../src/cli/console/drafts.ts')).href;

  /** A console that types, with real timers, and never ends by itself. */
  const program = `
    process.umask(Number(process.argv[2]));
    const { createDraftStore } = await import(process.argv[3]);
    const drafts = createDraftStore({ stateFolder: process.argv[1], server: 's', organization: 'o', after: (ms, run) => { const t = setTimeout(run, ms); return () => clearTimeout(t); } });
    drafts.set('conversation', { text: 'typed before the crash', note: false });
    setInterval(() => undefined, 1000);
  `;

  it.each([0o000, 0o022, 0o077])(
    'survives kill -9, and leaves nothing for others to read under umask %o',
    async (umask) => {
      const folder = join(stateFolder, 'state');
      const child = spawn(
        process.execPath,
        ['--input-type=module', '-e', program, folder, String(umask), module],
        {
          stdio: ['ignore', 'ignore', 'inherit'],
        },
      );
      const ended = once(child, 'exit');
      try {
        await eventually(() =>
          expect(filesBelow(folder).filter((file) => file.endsWith('.json'))).toHaveLength(1),
        );
      } finally {
        child.kill('SIGKILL');
        await ended;
      }
      expect(
        createDraftStore({
          stateFolder: folder,
          server: 's',
          organization: 'o',
          after: () => () => undefined,
        }).get('conversation')?.text,
      ).toBe('typed before the crash');
      for (const file of filesBelow(folder)) expect(statSync(file).mode & 0o777).toBe(0o600);
      for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true }).filter((one) =>
        one.isDirectory(),
      )) {
        expect(statSync(join(entry.parentPath, entry.name)).mode & 0o777).toBe(0o700);
      }
    },
  );

  it('closes a folder that stood open', () => {
    mkdirSync(join(stateFolder, 'drafts'));
    chmodSync(join(stateFolder, 'drafts'), 0o777);
    open();
    expect(statSync(join(stateFolder, 'drafts')).mode & 0o777).toBe(0o700);
  });
});
