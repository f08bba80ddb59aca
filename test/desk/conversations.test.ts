// Attacks what an operator does with whole conversations: the queue that fills itself, acts,
// races, paging through thousands, interruptions and the end of a session.
import { describe, expect, test } from 'vitest';
import { shownRows, tabRows } from '../../src/desk/queue.ts';
import { sdkError } from '../../src/sdk/error.ts';
import { createModelFixture, type ModelFixture } from './model-fixture.ts';
import { buildConversation, buildMessage, ann, me, mine, own, start } from './fake-staff.ts';

const asked = (fixture: ModelFixture, what: string): string[] =>
  fixture.staff.calls.filter((call) => call.startsWith(what));
const cursorOf = (fixture: ModelFixture): string | null =>
  fixture.state().queue.lists[fixture.state().queue.tab].cursor;
const names = (fixture: ModelFixture): (string | null)[] =>
  shownRows(fixture.state().queue, me).map(({ visitor }) => visitor.name);

describe('the queue', () => {
  test('begins with who waits longest, and counts every tab', async () => {
    const fixture = await createModelFixture([
      buildConversation(1),
      buildConversation(3),
      buildConversation(2, mine()),
      buildConversation(4, { status: 'closed' }),
    ]);
    expect(names(fixture)).toEqual(['Visitor 3', 'Visitor 1']);
    const { lists } = fixture.state().queue;
    expect([lists.pending.total, lists.mine.total, lists.all.total, lists.closed.total]).toEqual([
      2, 1, 4, 1,
    ]);
    await fixture.press('4');
    expect(names(fixture)).toEqual(['Visitor 4']);
  });

  test('a conversation that comes up appears by itself and keeps the cursor on its conversation', async () => {
    const fixture = await createModelFixture([buildConversation(5), buildConversation(3)]);
    await fixture.press('j');
    const chosen = cursorOf(fixture);
    fixture.staff.arrive(buildConversation(9));
    await fixture.advance(1_000);
    expect(names(fixture)).toEqual(['Visitor 9', 'Visitor 5', 'Visitor 3']);
    expect(cursorOf(fixture)).toBe(chosen);
    expect(fixture.state().queue.lists.pending.total).toBe(3);
  });

  test('a count that an event has overtaken on its way is asked for again', async () => {
    const fixture = await createModelFixture([buildConversation(9), buildConversation(5)]);
    const { client } = fixture.staff;
    const list = client.listConversations;
    const gate = Promise.withResolvers<void>();
    // What was counted then is on its way for a while.
    client.listConversations = async (...args) => {
      const answer = await list(...args);
      await gate.promise;
      return answer;
    };
    fixture.staff.arrive(buildConversation(3));
    await fixture.advance(6_000);
    fixture.staff.change(buildConversation(5).id, mine({ assignedTo: ann, assignedToName: 'Ann' }));
    expect(fixture.state().queue.lists.pending.total).toBe(2);
    client.listConversations = list;
    gate.resolve();
    await fixture.settle();
    await fixture.advance(6_000);
    expect(fixture.state().queue.lists.pending.total).toBe(2);
    const before = fixture.staff.calls.length;
    await fixture.advance(20_000);
    expect(fixture.staff.calls.slice(before)).toEqual([]);
  });

  test('a conversation that is erased goes, and the count follows', async () => {
    const fixture = await createModelFixture([buildConversation(5), buildConversation(3)]);
    fixture.staff.erase(buildConversation(5).id);
    expect(names(fixture)).toEqual(['Visitor 3']);
    await fixture.advance(6_000);
    expect(fixture.state().queue.lists.pending.total).toBe(1);
  });

  test('when the chosen one goes, the one in its place is chosen, not the first', async () => {
    const fixture = await createModelFixture([
      buildConversation(9),
      buildConversation(5),
      buildConversation(3),
    ]);
    await fixture.press('j');
    fixture.staff.change(buildConversation(5).id, mine({ assignedTo: ann, assignedToName: 'Ann' }));
    await fixture.settle();
    expect(cursorOf(fixture)).toBe(buildConversation(3).id);
  });

  test('of 10,000 conversations only pages in sight are asked for, and out of sight they are forgotten', async () => {
    const fixture = await createModelFixture(
      Array.from({ length: 10_000 }, (_, index) => buildConversation(index + 1, mine())),
    );
    await fixture.press('3');
    expect(tabRows(fixture.state().queue, 'all', me)).toHaveLength(50);
    for (let step = 0; step < 25; step += 1) await fixture.press('pagedown');
    const rows = shownRows(fixture.state().queue, me);
    expect(rows.length).toBeGreaterThan(400);
    expect(rows.map(({ id }) => Number(id.slice(-12)))).toEqual(rows.map((_, index) => index + 1));
    await fixture.press('1', '2');
    // A day's events: they come and go, and the console does not grow.
    for (let event = 0; event < 1_200; event += 1)
      fixture.staff.change(buildConversation(5_000 + event).id, { unreadCount: event % 7 });
    await fixture.advance(2_000);
    expect(fixture.state().queue.items.length).toBeLessThan(1_500);
    expect(fixture.staff.client.getState().conversations.length).toBeLessThan(1_500);
  });

  test('a page that can’t be had says so and is asked for again', async () => {
    const fixture = await createModelFixture([buildConversation(1)]);
    fixture.staff.failures.set('list', sdkError('network'));
    await fixture.press('4');
    expect(fixture.state().queue.lists.closed.problem).toContain('can’t be reached');
    await fixture.press('1', '4');
    expect(fixture.state().queue.lists.closed.problem).toBeNull();
  });
});

