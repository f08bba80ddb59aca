// Attacks what an operator does with whole conversations: the queue that fills itself, acts,
// races, paging through thousands, interruptions and the end of a session.
import { describe, expect, test } from 'vitest';
import { shownRows, tabRows } from '../../../src/cli/console/state/queue.ts';
import { sdkError } from '../../../src/sdk/error.ts';
import { createModelFixture, type ModelFixture } from '../model-fixture.ts';
import { buildConversation, buildMessage, ann, me, mine, own, start } from '../fake-staff.ts';

const asked = (desk: ModelFixture, what: string): string[] =>
  desk.staff.calls.filter((call) => call.startsWith(what));
const cursorOf = (desk: ModelFixture): string | null =>
  desk.state().queue.lists[desk.state().queue.tab].cursor;
const names = (desk: ModelFixture): (string | null)[] =>
  shownRows(desk.state().queue, me).map(({ visitor }) => visitor.name);

describe('the queue', () => {
  test('begins with who waits longest, and counts every tab', async () => {
    const desk = await createModelFixture([
      buildConversation(1),
      buildConversation(3),
      buildConversation(2, mine()),
      buildConversation(4, { status: 'closed' }),
    ]);
    expect(names(desk)).toEqual(['Visitor 3', 'Visitor 1']);
    const { lists } = desk.state().queue;
    expect([lists.pending.total, lists.mine.total, lists.all.total, lists.closed.total]).toEqual([
      2, 1, 4, 1,
    ]);
    await desk.press('4');
    expect(names(desk)).toEqual(['Visitor 4']);
  });

  test('a conversation that comes up appears by itself and keeps the cursor on its conversation', async () => {
    const desk = await createModelFixture([buildConversation(5), buildConversation(3)]);
    await desk.press('j');
    const chosen = cursorOf(desk);
    desk.staff.arrive(buildConversation(9));
    await desk.advance(1_000);
    expect(names(desk)).toEqual(['Visitor 9', 'Visitor 5', 'Visitor 3']);
    expect(cursorOf(desk)).toBe(chosen);
    expect(desk.state().queue.lists.pending.total).toBe(3);
  });

  test('a conversation that is erased goes, and the count follows', async () => {
    const desk = await createModelFixture([buildConversation(5), buildConversation(3)]);
    desk.staff.erase(buildConversation(5).id);
    expect(names(desk)).toEqual(['Visitor 3']);
    await desk.advance(6_000);
    expect(desk.state().queue.lists.pending.total).toBe(1);
  });

  test('when the chosen one goes, the one in its place is chosen, not the first', async () => {
    const desk = await createModelFixture([buildConversation(9), buildConversation(5), buildConversation(3)]);
    await desk.press('j');
    desk.staff.change(buildConversation(5).id, mine({ assignedTo: ann, assignedToName: 'Ann' }));
    await desk.settle();
    expect(cursorOf(desk)).toBe(buildConversation(3).id);
  });

  test('of 10,000 conversations only pages in sight are asked for, and out of sight they are forgotten', async () => {
    const desk = await createModelFixture(
      Array.from({ length: 10_000 }, (_, index) => buildConversation(index + 1, mine())),
    );
    await desk.press('3');
    expect(tabRows(desk.state().queue, 'all', me)).toHaveLength(50);
    for (let step = 0; step < 25; step += 1) await desk.press('pagedown');
    const rows = shownRows(desk.state().queue, me);
    expect(rows.length).toBeGreaterThan(400);
    expect(rows.map(({ id }) => Number(id.slice(-12)))).toEqual(rows.map((_, index) => index + 1));
    await desk.press('1', '2');
    // A day's events: they come and go, and the console does not grow.
    for (let event = 0; event < 1_200; event += 1)
      desk.staff.change(buildConversation(5_000 + event).id, { unreadCount: event % 7 });
    await desk.advance(2_000);
    expect(desk.state().queue.items.length).toBeLessThan(1_500);
    expect(desk.staff.client.getState().conversations.length).toBeLessThan(1_500);
  });

  test('a page that can’t be had says so and is asked for again', async () => {
    const desk = await createModelFixture([buildConversation(1)]);
    desk.staff.failures.set('list', sdkError('network'));
    await desk.press('4');
    expect(desk.state().queue.lists.closed.problem).toContain('can’t be reached');
    await desk.press('1', '4');
    expect(desk.state().queue.lists.closed.problem).toBeNull();
  });
});

