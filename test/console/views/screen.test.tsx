// Attacks the console on the screen: sizes from 40×12 to 250×70, hostile and foreign text,
// the cursor, and that everything is told without colour. A terminal in memory is asked.
import { afterEach, describe, expect, test } from 'vitest';
import { createModelFixture, type ModelFixture, type ModelFixtureOptions } from '../../desk/model-fixture.ts';
import { buildConversation, buildMessage, ann, mine, own, start } from '../../desk/fake-staff.ts';
import { createScreen, type Screen } from '../screen.ts';
import type { StaffConversationListItem } from '../../../src/protocol/entities.ts';

const sizes = [
  [40, 12],
  [80, 24],
  [120, 40],
  [250, 70],
] as const;

const open: Screen[] = [];
afterEach(() => {
  for (const screen of open.splice(0)) screen.close();
});

async function shown(
  items: readonly StaffConversationListItem[],
  columns: number,
  rows: number,
  options: ModelFixtureOptions = {},
): Promise<{ fixture: ModelFixture; screen: Screen }> {
  const fixture = await createModelFixture(items, { columns, rows, ...options });
  const screen = await createScreen(fixture, columns, rows);
  open.push(screen);
  return { fixture, screen };
}

const evil = '\u001b]0;owned\u0007\u001b[2J\u009b31m\u202eliame\u202c\r' + 'Z\u0301'.repeat(40);
const conversations = [
  buildConversation(
    1,
    mine({
      unreadCount: 2,
      visitor: {
        ...buildConversation(1).visitor,
        name: evil,
        email: `${evil}@x.example`,
        attributes: { [evil]: evil, plan: 'gold' },
      },
      subject: evil,
    }),
  ),
  buildConversation(
    2,
    mine({ visitor: { ...buildConversation(2).visitor, name: '李小龍 家族 👨‍👩‍👧‍👦 שלום עולם' } }),
  ),
  ...Array.from({ length: 30 }, (_, index) => buildConversation(index + 3)),
];
const talk = (staff: { messages: Map<string, ReturnType<typeof buildMessage>[]> }): void => {
  const [one, two] = [conversations[0]!, conversations[1]!];
  staff.messages.set(one.id, [
    buildMessage(one, `${evil}\n${evil}`),
    buildMessage(one, 'answer', own()),
    buildMessage(one, 'secret', own({ internal: true })),
  ]);
  staff.messages.set(two.id, [
    buildMessage(two, '你好,我的訂單在哪裡?'.repeat(9)),
    buildMessage(two, 'שלום, מה שלומך? '.repeat(9)),
    buildMessage(two, '👨‍👩‍👧‍👦 family '.repeat(20)),
  ]);
};

