// Attacks the console in one column: no escape sequence ever, everything can be done by
// lines, and what happens is said once.
import { PassThrough, Writable } from 'node:stream';
import { afterEach, describe, expect, test } from 'vitest';
import { startPlainMode } from '../../../src/cli/console/views/plain-mode.ts';
import { sdkError } from '../../../src/sdk/error.ts';
import { createModelFixture, type ModelFixture, type ModelFixtureOptions } from '../../desk/model-fixture.ts';
import { buildConversation, buildMessage, ann, mine, own } from '../../desk/fake-staff.ts';
import type { StaffConversationListItem } from '../../../src/protocol/entities.ts';

interface Lines {
  readonly fixture: ModelFixture;
  /** Everything that was written. */
  text(): string;
  /** Types a line, and answers what was said since. */
  enter(line: string): Promise<string>;
  ended(): boolean;
}

const stops: (() => void)[] = [];
afterEach(() => {
  for (const stop of stops.splice(0)) stop();
});

async function lines(
  items: readonly StaffConversationListItem[],
  options: ModelFixtureOptions = {},
): Promise<Lines> {
  const fixture = await createModelFixture(items, options);
  const input = new PassThrough();
  let written = '';
  let over = false;
  const output = Object.assign(
    new Writable({
      write: (chunk: Buffer, _encoding, done) => {
        written += chunk.toString('utf8');
        done();
      },
    }),
    { columns: 80 },
  );
  const linear = startPlainMode({
    model: fixture.model,
    keymap: fixture.keymap,
    input,
    output,
    onEnd: () => {
      over = true;
    },
  });
  stops.push(linear.stop);
  return {
    fixture,
    text: () => written,
    ended: () => over,
    enter: async (line) => {
      const before = written.length;
      input.write(`${line}\n`);
      await fixture.settle();
      await fixture.advance(400);
      return written.slice(before);
    },
  };
}

const item = buildConversation(1, mine({ unreadCount: 1 }));
const talk: ModelFixtureOptions = {
  prepare: (staff) =>
    staff.messages.set(item.id, [
      buildMessage(item, 'Where is it?\nI wait.'),
      buildMessage(item, 'private', own({ internal: true })),
    ]),
};