describe('search', () => {
  test('asks when typing pauses, shows what is found, and Esc brings the tab back', async () => {
    const desk = await createModelFixture([
      buildConversation(1),
      buildConversation(12),
      buildConversation(2, { status: 'closed' }),
    ]);
    await desk.press('/', 'visitor 1');
    expect(asked(desk, 'list {"q"')).toEqual([]);
    await desk.advance(300);
    expect(asked(desk, 'list {"q"')).toHaveLength(1);
    expect(names(desk)).toEqual(['Visitor 12', 'Visitor 1']);
    await desk.press('escape');
    expect(desk.state().queue.search).toBeNull();
    expect(names(desk)).toEqual(['Visitor 12', 'Visitor 1']);
  });

  test('letters are letters while searching, and acts again once the words stand', async () => {
    const desk = await createModelFixture([buildConversation(1), buildConversation(2)]);
    await desk.press('/', 'axnq');
    expect(desk.state().queue.search?.text).toBe('axnq');
    expect(asked(desk, 'accept')).toEqual([]);
    for (let step = 0; step < 4; step += 1) await desk.press('backspace');
    await desk.press('question 2');
    await desk.advance(300);
    await desk.press('enter');
    expect(desk.state().open?.id).toBe(buildConversation(2).id);
  });

  test('an answer that comes late does not overwrite a newer question', async () => {
    const desk = await createModelFixture([buildConversation(1), buildConversation(2)]);
    await desk.press('/', 'question 1');
    const release = desk.staff.hold('list');
    await desk.advance(300);
    await desk.press('backspace', '2');
    await desk.advance(300);
    expect(names(desk)).toEqual(['Visitor 2']);
    release();
    await desk.settle();
    expect(names(desk)).toEqual(['Visitor 2']);
  });
});

describe('acts', () => {
  test('accept: the conversation is open, its composer has the keys', async () => {
    const desk = await createModelFixture([buildConversation(2), buildConversation(1)]);
    await desk.press('a');
    expect(asked(desk, 'accept')).toEqual([`accept ${buildConversation(2).id}`]);
    expect([desk.state().open?.id, desk.state().focus]).toEqual([buildConversation(2).id, 'composer']);
    expect(desk.flash()).toBe('You have the conversation with Visitor 2.');
  });

  test('what is typed behind it at once is an answer, not commands, however slow the line is', async () => {
    const desk = await createModelFixture([buildConversation(2), buildConversation(1)]);
    desk.model.pressKeys(Array.from('a', (key) => ({ key, text: key })));
    desk.model.pressKeys(Array.from('xRan', (key) => ({ key, text: key })));
    desk.model.pressKeys([{ key: 'enter', text: '' }]);
    await desk.settle();
    expect(desk.staff.calls.filter((call) => /^(accept|send|resolve|release)/.test(call))).toEqual([
      `accept ${buildConversation(2).id}`,
      `send ${buildConversation(2).id} plain xRan`,
    ]);
  });

  test('a race that is lost is told with the name, and what was typed meanwhile is kept', async () => {
    const desk = await createModelFixture([buildConversation(2)]);
    desk.staff.failures.set('accept', sdkError('conflict', 'no', 409));
    desk.staff.items = [buildConversation(2, mine({ assignedTo: ann, assignedToName: 'Ann\u001b[2J' }))];
    await desk.press('a');
    expect(desk.flash()).toBe('Ann␛[2J was faster.');
    expect(desk.state().focus).toBe('conversation');
    const late = await createModelFixture([buildConversation(2)]);
    late.staff.failures.set('accept', sdkError('conflict', 'no', 409));
    late.staff.items = desk.staff.items;
    late.model.pressKeys(Array.from('aHi', (key) => ({ key, text: key })));
    await late.settle();
    expect([late.state().composer?.buffer.text, late.state().focus]).toEqual(['Hi', 'composer']);
    await late.press('enter');
    expect(late.staff.calls.filter((call) => call.startsWith('send'))).toEqual([]);
  });

  test('pressed twice, it is asked once', async () => {
    const desk = await createModelFixture([buildConversation(2), buildConversation(1)]);
    desk.model.pressKeys([
      { key: 'a', text: 'a' },
      { key: 'a', text: 'a' },
    ]);
    await desk.settle();
    expect(asked(desk, 'accept')).toHaveLength(1);
  });

  test('resolve asks first; No leaves it, Yes does it', async () => {
    const desk = await createModelFixture([buildConversation(1, mine())]);
    await desk.press('2', 'x');
    expect(desk.state().dialog?.kind).toBe('confirm');
    await desk.press('n');
    expect(asked(desk, 'resolve')).toEqual([]);
    await desk.press('x', 'y');
    expect(asked(desk, 'resolve')).toHaveLength(1);
    expect(desk.state().dialog).toBeNull();
  });

  test('what is not mine I may not resolve, release or hand on; an admin may', async () => {
    for (const [role, expected] of [
      ['operator', 0],
      ['admin', 1],
    ] as const) {
      const desk = await createModelFixture(
        [buildConversation(1, mine({ assignedTo: ann, assignedToName: 'Ann' }))],
        { role },
      );
      await desk.press('3', 'R');
      expect([role, asked(desk, 'release').length]).toEqual([role, expected]);
    }
  });

  test('transfer offers the others, those who are here first', async () => {
    const desk = await createModelFixture([buildConversation(1, mine())], {
      prepare: (staff) =>
        staff.answers.set('GET /members', () => ({
          members: [
            { id: me, name: 'Me', role: 'operator', online: true },
            { id: 'c', name: 'Bob', role: 'operator', online: false },
            { id: ann, name: 'Ann', role: 'admin', online: true },
          ],
        })),
    });
    await desk.press('2', 't', 'enter');
    expect(asked(desk, 'transfer')).toEqual([`transfer ${buildConversation(1).id}`]);
    expect(desk.flash()).toBe('Ann has the conversation with Visitor 1 now.');
  });
});