describe('search', () => {
  test('asks when typing pauses, shows what is found, and Esc brings the tab back', async () => {
    const fixture = await createModelFixture([
      buildConversation(1),
      buildConversation(12),
      buildConversation(2, { status: 'closed' }),
    ]);
    await fixture.press('/', 'visitor 1');
    expect(asked(fixture, 'list {"q"')).toEqual([]);
    await fixture.advance(300);
    expect(asked(fixture, 'list {"q"')).toHaveLength(1);
    expect(names(fixture)).toEqual(['Visitor 12', 'Visitor 1']);
    await fixture.press('escape');
    expect(fixture.state().queue.search).toBeNull();
    expect(names(fixture)).toEqual(['Visitor 12', 'Visitor 1']);
  });

  test('letters are letters while searching, and acts again once the words stand', async () => {
    const fixture = await createModelFixture([buildConversation(1), buildConversation(2)]);
    await fixture.press('/', 'axnq');
    expect(fixture.state().queue.search?.text).toBe('axnq');
    expect(asked(fixture, 'accept')).toEqual([]);
    for (let step = 0; step < 4; step += 1) await fixture.press('backspace');
    await fixture.press('question 2');
    await fixture.advance(300);
    await fixture.press('enter');
    expect(fixture.state().open?.id).toBe(buildConversation(2).id);
  });

  test('an answer that comes late does not overwrite a newer question', async () => {
    const fixture = await createModelFixture([buildConversation(1), buildConversation(2)]);
    await fixture.press('/', 'question 1');
    const release = fixture.staff.hold('list');
    await fixture.advance(300);
    await fixture.press('backspace', '2');
    await fixture.advance(300);
    expect(names(fixture)).toEqual(['Visitor 2']);
    release();
    await fixture.settle();
    expect(names(fixture)).toEqual(['Visitor 2']);
  });
});

describe('a search that is begun', () => {
  test('leaves the tab’s rows and its cursor until the first letter, and when it is left without one', async () => {
    const fixture = await createModelFixture([5, 4, 3].map((number) => buildConversation(number)));
    await fixture.press('j', '/');
    expect(names(fixture)).toEqual(['Visitor 5', 'Visitor 4', 'Visitor 3']);
    await fixture.press('down');
    fixture.model.queue.search.confirm();
    expect(fixture.state().queue.search).toBeNull();
    expect(cursorOf(fixture)).toBe(buildConversation(3).id);
    await fixture.press('/', 'visitor 4');
    await fixture.advance(500);
    expect(names(fixture)).toEqual(['Visitor 4']);
    // What was written is a search, also when the field is left.
    fixture.model.queue.search.confirm();
    expect([names(fixture), fixture.state().queue.search?.typing]).toEqual([['Visitor 4'], false]);
  });
});