describe.each(sizes)('at %i×%i', (columns, rows) => {
  test('the whole way of an answer is there: queue, conversation, composer', async () => {
    const { fixture, screen } = await shown(conversations, columns, rows, { prepare: talk });
    expect(await screen.text()).toContain('[Pending 30]');
    await fixture.press('2', 'j', 'enter', 'r', 'Hello you');
    const rowsNow = await screen.rows();
    expect(rowsNow.join('\n')).toContain('Hello you');
    expect(rowsNow.join('\n')).toContain('family');
    const cursor = await screen.cursor();
    expect(rowsNow[cursor!.y]!.slice(0, cursor!.x)).toMatch(/› Hello you$/);
  });

  test('text from outside neither breaks the frame nor reaches the terminal as an order', async () => {
    const { fixture, screen } = await shown(conversations, columns, rows, { prepare: talk });
    await fixture.press('2', 'enter', 'v');
    await screen.text();
    await fixture.press('escape', 'escape', '3', '/', 'visitor');
    await fixture.advance(300);
    await screen.text();
    const bytes = screen.bytes();
    expect(bytes).not.toContain('\u001b]');
    expect(bytes).not.toContain('\u001b[2J\u009b');
    expect(bytes).not.toContain('\u0007');
    expect(bytes).not.toMatch(/[\u0080-\u009f\u202a-\u202e\u2066-\u2069]/);
    for (let row = 0; row < rows; row += 1) expect(await screen.width(row)).toBeLessThanOrEqual(columns);
  });

  test('dividers stand below each other, whatever is written beside them', async () => {
    const { fixture, screen } = await shown(conversations, columns, rows, { prepare: talk });
    await fixture.press('2', 'j', 'enter');
    const { panes, queueColumns, conversationColumns, bodyRows, compact } = fixture.view.layout;
    const dividers =
      panes === 1
        ? []
        : panes === 2
          ? [queueColumns]
          : [queueColumns, queueColumns + 1 + conversationColumns];
    const first = compact ? 0 : 1;
    for (let row = first; row < first + bodyRows; row += 1)
      expect([row, ...(await Promise.all(dividers.map((column) => screen.cell(column, row))))]).toEqual([
        row,
        ...dividers.map(() => '│'),
      ]);
    expect(dividers).toHaveLength(panes - 1);
  });

  test('a note can’t be taken for an answer, without any colour', async () => {
    const { fixture, screen } = await shown(conversations, columns, rows, { prepare: talk });
    await fixture.press('2', 'enter', 'N', 'careful');
    const text = await screen.text();
    expect(text).toContain('INTERNAL NOTE');
    expect(text).toMatch(/┊ careful/);
    expect(text).toMatch(/You +internal note/);
    expect(text).toMatch(/┊ secret/);
  });

  test('help, commands and questions fit', async () => {
    const { fixture, screen } = await shown(conversations, columns, rows, { prepare: talk });
    await fixture.press('?');
    expect(await screen.text()).toMatch(/Help[\s\S]*In the queue \(here\)/);
    await fixture.press('escape', ':', 'notif');
    expect(await screen.text()).toMatch(/Commands[\s\S]*▌ notifications on or off/);
    await fixture.press('escape', '2', 'x');
    expect(await screen.text()).toMatch(/Confirm[\s\S]*Resolve the conversation/);
    for (let row = 0; row < rows; row += 1) expect(await screen.width(row)).toBeLessThanOrEqual(columns);
  });
});

describe('the shape', () => {
  test('follows the window: three panes, two, one, and back, with the text still there', async () => {
    const { fixture, screen } = await shown(conversations, 130, 40, { prepare: talk });
    await fixture.press('2', 'j', 'enter', 'r', 'typed before');
    expect(await screen.text()).toMatch(/Visitor ─[\s\S]*typed before|typed before/);
    expect((await screen.rows())[1]).toMatch(/Visitor ─/);
    await screen.resize(90, 30);
    expect((await screen.rows())[1]).not.toMatch(/Visitor ─/);
    expect(await screen.text()).toMatch(/Mine 2\][\s\S]*typed before/);
    await screen.resize(40, 12);
    const small = await screen.text();
    expect(small).toContain('typed before');
    expect(small).not.toContain('Pending');
    await screen.resize(130, 40);
    expect(await screen.text()).toMatch(/Mine 2\][\s\S]*typed before/);
    const cursor = await screen.cursor();
    expect((await screen.rows())[cursor!.y]).toContain('typed before');
  });

  test('one pane: Esc goes back to the queue', async () => {
    const { fixture, screen } = await shown(conversations, 60, 20, { prepare: talk });
    await fixture.press('2', 'j', 'enter');
    expect(await screen.text()).not.toContain('Pending');
    await fixture.press('escape');
    expect(await screen.text()).toContain('[Mine 2]');
  });

  test('a window too small for anything says so, and comes back', async () => {
    const { screen } = await shown(conversations, 80, 24);
    await screen.resize(18, 5);
    expect(await screen.text()).toMatch(/too\s+small/);
    await screen.resize(80, 24);
    expect(await screen.text()).toContain('[Pending 30]');
  });

  test('only conversations in sight are drawn', async () => {
    const { fixture, screen } = await shown(conversations, 80, 24);
    expect(((await screen.text()).match(/question \d+/g) ?? []).length).toBeLessThanOrEqual(
      fixture.view.layout.queueHeight,
    );
    await fixture.press('G');
    expect(await screen.text()).toContain('Visitor 3 ');
  });
});