describe('next unread', () => {
  test('goes on from one to the next, and says when there is none', async () => {
    const desk = await createModelFixture([
      buildConversation(1, mine({ unreadCount: 1 })),
      buildConversation(4),
    ]);
    await desk.press('n');
    expect(desk.state().open?.id).toBe(buildConversation(1).id);
    await desk.press('n');
    expect(desk.state().open?.id).toBe(buildConversation(4).id);
    const idle = await createModelFixture([]);
    await idle.press('n');
    expect(idle.flash()).toBe('No conversation is unread or waiting.');
  });
});

describe('interruptions', () => {
  test('offline is said with the moment of the next attempt, and everything is asked anew afterwards', async () => {
    const desk = await createModelFixture([buildConversation(1), buildConversation(2)]);
    desk.staff.connect('offline', start + 8_000);
    expect([desk.state().connection, desk.state().reconnectAt]).toEqual(['offline', start + 8_000]);
    // Meanwhile somebody else took one of them, and nobody told.
    desk.staff.items = desk.staff.items.map((item) =>
      item.id === buildConversation(2).id ? { ...item, ...mine({ assignedTo: ann }) } : item,
    );
    desk.staff.connect('online');
    await desk.settle();
    expect(names(desk)).toEqual(['Visitor 1']);
    expect(desk.flash()).toBe('Connected again; everything is up to date.');
  });

  test('the first connection is nothing to speak of', async () => {
    expect((await createModelFixture([])).flash()).toBe('');
  });

  test('a service that can’t be reached at the start is tried again, ever more rarely, until it is there', async () => {
    const desk = await createModelFixture([buildConversation(1)], {
      prepare: (staff) => staff.failures.set('resume', sdkError('network')),
    });
    expect([desk.state().session, desk.state().connection]).toEqual([null, 'offline']);
    expect(desk.state().reconnectAt).toBe(start + 1_000);
    desk.staff.failures.set('resume', sdkError('unavailable', 'x', 503));
    await desk.advance(1_000);
    expect(desk.state().reconnectAt).toBe(start + 3_000);
    await desk.advance(2_500);
    expect(names(desk)).toEqual(['Visitor 1']);
  });

  test('a session that ends asks to sign in again, and what was typed is still there', async () => {
    const desk = await createModelFixture([buildConversation(1, mine())]);
    await desk.press('2', 'enter', 'r', 'half a sentence');
    desk.token = 'fresh';
    desk.staff.signOut();
    await desk.settle();
    expect(desk.staff.calls).toContain('resume fresh');
    expect(desk.state().composer?.buffer.text).toBe('half a sentence');
    expect(desk.drafts.get(buildConversation(1).id)?.text).toBe('half a sentence');
    expect(desk.exitCodes).toEqual([]);
  });

  test('nobody signs in again: the console ends, the draft stays', async () => {
    const desk = await createModelFixture([buildConversation(1, mine())]);
    await desk.press('2', 'enter', 'r', 'half');
    desk.staff.signOut();
    await desk.settle();
    expect(desk.exitCodes).toEqual([0]);
    expect(desk.drafts.get(buildConversation(1).id)?.text).toBe('half');
  });
});