describe('acts', () => {
  test('accept: the conversation is open, its composer has the keys', async () => {
    const fixture = await createModelFixture([buildConversation(2), buildConversation(1)]);
    await fixture.press('a');
    expect(asked(fixture, 'accept')).toEqual([`accept ${buildConversation(2).id}`]);
    expect([fixture.state().open?.id, fixture.state().focus]).toEqual([buildConversation(2).id, 'composer']);
    expect(fixture.flash()).toBe('You have the conversation with Visitor 2.');
  });

  test('what is typed behind it at once is an answer, not commands, however slow the line is', async () => {
    const fixture = await createModelFixture([buildConversation(2), buildConversation(1)]);
    fixture.model.pressKeys(Array.from('a', (key) => ({ key, text: key })));
    fixture.model.pressKeys(Array.from('xRan', (key) => ({ key, text: key })));
    fixture.model.pressKeys([{ key: 'enter', text: '' }]);
    await fixture.settle();
    expect(fixture.staff.calls.filter((call) => /^(accept|send|resolve|release)/.test(call))).toEqual([
      `accept ${buildConversation(2).id}`,
      `send ${buildConversation(2).id} plain xRan`,
    ]);
  });

  test('a race that is lost is told with the name, and what was typed is kept', async () => {
    const fixture = await createModelFixture([buildConversation(2)]);
    fixture.staff.failures.set('accept', sdkError('conflict', 'no', 409));
    fixture.staff.items = [buildConversation(2, mine({ assignedTo: ann, assignedToName: 'Ann\u001b[2J' }))];
    await fixture.press('a');
    expect(fixture.flash()).toBe('Ann␛[2J was faster.');
    expect(fixture.state().focus).toBe('conversation');
    const late = await createModelFixture([buildConversation(2)]);
    late.staff.failures.set('accept', sdkError('conflict', 'no', 409));
    late.staff.items = fixture.staff.items;
    late.model.pressKeys(Array.from('aHi', (key) => ({ key, text: key })));
    await late.settle();
    expect([late.state().composer?.buffer.text, late.state().focus]).toEqual(['Hi', 'composer']);
    await late.press('enter');
    expect(late.staff.calls.filter((call) => call.startsWith('send'))).toEqual([]);
  });

  test('pressed twice, it is asked once', async () => {
    const fixture = await createModelFixture([buildConversation(2), buildConversation(1)]);
    fixture.model.pressKeys([
      { key: 'a', text: 'a' },
      { key: 'a', text: 'a' },
    ]);
    await fixture.settle();
    expect(asked(fixture, 'accept')).toHaveLength(1);
  });

  test('resolve asks first; No leaves it, Yes does it', async () => {
    const fixture = await createModelFixture([buildConversation(1, mine())]);
    await fixture.press('2', 'x');
    expect(fixture.state().dialog?.kind).toBe('confirm');
    await fixture.press('n');
    expect(asked(fixture, 'resolve')).toEqual([]);
    await fixture.press('x', 'y');
    expect(asked(fixture, 'resolve')).toHaveLength(1);
    expect(fixture.state().dialog).toBeNull();
  });

  test('what is not mine I may not resolve, release or hand on; an admin may', async () => {
    for (const [role, expected] of [
      ['operator', 0],
      ['admin', 1],
    ] as const) {
      const fixture = await createModelFixture(
        [buildConversation(1, mine({ assignedTo: ann, assignedToName: 'Ann' }))],
        { role },
      );
      await fixture.press('3', 'R');
      expect([role, asked(fixture, 'release').length]).toEqual([role, expected]);
    }
  });

  test('block asks first, and names the visitor with application and mode; lifting does not ask', async () => {
    const item = buildConversation(1);
    const at = `/visitors/${item.visitor.id}/block`;
    const bodies: unknown[] = [];
    const fixture = await createModelFixture([item], {
      prepare: (staff) => {
        staff.answers.set(`PUT ${at}`, (body) => {
          bodies.push(body);
          return {};
        });
        staff.answers.set(`DELETE ${at}`, () => ({}));
      },
    });
    await fixture.press('B', 'n');
    expect(asked(fixture, 'PUT')).toEqual([]);
    await fixture.press('B', 'y');
    expect(asked(fixture, 'PUT')).toHaveLength(1);
    expect(bodies).toEqual([{ applicationId: item.application.id, mode: item.mode }]);
    expect(fixture.flash()).toBe('Blocked: Visitor 1.');
    await fixture.press('U');
    expect(asked(fixture, 'DELETE')).toEqual([
      `DELETE ${at}?applicationId=${item.application.id}&mode=${item.mode}`,
    ]);
    expect(fixture.flash()).toBe('Not blocked any more: Visitor 1.');
  });

  test('a transcript is mailed once its address was confirmed, and refusals are told', async () => {
    const [one, nameless] = [buildConversation(2), buildConversation(1)];
    const item = { ...one, visitor: { ...one.visitor, email: 'rosa@example.net' } };
    const at = `POST /conversations/${item.id}/transcript`;
    const fixture = await createModelFixture([item, nameless], {
      prepare: (staff) => staff.answers.set(at, () => ({ success: true })),
    });
    await fixture.press('M');
    expect(fixture.state().dialog).toMatchObject({ question: expect.stringContaining('rosa@example.net') });
    await fixture.press('n');
    expect(asked(fixture, 'POST')).toEqual([]);
    await fixture.press('M', 'y');
    expect(asked(fixture, 'POST')).toEqual([at]);
    expect(fixture.flash()).toBe('The conversation is on its way to rosa@example.net.');
    fixture.staff.answers.set(at, () => {
      throw sdkError('conflict', 'This address takes no mails.');
    });
    await fixture.press('M', 'y');
    expect(fixture.flash()).toContain('can’t be mailed');
    await fixture.press('j', 'M');
    expect(fixture.flash()).toBe('The visitor has left no e-mail address.');
    expect(asked(fixture, 'POST')).toHaveLength(2);
  });

  test('transfer offers the others, those who are here first', async () => {
    const fixture = await createModelFixture([buildConversation(1, mine())], {
      prepare: (staff) =>
        staff.answers.set('GET /members', () => ({
          members: [
            { id: me, name: 'Me', role: 'operator', online: true },
            { id: 'c', name: 'Bob', role: 'operator', online: false },
            { id: ann, name: 'Ann', role: 'admin', online: true },
          ],
        })),
    });
    await fixture.press('2', 't', 'enter');
    expect(asked(fixture, 'transfer')).toEqual([`transfer ${buildConversation(1).id}`]);
    expect(fixture.flash()).toBe('Ann has the conversation with Visitor 1 now.');
  });
});

