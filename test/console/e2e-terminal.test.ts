// Owns: what the console does to the terminal it runs in, byte by byte: hostile visitors,
// colours, dumb terminals, its end; and the ways into it on the server's own machine.
import { access, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { deskbell, deskbellJson } from '../helpers/cli.ts';
import { repository } from '../helpers/command.ts';
import { eventually } from '../helpers/eventually.ts';
import { openPty, openTerminal, type PtyTerminal, type Terminal } from '../helpers/terminal.ts';
import { expectRestored, leave } from './e2e.ts';
import { password, createServerFixture, type ServerFixture } from './server-fixture.ts';

const size = { columns: 80, rows: 24 };
let server: ServerFixture;
beforeAll(async () => {
  server = await createServerFixture(['Ann', 'Bob']);
  await server.signIn('Ann');
});
afterAll(() => server.close());
afterEach(() => server.clear());

const onPty = (
  environment: Readonly<Record<string, string>> = {},
  args: readonly string[] = [],
): Promise<PtyTerminal> =>
  server.open(openPty, ['console', ...args], {
    ...size,
    environment: { ...server.environmentOf('Ann'), ...environment },
  });

const ESC = '\u001b';
const BEL = '\u0007';
/** A pattern in which ESC and BEL stand for themselves. */
const pattern = (source: string): RegExp =>
  new RegExp(source.replaceAll('ESC', ESC).replaceAll('BEL', BEL), 'gu');

/** The sequences that the console may send, each whole; what remains must be text. */
const allowed = [
  pattern(String.raw`ESC\[[\d;]*m`), // colours and weights
  pattern(String.raw`ESC\[\d*(?:;\d*)?[A-HJK]`), // moving the cursor, clearing
  pattern(String.raw`ESC\[\?(?:7|25|1004|1049|2004|2026)[hl]`), // cursor, focus, alternate screen, paste, synchronised frames
  pattern(String.raw`ESC\[2[23];0t`), // the title's stack
  pattern(String.raw`ESC\](?:0|9|777);\P{Cc}*(?:BEL|ESC\\)`), // title, notifications
];

/** What is left of the output once everything that is allowed is taken out. */
function remainder(raw: string): string {
  const text = Buffer.from(raw, 'latin1').toString('utf8');
  return allowed.reduce((left, sequence) => left.replaceAll(sequence, ''), text);
}

/** The terminal is the shell's, which asks for pastes in brackets itself. */
async function expectShell(terminal: Terminal): Promise<void> {
  expect(await terminal.alternate()).toBe(false);
  const raw = await terminal.raw();
  for (const [on, off] of [
    ['[?1004h', '[?1004l'],
    ['[?25l', '[?25h'],
    ['[?7l', '[?7h'],
  ] as const)
    expect(raw.lastIndexOf(off), off).toBeGreaterThan(raw.lastIndexOf(on));
}

test.each(['by Ctrl+Z', 'from outside'])(
  'stopped %s it leaves the terminal to the shell, and comes back whole',
  async (how) => {
    const visitor = await server.aVisitor('Ana Souza');
    await visitor.ask('Where is my parcel?');
    const terminal = await server.open(openTerminal, [], {
      ...size,
      environment: { ...server.environmentOf('Ann'), PS1: 'shell> ' },
      program: ['/bin/bash', '--norc', '--noprofile', '-i'],
    });
    const pidFile = join(server.folder, `pid-${how.length}`);
    const program = `${process.execPath} ${join(repository, 'bin/deskbell.js')} console`;
    await terminal.type(`sh -c 'echo $$ > ${pidFile}; exec ${program}'\n`);
    await terminal.waitFor('Ana Souza');
    await terminal.press('enter');
    await terminal.waitFor('Where is my parcel?');
    if (how === 'by Ctrl+Z') {
      // While one writes it takes back what was written.
      await terminal.press('enter');
      await terminal.type('half');
      await terminal.press('ctrl+z');
      await terminal.waitForNo('half');
      await terminal.press('esc', 'ctrl+z');
    } else {
      process.kill(Number(await readFile(pidFile, 'utf8')), 'SIGTSTP');
    }
    await terminal.waitFor('Stopped');
    await expectShell(terminal);
    await terminal.type('echo an"other" thing\n');
    await terminal.waitFor('another thing');
    await terminal.type('fg\n');
    await terminal.waitFor('Where is my parcel?');
    await terminal.waitForNo('shell>');
    expect(await terminal.alternate()).toBe(true);
    await visitor.ask('And the second one?');
    await terminal.waitFor('2 wait for you');
    await terminal.press('esc', 'ctrl+c');
    await terminal.waitFor(/shell>\s*$/);
    await expectShell(terminal);
  },
);

test('Ctrl+Z where no shell waits changes nothing', async () => {
  const visitor = await server.aVisitor('Ana Souza');
  await visitor.ask('Where is my parcel?');
  const terminal = await server.console('Ann', size);
  await terminal.waitFor('Ana Souza');
  await terminal.press('ctrl+z');
  await terminal.press('enter');
  await terminal.waitFor('Where is my parcel?');
  expect(await terminal.alternate()).toBe(true);
});

describe('a hostile visitor', () => {
  const evil = [
    '\u001b]0;owned title\u0007',
    '\u001b[2J\u001b[H\u001b[31mred',
    '\u009b31m\u009d0;owned\u009c',
    'over\rwritten',
    'gnp\u202egnp.exe\u2066isolate',
    '\u001bPtmux;\u001b\u001b]52;c;b3duZWQ=\u0007\u001b\\',
    '\u001b[?1049l\u001b[6n\u001bc',
    `zalgo${'\u0301\u0489'.repeat(2_000)}end`,
    'x\u0007\u0007\u0008\u0008\u000e\u007f',
    '\u{1f469}\u200d\u{1f469}\u200d\u{1f467} 日本語 العربية',
  ];

  test.each([
    ['a pty', openPty],
    ['tmux where there is one', openTerminal],
  ] as const)('sends nothing to %s but what is ours, and the rows keep their width', async (_name, open) => {
    const visitor = await server.aVisitor();
    await visitor.identify({
      name: `Eve${evil[0]}${evil[2]}`.slice(0, 90),
      attributes: { 'a\u001b[1m': evil[1] ?? '' },
    });
    const id = await visitor.ask(evil[0] ?? '', `Sub${evil[1]}${evil[4]}`);
    const terminal: Terminal = await server.open<Terminal>(open, ['console'], {
      columns: 160,
      rows: 40,
      environment: server.environmentOf('Ann'),
    });
    await terminal.waitFor('Eve');
    await terminal.press('a');
    await terminal.waitFor(/You have the conversation|yours/);
    for (const text of evil.slice(1)) await visitor.write(id, text);
    await terminal.waitFor('日本語');
    await visitor.write(id, 'the end of it');
    await terminal.waitFor('the end of it');
    // What would have been obeyed is there to be read.
    await terminal.waitFor('␛[2J␛[H␛[31mred');
    await terminal.press('esc');
    // Esc and what follows at once would be one key.
    await terminal.waitFor('x resolve');
    await terminal.press('pageup', 'pagedown', 'v', '?', 'esc');
    const shown = await terminal.screen();
    expect(shown.length).toBe(40);
    expect(await terminal.title()).not.toMatch(/owned/);
    expect(await leave(terminal)).toBe(0);
    await expectRestored(terminal);
    const raw = await terminal.raw();
    // tmux wraps and asks in its own name; what the program wrote is the same.
    const left = remainder(raw).replaceAll(pattern(String.raw`ESCPtmux;[^]*?ESC\\`), '');
    expect(left.match(/(?:(?![\r\n])\p{Cc}|[\u202a-\u202e\u2066-\u2069]).{0,20}/gu) ?? []).toEqual([]);
    for (const command of ['\u001b]52', '\u001bc', '\u001b[6n', '\u001b]0;owned', '\u001b[31mred'])
      expect(raw).not.toContain(command);
  });
});

test('without colours where NO_COLOR is set', async () => {
  await (await server.aVisitor('Grey Greta')).ask('Is it grey?');
  const terminal = await onPty({ NO_COLOR: '1' });
  await terminal.waitFor('Grey Greta');
  await terminal.press('enter');
  await terminal.waitFor('Is it grey?');
  expect(await leave(terminal)).toBe(0);
  const colours = (await terminal.raw()).match(
    pattern(String.raw`ESC\[(?:\d+;)*(?:3[0-8]|4[0-8]|9[0-7]|10[0-7])(?:;\d+)*m`),
  );
  expect(colours ?? []).toEqual([]);
});

test('with colours where nothing speaks against it', async () => {
  await (await server.aVisitor('Colourful Cleo')).ask('Is it green?');
  const terminal = await onPty();
  await terminal.waitFor('Colourful');
  expect(await leave(terminal)).toBe(0);
  expect(await terminal.raw()).toMatch(pattern(String.raw`ESC\[3\dm`));
});

test.each([
  ['a screen reader', {}, ['--screen-reader', '--no-title', '--no-bell', '--no-desktop']],
  ['a dumb terminal', { TERM: 'dumb' }, ['--no-bell', '--no-desktop']],
] as const)('for %s: lines in one column, and not one escape sequence', async (_name, environment, args) => {
  const visitor = await server.aVisitor('Spoken Sam\u001b[31m');
  const id = await visitor.ask('Can you hear me?\u001b[2J');
  const terminal = await onPty(environment, args);
  await terminal.waitFor('Spoken Sam');
  await terminal.type('/accept 1\n');
  await terminal.waitFor('You have the conversation');
  await terminal.waitFor('Open: Spoken Sam');
  expect(await server.assignee(id)).toBe(server.member('Ann').id);
  await terminal.type('Loud and clear.\n');
  await eventually(async () => expect(await visitor.reads(id)).toContain('Loud and clear.'));
  await terminal.waitFor(/You, \d\d:\d\d: Loud and clear/);
  // Until the server has said that it has it, the text is kept, and leaving would be asked about.
  await eventually(async () => expect(await server.readFilesOf('Ann')).not.toContain('Loud and clear'));
  await terminal.type('/quit\n');
  expect(await terminal.ended()).toBe(0);
  const raw = Buffer.from(await terminal.raw(), 'latin1').toString('utf8');
  expect(raw).not.toMatch(/(?![\r\n])\p{Cc}/u);
  expect(raw).not.toMatch(/[│─┌┐└┘╭╮╰╯▌]/);
});

test('notifications: title with the count, bell and OSC only when they are on', async () => {
  const loud = await onPty();
  const quiet = await onPty({}, ['--no-bell', '--no-desktop', '--no-title']);
  await Promise.all([loud.waitFor('Pending 0'), quiet.waitFor('Pending 0')]);
  await (await server.aVisitor('Loud Lou')).ask('Ring ring');
  await Promise.all([loud.waitFor('Loud Lou'), quiet.waitFor('Loud Lou')]);
  await eventually(async () => expect(await loud.title()).toMatch(/^\(1\)/));
  await eventually(async () =>
    expect(await loud.raw()).toMatch(pattern(String.raw`ESC\]777;notify;\P{Cc}*ESC\\[^]*BEL`)),
  );
  expect(await quiet.raw()).not.toMatch(pattern(String.raw`BEL|ESC\]`));
  expect([await leave(loud), await leave(quiet)]).toEqual([0, 0]);
  await expectRestored(loud);
});

test('own keys from a file, and a file with a fault', async () => {
  await (await server.aVisitor('Key Kim')).ask('Which key?');
  const keys = join(server.folder, 'keys.json');
  await writeFile(keys, JSON.stringify({ accept: ['W'] }));
  const terminal = await onPty({}, ['--keys', keys]);
  await terminal.waitFor('Key Kim');
  await terminal.press('W');
  await terminal.waitFor(/You have the conversation|yours/);
  expect(await leave(terminal)).toBe(0);
  await writeFile(keys, JSON.stringify({ frobnicate: ['A'] }));
  const faulty = await onPty({}, ['--keys', keys]);
  await faulty.waitFor(/Your keys are not used/);
  await faulty.waitFor('online');
  expect(await leave(faulty)).toBe(0);
});

test('a signal from outside gives the terminal back, too', async () => {
  const terminal = await onPty();
  await terminal.waitFor('online');
  await terminal.kill('SIGTERM');
  await terminal.ended();
  await expectRestored(terminal);
});

test('a session that ends is asked for again, and the draft is still there', async () => {
  await (await server.aVisitor('Late Lena')).ask('Still there?');
  const terminal = await onPty();
  await terminal.waitFor('Late Lena');
  await terminal.press('a');
  await terminal.waitFor(/You have the conversation|yours/);
  await terminal.type('half of an answer');
  await terminal.waitFor('half of an answer');
  await deskbellJson(
    ['member', 'password', server.member('Ann').id, '--password-stdin', '--data', server.data],
    {
      input: 'another pass phrase',
    },
  );
  await terminal.waitFor('Password (not shown)');
  await terminal.type('another pass phrase\n');
  await terminal.waitFor('half of an answer');
  await terminal.waitFor('online');
  expect(await leave(terminal)).toBe(0);
  await deskbellJson(
    ['member', 'password', server.member('Ann').id, '--password-stdin', '--data', server.data],
    { input: password },
  );
  await server.signIn('Ann');
});

describe("on the server's own machine", () => {
  const local = async (name: string): Promise<Record<string, string>> => {
    const home = join(server.folder, 'homes', name);
    await mkdir(home, { recursive: true, mode: 0o700 });
    return { DESKBELL_CONFIG: home, DESKBELL_DATA: server.data };
  };

  test.each([[['console']], [[]]])('deskbell %j asks who one is, once, and for no password', async (args) => {
    await (await server.aVisitor('Near Nia')).ask('Close by?');
    const environment = await local(`owner-${args.length}`);
    const terminal = await server.open(openPty, args, { ...size, environment });
    const choice = await terminal.waitFor('Number:');
    const number = /(\d+)\s+Bob/.exec(choice)?.[1] ?? '';
    await terminal.type(`${number}\n`);
    await terminal.waitFor('Near Nia');
    await terminal.waitFor('Bob');
    expect(await leave(terminal)).toBe(0);
    expect(await terminal.raw()).not.toMatch(/[Pp]assword/);
    // The second time there is nothing to ask.
    const again = await server.open(openPty, args, { ...size, environment });
    await again.waitFor('Near Nia');
    expect(await again.raw()).not.toContain('Number:');
    expect(await leave(again)).toBe(0);
    const audit = await deskbellJson<{ items: { action: string; actor: string }[] }>([
      'audit',
      '--org',
      'acme',
      '--data',
      server.data,
    ]);
    expect(audit.items).toContainEqual(
      expect.objectContaining({ action: 'session.createLocal', actor: 'local' }),
    );
  });

  test('deskbell asks nothing where its port is taken, and makes nothing', async () => {
    const data = join(server.folder, 'never');
    const environment = {
      ...(await local('newcomer')),
      DESKBELL_DATA: data,
      DESKBELL_PORT: new URL(server.url).port,
    };
    const terminal = await server.open(openPty, [], { ...size, environment });
    expect(await terminal.ended()).toBe(1);
    const said = await terminal.raw();
    expect(said).toMatch(/Port \d+ of 127\.0\.0\.1 is taken/);
    expect(said).not.toContain('Organization:');
    await expect(access(data)).rejects.toThrow('ENOENT');
  });

  test('without a terminal, deskbell alone still says that the folder is in use', async () => {
    const outcome = await deskbell([], { env: { DESKBELL_DATA: server.data } });
    expect(outcome).toMatchObject({ code: 1, stdout: '' });
    expect(outcome.stderr).toMatch(/Another deskbell server \(process \d+\) is running/);
  });
});
