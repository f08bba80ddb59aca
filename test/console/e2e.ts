// Owns: an operator's day on a real terminal, against the real server with real visitors; run
// at each size by a file of its own. In tmux where this machine has it, else on a pty: never left out.
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { eventually } from '../helpers/eventually.ts';
import { startProxy } from '../helpers/proxy.ts';
import { openTerminal, type Terminal, type TerminalOptions } from '../helpers/terminal.ts';
import { password, createServerFixture, type ServerFixture } from './server-fixture.ts';

/** Leaves the console, whatever it shows and whatever is unsent, and gives its exit code. */
export async function leave(terminal: Terminal): Promise<number | null> {
  const taken = async (): Promise<boolean> =>
    (await terminal.screen()).join('\n').includes('Quit?') || !(await terminal.alternate());
  await eventually(async () => {
    // Pressed again, as a person would, when it was swallowed by the key before that closed a list.
    await terminal.press('ctrl+c');
    await eventually(async () => expect(await taken()).toBe(true), 3_000);
  });
  if (await terminal.alternate()) await terminal.press('y');
  return terminal.ended();
}

/** The terminal is as it was before the console began. */
export async function expectRestored(terminal: Terminal): Promise<void> {
  expect(await terminal.alternate()).toBe(false);
  expect(await terminal.title()).not.toContain('acme');
  const raw = await terminal.raw();
  for (const [on, off] of [
    ['[?1049h', '[?1049l'],
    ['[?2004h', '[?2004l'],
    ['[?1004h', '[?1004l'],
    ['[?25l', '[?25h'],
    ['[?7l', '[?7h'],
  ] as const)
    expect(raw.lastIndexOf(off), off).toBeGreaterThan(raw.lastIndexOf(on));
}

type Size = Pick<TerminalOptions, 'columns' | 'rows'>;

/** Of the file that runs: files of one worker follow each other. */
let server: ServerFixture;

/** Declares the journeys. */
export function declareE2eTests(size: Size): void {
  beforeAll(async () => {
    server = await createServerFixture(['Ann', 'Bob']);
    await server.signIn('Ann');
  });
  afterAll(() => server.close());
  afterEach(() => server.clear());
  declareWork(size);
  declareTrouble(size);
}

function declareWork(size: Size): void {
  test('signing in, accepting, answering, resolving, leaving', async () => {
    const visitor = await server.aVisitor('Ana Souza');
    const id = await visitor.ask('Where is my parcel?');
    const environment = server.environmentOf('newcomer');
    const terminal = await server.open(openTerminal, ['console', '--url', server.url], {
      ...size,
      environment,
    });
    await terminal.waitFor('Organization');
    await terminal.type('acme\n');
    await terminal.waitFor('E-mail');
    await terminal.type(`${server.member('Ann').email}\n`);
    await terminal.waitFor('Password');
    await terminal.type(`${password}\n`);
    await terminal.waitFor('Ana Souza');
    expect(await terminal.alternate()).toBe(true);
    await terminal.press('enter');
    await terminal.waitFor('Where is my parcel?');
    await terminal.press('a');
    await terminal.waitFor(/yours|You have the conversation/);
    await terminal.type('On its way, Ana!');
    await terminal.waitFor('On its way, Ana!');
    await terminal.press('enter');
    await eventually(async () =>
      expect(await visitor.reads(id)).toEqual(['Where is my parcel?', 'On its way, Ana!']),
    );
    await visitor.write(id, 'Thank you so much');
    await terminal.waitFor('Thank you so much');
    await terminal.press('esc');
    await terminal.waitFor('x resolve');
    await terminal.press('x');
    await terminal.waitFor('Resolve the');
    await terminal.press('y');
    await eventually(async () => expect(await server.status(id)).toBe('closed'));
    expect(await leave(terminal)).toBe(0);
    await expectRestored(terminal);
  });

  test('of two operators who accept at once one has it, and the other reads who was faster', async () => {
    const visitor = await server.aVisitor('Rita Race');
    const id = await visitor.ask('Who takes me?');
    const ann = await server.console('Ann', size);
    // Bob decides before his console can know: until then nothing passes on the way to him and back.
    const line = await startProxy(server.url);
    try {
      await server.signIn('Bob', line.url);
      const bob = await server.console('Bob', size);
      await Promise.all([ann.waitFor('Rita Race'), bob.waitFor('Rita Race')]);
      const release = line.hold();
      await ann.press('a');
      await eventually(async () => expect(await server.assignee(id)).toBe(server.member('Ann').id));
      await bob.press('a');
      await bob.waitFor('Reply to');
      release();
      await bob.waitFor('Ann was faster');
      await ann.waitFor(/yours|You have/);
      // The one who was slower goes on working.
      await (await server.aVisitor('Next Visitor')).ask('And me?');
      await bob.press('esc');
      await bob.waitFor('Next Visi');
      expect([await leave(ann), await leave(bob)]).toEqual([0, 0]);
    } finally {
      await line.stop();
    }
  });

  test('an admin answers a visitor, and keeps the answer for the assistant', async () => {
    const visitor = await server.aVisitor('Gil Gift');
    expect(await visitor.asksAssistant('Do you wrap gifts?')).toBe(false);
    const id = await visitor.ask('Do you wrap gifts?');
    await server.signIn('Witness');
    const terminal = await server.console('Witness', size);
    await terminal.waitFor('Gil Gift');
    await terminal.press('a');
    await terminal.waitFor(/yours|You have/);
    await terminal.type('Any parcel is wrapped as a gift, call 030 1234567.');
    await terminal.press('enter');
    await eventually(async () => expect(await visitor.reads(id)).toHaveLength(2));
    await terminal.press('esc');
    await terminal.waitFor('x resolve');
    await terminal.press('Q');
    await terminal.waitFor(/▌ Do you wrap gifts\?  write/);
    await terminal.press('esc');
    await terminal.waitForNo('Questions without an answer');
    await terminal.press('K');
    await terminal.waitFor('Kept for the assistant');
    await terminal.press('enter');
    await terminal.waitFor('may name a person: 030 1234567');
    for (let left = ', call 030 1234567.'.length; left > 0; left -= 1) await terminal.press('backspace');
    await terminal.press('enter');
    await terminal.waitFor('Kept. Questions like it');
    expect(await visitor.asksAssistant('Do you wrap gifts?')).toBe(true);
    expect(await visitor.reads(id)).toHaveLength(2);
    expect(await leave(terminal)).toBe(0);
  });
}