describe('next unread', () => {
  test('goes on from one to the next, and says when there is none', async () => {
    const fixture = await createModelFixture([
      buildConversation(1, mine({ unreadCount: 1 })),
      buildConversation(4),
    ]);
    await fixture.press('n');
    expect(fixture.state().open?.id).toBe(buildConversation(1).id);
    await fixture.press('n');
    expect(fixture.state().open?.id).toBe(buildConversation(4).id);
    const idle = await createModelFixture([]);
    await idle.press('n');
    expect(idle.flash()).toBe('No conversation is unread or waiting.');
  });
});

describe('interruptions', () => {
  test('offline is said with the moment of the next attempt, and everything is asked anew afterwards', async () => {
    const fixture = await createModelFixture([buildConversation(1), buildConversation(2)]);
    fixture.staff.connect('offline', start + 8_000);
    expect([fixture.state().connection, fixture.state().reconnectAt]).toEqual(['offline', start + 8_000]);
    // A colleague took one of them, and no event said so.
    fixture.staff.items = fixture.staff.items.map((item) =>
      item.id === buildConversation(2).id ? { ...item, ...mine({ assignedTo: ann }) } : item,
    );
    fixture.staff.connect('online');
    await fixture.settle();
    expect(names(fixture)).toEqual(['Visitor 1']);
    expect(fixture.flash()).toBe('Connected again; everything is up to date.');
  });

  test('all rows that were there are there again afterwards, and the cursor where it stood', async () => {
    const fixture = await createModelFixture(
      Array.from({ length: 180 }, (_, index) => buildConversation(index + 1)),
    );
    const rows = (): readonly { readonly id: string }[] => shownRows(fixture.state().queue, me);
    for (const index of [45, 95, 145, 150]) {
      fixture.model.queue.moveTo(index);
      await fixture.settle();
    }
    const cursor = cursorOf(fixture);
    expect(cursor).toBe(rows()[150]?.id);
    fixture.staff.connect('offline');
    fixture.staff.connect('online');
    await fixture.settle();
    expect([rows().length, cursorOf(fixture)]).toEqual([180, cursor]);
  });

  test('a queue that could not be read afterwards is asked for again, one time after the other, until it is there', async () => {
    const fixture = await createModelFixture([buildConversation(1), buildConversation(2)]);
    fixture.staff.connect('offline', start + 8_000);
    fixture.staff.items = fixture.staff.items.filter(({ id }) => id !== buildConversation(2).id);
    fixture.staff.failures.set('list', sdkError('unavailable', 'x', 503, 9));
    fixture.staff.connect('online');
    await fixture.settle();
    expect(names(fixture)).toEqual(['Visitor 2', 'Visitor 1']);
    fixture.staff.failures.set('list', sdkError('network'));
    await fixture.advance(8_900);
    const before = asked(fixture, 'list').length;
    await fixture.advance(100);
    expect(asked(fixture, 'list').length).toBeGreaterThan(before);
    expect(names(fixture)).toEqual(['Visitor 2', 'Visitor 1']);
    await fixture.advance(5_000);
    expect(names(fixture)).toEqual(['Visitor 1']);
  });

  test('a connection that ends and comes back in between asks for the queue once', async () => {
    const fixture = await createModelFixture([buildConversation(1)]);
    await fixture.advance(20_000);
    fixture.staff.connect('offline', start + 8_000);
    fixture.staff.failures.set('list', sdkError('network'));
    fixture.staff.connect('online');
    await fixture.settle();
    fixture.staff.connect('offline', start + 8_000);
    fixture.staff.connect('online');
    await fixture.settle();
    // What the connection has set off is over; the attempt that was planned before it is not made any more.
    await fixture.advance(4_000);
    const before = fixture.staff.calls.length;
    await fixture.advance(30_000);
    expect(fixture.staff.calls.slice(before)).toEqual([]);
  });

  test('the first connection is nothing to speak of', async () => {
    expect((await createModelFixture([])).flash()).toBe('');
  });

  test('a service that can’t be reached at the start is tried again, ever more rarely, until it is there', async () => {
    const fixture = await createModelFixture([buildConversation(1)], {
      prepare: (staff) => staff.failures.set('resume', sdkError('network')),
    });
    expect([fixture.state().session, fixture.state().connection]).toEqual([null, 'offline']);
    expect(fixture.state().reconnectAt).toBe(start + 1_000);
    fixture.staff.failures.set('resume', sdkError('unavailable', 'x', 503));
    await fixture.advance(1_000);
    expect(fixture.state().reconnectAt).toBe(start + 3_000);
    await fixture.advance(2_500);
    expect(names(fixture)).toEqual(['Visitor 1']);
  });

  test('a session that ends asks to sign in again, and what was typed is still there', async () => {
    const fixture = await createModelFixture([buildConversation(1, mine())]);
    await fixture.press('2', 'enter', 'r', 'half a sentence');
    fixture.token = 'fresh';
    fixture.staff.signOut();
    await fixture.settle();
    expect(fixture.staff.calls).toContain('resume fresh');
    expect(fixture.state().composer?.buffer.text).toBe('half a sentence');
    expect(fixture.drafts.get(buildConversation(1).id)?.text).toBe('half a sentence');
    expect(fixture.exitCodes).toEqual([]);
  });

  test('signing in again is cancelled: the console ends, the draft stays', async () => {
    const fixture = await createModelFixture([buildConversation(1, mine())]);
    await fixture.press('2', 'enter', 'r', 'half');
    fixture.staff.signOut();
    await fixture.settle();
    expect(fixture.exitCodes).toEqual([0]);
    expect(fixture.drafts.get(buildConversation(1).id)?.text).toBe('half');
  });
});