describe('calls for attention', () => {
  test('somebody new, and a message in mine; not in what is before my eyes, not twice in a moment', async () => {
    const desk = await createModelFixture([buildConversation(1, mine()), buildConversation(2, mine())]);
    await desk.press('2', 'enter');
    desk.notifications.length = 0;
    const activity = (number: number) =>
      desk.staff.emit('conversation:activity', {
        conversationId: buildConversation(number).id,
        lastMessageId: 'm',
        updatedAt: '',
        preview: 'hi \u001b[2J',
        waiting: true,
      });
    desk.staff.arrive(buildConversation(7));
    activity(1);
    activity(2);
    activity(2);
    await desk.settle();
    expect(desk.notifications.filter((line) => line.startsWith('notify'))).toHaveLength(2);
    // The window loses the focus: now the open one calls too.
    desk.model.setFocused(false);
    const open = desk.state().open!.id;
    await desk.advance(4_000);
    desk.notifications.length = 0;
    activity(Number(open.slice(-12)));
    expect(desk.notifications).toHaveLength(1);
  });

  test('a message in a colleague’s conversation is no call', async () => {
    const desk = await createModelFixture([buildConversation(1, mine({ assignedTo: ann }))]);
    await desk.press('3');
    desk.notifications.length = 0;
    desk.staff.emit('conversation:activity', {
      conversationId: buildConversation(1).id,
      lastMessageId: 'm',
      updatedAt: '',
      preview: 'hi',
      waiting: true,
    });
    expect(desk.notifications).toEqual([]);
  });

  test('the title counts who waits and what is unread among mine', async () => {
    const desk = await createModelFixture([
      buildConversation(1),
      buildConversation(2, mine({ unreadCount: 3 })),
      buildConversation(3, mine()),
    ]);
    expect(desk.notifications.at(-1)).toBe('count 2');
  });
});

describe('leaving', () => {
  test('without anything unsent it leaves at once', async () => {
    const desk = await createModelFixture([]);
    await desk.press('q');
    expect(desk.exitCodes).toEqual([0]);
  });

  test('with a draft it asks; Ctrl+C where it asked means it', async () => {
    const desk = await createModelFixture([buildConversation(1, mine())]);
    await desk.press('2', 'enter', 'r', 'x', 'escape', 'q');
    expect(desk.exitCodes).toEqual([]);
    expect(desk.state().dialog).toMatchObject({
      kind: 'confirm',
      question: expect.stringContaining('Your draft to Visitor 1 is unsent'),
    });
    await desk.press('n');
    expect(desk.exitCodes).toEqual([]);
    await desk.press('ctrl+c', 'ctrl+c');
    expect(desk.exitCodes).toEqual([0]);
  });

  test('a message that is not sent yet is a reason to ask, too', async () => {
    const item = buildConversation(1, mine());
    const desk = await createModelFixture([item], {
      prepare: (staff) => staff.messages.set(item.id, [buildMessage(item, 'x', own({ state: 'sending' }))]),
    });
    await desk.press('2', 'enter', 'q');
    expect(desk.exitCodes).toEqual([]);
    expect(desk.state().dialog?.kind).toBe('confirm');
  });
});