describe('lines', () => {
  test('list, open, answer, note: the messages are read out once', async () => {
    const { fixture, enter } = await lines([item, buildConversation(2)], talk);
    expect(await enter('/list mine')).toMatch(
      /mine: 1 conversation\.\n1\. Visitor 1, yours, [\d:]+, 1 new: question 1\n/,
    );
    const opened = await enter('/open 1');
    expect(opened).toMatch(/Open: Visitor 1, yours/);
    expect(opened).toMatch(
      /Visitor 1, \d\d:\d\d:\n {2}Where is it\?\n {2}I wait\.\nYou, internal note, \d\d:\d\d: private\n/,
    );
    expect(await enter('It is on its way.')).toMatch(/^You, \d\d:\d\d: It is on its way\.\n$/);
    expect(await enter('/note careful')).toMatch(/^You, internal note, \d\d:\d\d: careful\n$/);
    expect(fixture.staff.calls.filter((call) => call.startsWith('send'))).toEqual([
      `send ${item.id} plain It is on its way.`,
      `send ${item.id} note plain careful`,
    ]);
  });

  test('what others write is said by itself', async () => {
    const { fixture, enter, text } = await lines([item], talk);
    await enter('/list mine');
    await enter('/open 1');
    const before = text().length;
    fixture.staff.hear(buildMessage(item, 'Are you there?'));
    fixture.staff.arrive(buildConversation(9));
    await fixture.advance(500);
    expect(text().slice(before)).toMatch(/Visitor 1, \d\d:\d\d: Are you there\?\n/);
    expect(text().slice(before)).toMatch(/Waiting: Visitor 9, waiting 9 min: question 9\n/);
    const quiet = text().length;
    await fixture.advance(60_000);
    expect(text()).toHaveLength(quiet);
  });

  test('a backslash at the end goes on in the next line', async () => {
    const { fixture, enter } = await lines([item], talk);
    await enter('/list mine');
    await enter('/open 1');
    await enter('one\\');
    await enter('/not a command\\');
    await enter('two');
    expect(fixture.staff.calls.filter((call) => call.startsWith('send'))).toEqual([
      `send ${item.id} plain one\n/not a command\ntwo`,
    ]);
  });

  test('acts ask and are told', async () => {
    const { fixture, enter } = await lines([item, buildConversation(2)], talk);
    await enter('/list');
    expect(await enter('/accept 1')).toContain('You have the conversation with Visitor 2.');
    expect(await enter('/resolve')).toContain('Resolve the conversation with Visitor 2? /yes or /no');
    expect(await enter('/no')).toBe('');
    await enter('/resolve');
    expect(await enter('/yes')).toContain('Resolved: Visitor 2.');
    fixture.staff.failures.set('release', sdkError('network'));
    await enter('/list mine');
    await enter('/open 1');
    expect(await enter('/release')).toContain('! The server can’t be reached just now.');
  });

  test('a draft is never sent by what is typed next', async () => {
    const { fixture, enter } = await lines([item], {
      ...talk,
      drafts: new Map([[item.id, { text: 'from before', note: true }]]),
    });
    await enter('/list mine');
    expect(await enter('/open 1')).toContain('Your note: from before');
    expect(await enter('new')).toContain('There is a draft here');
    expect(fixture.staff.calls.filter((call) => call.startsWith('send'))).toEqual([]);
    await enter('/send');
    expect(fixture.staff.calls.filter((call) => call.startsWith('send'))).toEqual([
      `send ${item.id} note plain from before`,
    ]);
  });

  test('says what came and went by mail', async () => {
    const by = { ...item, channel: 'email' as const };
    const { text, enter } = await lines([by], {
      prepare: (staff) =>
        staff.messages.set(by.id, [
          { ...buildMessage(by, 'Where is it?'), via: 'email' },
          {
            ...buildMessage(by, 'On its way.', own()),
            editedAt: by.createdAt,
            emailed: { state: 'bounced' },
          },
        ]),
    });
    await enter('/list mine');
    await enter('/open 1');
    expect(text()).toContain('Visitor 1, by e-mail, yours');
    expect(text()).toMatch(/Visitor 1, \d\d:\d\d \(by e-mail\): Where is it\?/);
    expect(text()).toMatch(/You, \d\d:\d\d \(edited, the mail came back\): On its way\./);
  });

  test('without an open conversation a line goes nowhere', async () => {
    const { fixture, enter } = await lines([item], talk);
    expect(await enter('hello?')).toContain('Open a conversation first');
    expect(fixture.staff.calls.filter((call) => call.startsWith('send'))).toEqual([]);
  });

  test('a transfer needs one name that fits', async () => {
    const members = [
      { id: ann, name: 'Ann', role: 'admin', online: true },
      { id: 'c', name: 'Anton', role: 'operator', online: false },
    ];
    const { fixture, enter } = await lines([item], {
      prepare: (staff) => {
        talk.prepare?.(staff);
        staff.answers.set('GET /members', () => ({ members }));
      },
    });
    await enter('/list mine');
    await enter('/open 1');
    expect(await enter('/transfer an')).toBe('Colleagues: Ann, Anton (offline).\n');
    await enter('/transfer anton');
    expect(fixture.staff.calls.filter((call) => call.startsWith('transfer'))).toHaveLength(1);
  });

  test('a transfer without another member says so', async () => {
    const { enter } = await lines([item], {
      prepare: (staff) => {
        talk.prepare?.(staff);
        staff.answers.set('GET /members', () => ({ members: [] }));
      },
    });
    await enter('/list mine');
    await enter('/open 1');
    expect(await enter('/transfer ann')).toBe('There is no other member.\n');
  });

  test('commands may be shortened, unknown ones are told, help names them all', async () => {
    const { enter } = await lines([item], talk);
    expect(await enter('/lis')).toContain('pending: 0 conversations.');
    expect(await enter('/nonsense')).toBe('There is no /nonsense. /help lists the commands.\n');
    expect((await enter('/help')).split('\n').filter((line) => line.startsWith('/')).length).toBeGreaterThan(
      20,
    );
  });

  test('no text becomes a command to the terminal', async () => {
    const evil = '👨‍👩‍👧‍👦\u001b]0;x\u0007\u001b[2J\u009b31m\u202e\r';
    const bad = buildConversation(
      3,
      mine({
        subject: evil,
        visitor: { ...buildConversation(3).visitor, name: evil, attributes: { [evil]: evil } },
      }),
    );
    const { fixture, enter, text } = await lines([bad], {
      prepare: (staff) => staff.messages.set(bad.id, [buildMessage(bad, evil)]),
    });
    await enter('/list mine');
    await enter('/open 1');
    await enter('/visitor');
    await enter(`/${evil}`);
    fixture.staff.hear(buildMessage(bad, evil, { senderName: evil }));
    await fixture.advance(500);
    expect(text()).not.toMatch(/(?!\n)\p{Cc}|[\u200b\u202a-\u202e]/u);
    expect(text()).toContain('👨👩👧👦');
  });

  test('the end of the input ends it', async () => {
    const { fixture, enter } = await lines([]);
    await enter('/quit');
    expect(fixture.exitCodes).toEqual([0]);
  });
});