/** What an activity tells of the message. */
const fromVisitor = { senderId: 'v', senderRole: 'visitor', senderName: 'Visitor', createdAt: '' } as const;

describe('calls for attention', () => {
  test('a new visitor, and a message in mine; not in what is before my eyes, not twice in a moment', async () => {
    const fixture = await createModelFixture([buildConversation(1, mine()), buildConversation(2, mine())]);
    await fixture.press('2', 'enter');
    fixture.notifications.length = 0;
    const activity = (number: number) =>
      fixture.staff.emit('conversation:activity', {
        conversationId: buildConversation(number).id,
        lastMessageId: 'm',
        updatedAt: '',
        preview: 'hi \u001b[2J',
        waiting: true,
        ...fromVisitor,
      });
    fixture.staff.arrive(buildConversation(7));
    activity(1);
    activity(2);
    activity(2);
    await fixture.settle();
    expect(fixture.notifications.filter((line) => line.startsWith('notify'))).toHaveLength(2);
    // The window loses the focus: now the open one calls too.
    fixture.model.setFocused(false);
    const open = fixture.state().open!.id;
    await fixture.advance(4_000);
    fixture.notifications.length = 0;
    activity(Number(open.slice(-12)));
    expect(fixture.notifications).toHaveLength(1);
  });

  test('a message in a colleague’s conversation is no call', async () => {
    const fixture = await createModelFixture([buildConversation(1, mine({ assignedTo: ann }))]);
    await fixture.press('3');
    fixture.notifications.length = 0;
    fixture.staff.emit('conversation:activity', {
      conversationId: buildConversation(1).id,
      lastMessageId: 'm',
      updatedAt: '',
      preview: 'hi',
      waiting: true,
      ...fromVisitor,
    });
    expect(fixture.notifications).toEqual([]);
  });

  test('the title counts who waits and what is unread among mine', async () => {
    const fixture = await createModelFixture([
      buildConversation(1),
      buildConversation(2, mine({ unreadCount: 3 })),
      buildConversation(3, mine()),
    ]);
    expect(fixture.notifications.at(-1)).toBe('count 2');
  });
});