describe('without colour one sees', () => {
  test('which conversation is chosen, which pane has the keys, who waits', async () => {
    const { fixture, screen } = await shown(conversations, 80, 24, { prepare: talk });
    expect((await screen.rows())[2]).toMatch(/^▌○ /);
    expect((await screen.rows())[1]).toMatch(/^━ \[Pending 30\]/);
    await fixture.press('2', 'enter');
    const title = (await screen.rows())[1]!;
    expect(title).toMatch(/^─/);
    expect(title).toMatch(/│━/);
  });

  test('that a colleague has it, that it is closed, that the connection is lost and for how long', async () => {
    const { fixture, screen } = await shown(
      [buildConversation(1, mine({ assignedTo: ann, assignedToName: 'Ann' }))],
      120,
      40,
    );
    await fixture.press('3', 'enter');
    expect((await screen.rows())[1]).toContain('Ann has it');
    fixture.staff.change(buildConversation(1).id, { status: 'closed' });
    expect((await screen.rows())[1]).toContain('closed');
    fixture.staff.connect('offline', start + 12_000);
    const text = await screen.text();
    expect(text).toMatch(/✗ offline, again in \d+ s/);
    expect(text).toContain('What you write is kept');
    await fixture.advance(3_000);
    const before = /again in (\d+) s/.exec(text)![1];
    expect(await screen.text()).not.toContain(`again in ${before} s`);
  });

  test('that a message is not sent, and why', async () => {
    const { fixture, screen } = await shown(conversations, 80, 24, {
      prepare: (staff) =>
        staff.messages.set(conversations[1]!.id, [
          buildMessage(conversations[1]!, 'stuck', own({ state: 'failed' })),
        ]),
    });
    await fixture.press('2', 'j', 'enter');
    expect(await screen.text()).toMatch(/stuck {2}✗ not sent/);
    expect((await screen.rows()).at(-1)).toContain('send again');
  });

  test('who types', async () => {
    const { fixture, screen } = await shown(conversations, 120, 40, { prepare: talk });
    await fixture.press('2', 'j', 'enter');
    fixture.staff.setRoom(conversations[1]!.id, {
      typing: [{ userId: 'v', userName: 'Li\u001b[2J', senderRole: 'visitor' }],
    });
    expect(await screen.text()).toContain('Li␛[2J is typing…');
  });
});

describe('the keyboard as a terminal sends it', () => {
  test('letters, Enter, arrows, a paste with escape sequences in it', async () => {
    const { fixture, screen } = await shown(conversations, 80, 24, { prepare: talk });
    await screen.type('2');
    await screen.type('\u001b[B');
    await screen.type('\r');
    expect(fixture.state().open?.id).toBe(conversations[1]!.id);
    await screen.type('r');
    await screen.type('\u001b[200~one\rtwo\u001b[31m\u001b[201~');
    expect(fixture.state().composer?.buffer.text).toBe('one\ntwo');
    await screen.type('\u001b\r');
    await screen.type('end');
    expect(fixture.state().composer?.buffer.text).toBe('one\ntwo\nend');
    const cursor = await screen.cursor();
    expect((await screen.rows())[cursor!.y]!.trimEnd()).toMatch(/end$/);
    expect(fixture.staff.calls.filter((call) => call.startsWith('send'))).toEqual([]);
  });

  test('the cursor stands in the search, and behind wide characters where the terminal has it', async () => {
    const { screen } = await shown(conversations, 80, 24);
    await screen.type('/');
    await screen.type('李小');
    expect(await screen.cursor()).toEqual({ x: 7, y: 2 });
    await screen.type('\u001b');
  });

  test('no cursor where nothing is written', async () => {
    const { screen } = await shown(conversations, 80, 24);
    expect(await screen.cursor()).toBeNull();
  });
});