function declareTrouble(size: Size): void {
  test('the server dies while one writes: nothing is lost, the message goes out once', async () => {
    const visitor = await server.aVisitor('Patient Pat');
    const id = await visitor.ask('Are you there?');
    const terminal = await server.console('Ann', size);
    await terminal.waitFor('Patient Pat');
    await terminal.press('a');
    await terminal.waitFor(/yours|You have/);
    await terminal.type('Yes, and half a sen');
    await terminal.waitFor('half a sen');
    await server.killServer();
    await terminal.waitFor(/offline|✗|connecting/i);
    await terminal.type('tence more');
    await terminal.waitFor('half a sentence more');
    await terminal.press('enter');
    await terminal.waitFor(/waits? for the|sending/);
    await terminal.type('half a draft');
    await server.startServer();
    await terminal.waitFor(/online|●/);
    await eventually(async () =>
      expect(await visitor.reads(id)).toEqual(['Are you there?', 'Yes, and half a sentence more']),
    );
    await terminal.waitForNo('sending');
    expect((await terminal.screen()).join('\n')).toContain('half a draft');
    await visitor.write(id, 'You are back');
    await terminal.waitFor('You are back');
    expect(await visitor.reads(id)).toHaveLength(3);
    expect(await leave(terminal)).toBe(0);
  });

  test('a resize in the middle of a sentence loses nothing and leaves nothing behind', async () => {
    const visitor = await server.aVisitor('Rachel Resize');
    await visitor.ask('The window changes.');
    const terminal = await server.console('Ann', size);
    await terminal.waitFor('Rachel Res');
    await terminal.press('a');
    await terminal.waitFor(/yours|You have/);
    await terminal.type('before');
    await terminal.waitFor('before');
    for (const [columns, rows] of [
      [40, 12],
      [250, 70],
      [60, 20],
      [size.columns, size.rows],
    ] as const) {
      await terminal.resize(columns, rows);
      await terminal.type('+');
      await terminal.waitFor(/before\++/);
      // The last row is the hint line: the screen is filled exactly.
      await eventually(async () => {
        const shown = await terminal.screen();
        expect(shown).toHaveLength(rows);
        expect(shown.at(-1)?.trim()).not.toBe('');
      });
    }
    await terminal.waitFor('before++++');
    const columns = (await terminal.screen()).map((row) => row.length);
    expect(Math.max(...columns)).toBeLessThanOrEqual(size.columns);
    expect(await leave(terminal)).toBe(0);
  });

  test('what was typed survives the death of the console', async () => {
    const visitor = await server.aVisitor('Dora Draft');
    const id = await visitor.ask('Think about it.');
    const first = await server.console('Ann', size);
    await first.waitFor('Dora Draft');
    await first.press('a');
    await first.waitFor(/yours|You have/);
    await first.type('a long and careful answer');
    await first.waitFor('careful answer');
    await eventually(async () =>
      expect(await server.readKeptFilesOf('Ann')).toContain('a long and careful answer'),
    );
    await first.kill('SIGKILL');
    await first.ended();
    const second = await server.console('Ann', size);
    await second.waitFor(/Mine|2/);
    await second.press('2');
    await second.waitFor('Dora Draft');
    await second.press('r');
    await second.waitFor('a long and careful answer');
    await second.press('enter');
    await eventually(async () =>
      expect(await visitor.reads(id)).toEqual(['Think about it.', 'a long and careful answer']),
    );
    await eventually(async () => expect(await server.readFilesOf('Ann')).not.toContain('careful answer'));
    expect(await leave(second)).toBe(0);
  });
}