describe('leaving', () => {
  test('without anything unsent it leaves at once', async () => {
    const fixture = await createModelFixture([]);
    await fixture.press('q');
    expect(fixture.exitCodes).toEqual([0]);
  });

  test('with a draft it asks; Ctrl+C where it asked means it', async () => {
    const fixture = await createModelFixture([buildConversation(1, mine())]);
    await fixture.press('2', 'enter', 'r', 'x', 'escape', 'q');
    expect(fixture.exitCodes).toEqual([]);
    expect(fixture.state().dialog).toMatchObject({
      kind: 'confirm',
      question: expect.stringContaining('Your draft to Visitor 1 is unsent'),
    });
    await fixture.press('n');
    expect(fixture.exitCodes).toEqual([]);
    await fixture.press('ctrl+c', 'ctrl+c');
    expect(fixture.exitCodes).toEqual([0]);
  });

  test('a message that is not sent yet is a reason to ask, too', async () => {
    const item = buildConversation(1, mine());
    const fixture = await createModelFixture([item], {
      prepare: (staff) => staff.messages.set(item.id, [buildMessage(item, 'x', own({ state: 'sending' }))]),
    });
    await fixture.press('2', 'enter', 'q');
    expect(fixture.exitCodes).toEqual([]);
    expect(fixture.state().dialog?.kind).toBe('confirm');
  });
});
