// Attacks what puts the queue in order: tags, priority, snooze, reopening, unread, views and acts on all that are marked.
import { inEnglish } from '../../src/desk/english.ts';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { shownCursor, shownRows } from '../../src/desk/queue.ts';
import { menuChoices } from '../../src/desk/menus.ts';
import { parseSnoozeEnd, snoozeEnd } from '../../src/desk/snooze-times.ts';
import { untilLabel } from '../../src/desk/time.ts';
import { parseView, writeView } from '../../src/desk/view-text.ts';
import { sdkError } from '../../src/sdk/error.ts';
import { createModelFixture, type ModelFixture } from './model-fixture.ts';
import { ann, buildConversation, buildMessage, me, mine, start } from './fake-staff.ts';

const asked = (fixture: ModelFixture, what: string): string[] =>
  fixture.staff.calls.filter((call) => call.startsWith(what));
const names = (fixture: ModelFixture): (string | null)[] =>
  shownRows(fixture.state().queue, me).map(({ visitor }) => visitor.name);
const itemOf = (fixture: ModelFixture, id: string) => fixture.staff.items.find((one) => one.id === id);
const labels = (fixture: ModelFixture): string[] => {
  const { dialog } = fixture.state();
  return dialog?.kind === 'menu'
    ? menuChoices(fixture.state(), dialog, fixture.keymap, inEnglish).map(({ label }) => label)
    : [];
};
const [one, two, three] = [buildConversation(9), buildConversation(5), buildConversation(3)];
const tagsAnswer = (...tags: string[]) => ({ tags: tags.map((name) => ({ name })), total: tags.length });

describe('tags', () => {
  test('T offers the organization’s tags; Enter adds the first, and again takes it off', async () => {
    const fixture = await createModelFixture([one], {
      prepare: ({ answers }) => answers.set('GET /tags', () => tagsAnswer('late', 'refund')),
    });
    await fixture.press('T');
    expect(labels(fixture)).toEqual(['late', 'refund']);
    await fixture.press('enter');
    expect(itemOf(fixture, one.id)?.tags).toEqual(['late']);
    expect(fixture.flash()).toBe('Visitor 9 has the tag “late” now.');
    await fixture.press('T');
    // What it has stands behind what it may get.
    expect(labels(fixture)).toEqual(['refund', 'late']);
    await fixture.press('late', 'enter');
    expect(itemOf(fixture, one.id)?.tags).toEqual([]);
  });

  test('a new tag is written, and is offered from then on; case alone makes no new one', async () => {
    const fixture = await createModelFixture([one], {
      prepare: ({ answers }) => answers.set('GET /tags', () => tagsAnswer('Late')),
    });
    await fixture.press('T', 'late');
    expect(labels(fixture)).toEqual(['Late']);
    await fixture.press('escape', 'T', 'broken lid', 'enter');
    expect(itemOf(fixture, one.id)?.tags).toEqual(['broken lid']);
    expect(fixture.state().tags).toEqual(['Late', 'broken lid']);
  });

  test('a refusal is told in the service’s words', async () => {
    const fixture = await createModelFixture([one], {
      prepare: ({ answers, client }) => {
        answers.set('GET /tags', () => tagsAnswer('late'));
        client.tag = () => Promise.reject(sdkError('conflict', 'It has 20 tags already.', 409));
      },
    });
    await fixture.press('T', 'enter');
    expect(fixture.flash()).toBe('It has 20 tags already.');
  });
});

describe('priority', () => {
  test('two keys set it, also of a colleague’s conversation', async () => {
    const fixture = await createModelFixture([
      buildConversation(9, mine({ assignedTo: ann, assignedToName: 'Ann' })),
    ]);
    await fixture.press('3', 'p', '1');
    expect(itemOf(fixture, one.id)?.priority).toBe('urgent');
    expect(fixture.flash()).toBe('Priority of Visitor 9: Urgent.');
  });
});

describe('snooze', () => {
  test('two keys snooze it: it leaves the tab and the count, and the next one is chosen', async () => {
    const fixture = await createModelFixture([one, two]);
    await fixture.press('z', '1');
    expect(itemOf(fixture, one.id)?.snoozedUntil).toBe(new Date(start + 3_600_000 + 1_000).toISOString());
    expect(names(fixture)).toEqual(['Visitor 5']);
    expect(fixture.state().queue.lists.pending.total).toBe(1);
    expect(fixture.flash()).toMatch(/^Snoozed until .+: Visitor 9\.$/);
  });

  test('when it ends, the conversation is back by itself', async () => {
    const fixture = await createModelFixture([one, two]);
    await fixture.press('z', '1');
    fixture.staff.change(one.id, { snoozedUntil: null });
    await fixture.settle();
    expect(names(fixture)).toEqual(['Visitor 9', 'Visitor 5']);
    expect(fixture.state().queue.lists.pending.total).toBe(2);
  });

  test('Z wakes what the view of snoozed ones shows', async () => {
    const fixture = await createModelFixture([
      buildConversation(9, { snoozedUntil: '2026-12-01T00:00:00.000Z' }),
    ]);
    expect(names(fixture)).toEqual([]);
    fixture.staff.answers.set('GET /views', () => ({ views: [], total: 0 }));
    await fixture.press('V', '1');
    expect(names(fixture)).toEqual(['Visitor 9']);
    await fixture.press('Z');
    expect(itemOf(fixture, one.id)?.snoozedUntil).toBeNull();
    await fixture.advance(6_000);
    expect(names(fixture)).toEqual([]);
    await fixture.press('escape');
    expect(names(fixture)).toEqual(['Visitor 9']);
  });

  test('a time of one’s own is written; what is none is not taken', async () => {
    const fixture = await createModelFixture([one]);
    await fixture.press('z', '5', 'soon', 'enter');
    expect(asked(fixture, 'snooze')).toEqual([]);
    await fixture.press('escape', 'z', '5', '3d', 'enter');
    const until = Date.parse(itemOf(fixture, one.id)?.snoozedUntil ?? '');
    expect(Math.round((until - start) / 3_600_000)).toBe(72);
  });

  test('not what a colleague has, nor what is closed', async () => {
    const fixture = await createModelFixture([
      buildConversation(3, mine({ assignedTo: ann, assignedToName: 'Ann' })),
      buildConversation(5, { status: 'closed' }),
    ]);
    await fixture.press('3', 'z');
    expect(fixture.flash()).toBe('Only its operator or an admin can do that.');
    await fixture.press('4', 'z');
    expect(fixture.flash()).toBe('It is closed.');
    expect(fixture.state().dialog).toBeNull();
  });

  test('a conversation that sleeps calls for no attention', async () => {
    const fixture = await createModelFixture([
      buildConversation(9, mine({ unreadCount: 2, snoozedUntil: '2026-12-01T00:00:00.000Z' })),
    ]);
    await fixture.press('3', 'n');
    expect(fixture.flash()).toBe('No conversation is unread or waiting.');
  });
});

describe('times', () => {
  const friday = new Date(2026, 10, 20, 16, 30).getTime();
  const at = (...parts: [number, number, number, number, number]): number => new Date(...parts).getTime();

  test('are offered for tomorrow morning and for Monday', () => {
    expect(snoozeEnd('tomorrow', friday)).toBe(at(2026, 10, 21, 9, 0));
    expect(snoozeEnd('week', friday)).toBe(at(2026, 10, 23, 9, 0));
    const monday = at(2026, 10, 23, 8, 0);
    expect(snoozeEnd('week', monday)).toBe(at(2026, 10, 30, 9, 0));
    expect(snoozeEnd('week', at(2026, 10, 22, 8, 0))).toBe(monday + 3_600_000);
  });

  test.each([
    ['90m', friday + 90 * 60_000],
    ['2 h', friday + 7_200_000],
    ['18:30', at(2026, 10, 20, 18, 30)],
    ['9:00', at(2026, 10, 21, 9, 0)],
    ['2026-11-24', at(2026, 10, 24, 9, 0)],
    ['2026-11-24 18:05', at(2026, 10, 24, 18, 5)],
    ['', null],
    ['tomorrow', null],
    ['0h', null],
    ['25:00', null],
    ['2026-02-30', null],
    ['2026-11-19', null],
    ['2028-01-01', null],
    ['99999w', null],
  ])('“%s” is read as it is meant', (written, expected) => {
    expect(parseSnoozeEnd(written, friday)).toBe(expected);
  });

  test('are shown with the day only where it is another', () => {
    expect(untilLabel(at(2026, 10, 20, 18, 5), friday)).toBe('18:05');
    expect(untilLabel(at(2026, 10, 21, 9, 0), friday)).toBe('2026-11-21 09:00');
  });
});

describe('reopen and unread', () => {
  test('O opens a closed conversation again, and it is mine', async () => {
    const fixture = await createModelFixture([buildConversation(9, { status: 'closed' })]);
    await fixture.press('O');
    expect(fixture.flash()).toBe('Choose a conversation first.');
    await fixture.press('4', 'O');
    expect(itemOf(fixture, one.id)).toMatchObject({ status: 'active', assignedTo: me });
    expect([fixture.state().open?.id, fixture.state().focus]).toEqual([one.id, 'conversation']);
  });

  test('who is slower is told who has it', async () => {
    const fixture = await createModelFixture([buildConversation(9, { status: 'closed' })]);
    await fixture.press('4');
    const release = fixture.staff.hold('reopen');
    await fixture.press('O');
    fixture.staff.items = [buildConversation(9, mine({ assignedTo: ann, assignedToName: 'Ann' }))];
    release();
    await fixture.settle();
    expect(fixture.flash()).toBe('Ann was faster.');
    expect(fixture.state().open).toBeNull();
  });

  test.each<[string, readonly string[], Record<string, unknown>, string]>([
    ['another composer', ['2', 'enter', 'r', 'hello'], { focus: 'composer' }, 'hello'],
    ['a search', ['/', 'jo'], { focus: 'queue', queue: { search: { text: 'jo', typing: true } } }, ''],
  ])('reopening takes no one away from %s', async (_what, keys, expected, text) => {
    const fixture = await createModelFixture([
      buildConversation(9, { status: 'closed' }),
      buildConversation(8, mine()),
    ]);
    await fixture.press('4');
    const release = fixture.staff.hold('reopen');
    await fixture.press('O', ...keys);
    const { open } = fixture.state();
    release();
    await fixture.settle();
    expect(itemOf(fixture, one.id)).toMatchObject({ status: 'active', assignedTo: me });
    expect(fixture.state()).toMatchObject(expected);
    expect(fixture.state().open?.id).toBe(open?.id);
    expect(fixture.state().composer?.buffer.text ?? '').toBe(text);
  });

  test('u marks as unread and leaves the conversation, so that it is not read again at once', async () => {
    const conversation = buildConversation(9, mine());
    const fixture = await createModelFixture([conversation], {
      prepare: (staff) => staff.messages.set(conversation.id, [buildMessage(conversation, 'hello')]),
    });
    await fixture.press('2', 'enter');
    await fixture.advance(3_000);
    expect(asked(fixture, 'read')).toHaveLength(1);
    await fixture.press('u');
    expect([fixture.state().open, fixture.state().focus]).toEqual([null, 'queue']);
    await fixture.advance(10_000);
    expect(asked(fixture, 'read')).toHaveLength(1);
    expect(itemOf(fixture, one.id)?.unreadCount).toBe(1);
    expect(fixture.flash()).toBe('');
  });

  test('of a chosen message, from that one on', async () => {
    const conversation = buildConversation(9, mine());
    const messages = ['one', 'two', 'three'].map((text) => buildMessage(conversation, text));
    const calls: (string | undefined)[] = [];
    const fixture = await createModelFixture([conversation], {
      prepare: (staff) => {
        staff.messages.set(conversation.id, messages);
        const { markUnread } = staff.client;
        staff.client.markUnread = (id, messageId) => {
          calls.push(messageId);
          return markUnread(id, messageId);
        };
      },
    });
    await fixture.press('2', 'enter', 'k', 'k', 'u');
    expect(calls).toEqual([messages[1]?.id]);
  });
});

describe('views', () => {
  const saved = {
    id: 'v1',
    name: 'Refunds',
    shared: true,
    query: { tag: ['refund'] },
    createdBy: ann,
  };
  const withViews = (items: Parameters<typeof createModelFixture>[0]): Promise<ModelFixture> =>
    createModelFixture(items, {
      prepare: ({ answers }) => {
        answers.set('GET /views', () => ({ views: [saved], total: 1 }));
        answers.set('GET /views/counts', () => ({ counts: [{ id: 'v1', count: 7 }] }));
      },
    });

  test('V offers saved ones with their counts, and the ones that everybody has', async () => {
    const fixture = await withViews([one]);
    await fixture.press('V');
    expect(labels(fixture)).toEqual([
      'Refunds',
      'Snoozed',
      'Unread',
      'Urgent and high',
      'Without a tag',
      'New view…',
    ]);
    const { dialog } = fixture.state();
    const [first] =
      dialog?.kind === 'menu' ? menuChoices(fixture.state(), dialog, fixture.keymap, inEnglish) : [];
    expect(first).toMatchObject({ note: '7', detail: 'shared' });
  });

  test('what fits comes and goes as it changes; Esc brings the tab back', async () => {
    const fixture = await withViews([buildConversation(9, { tags: ['refund'] }), two, three]);
    await fixture.press('V', '1');
    expect(names(fixture)).toEqual(['Visitor 9']);
    await fixture.staff.client.tag(two.id, 'refund');
    await fixture.advance(6_000);
    expect(names(fixture)).toEqual(['Visitor 9', 'Visitor 5']);
    await fixture.press('j');
    await fixture.staff.client.untag(one.id, 'refund');
    await fixture.advance(6_000);
    expect(names(fixture)).toEqual(['Visitor 5']);
    // A search takes its place.
    await fixture.press('/', 'visitor 3');
    await fixture.advance(300);
    expect(names(fixture)).toEqual(['Visitor 3']);
    await fixture.press('escape');
    expect(names(fixture)).toEqual(['Visitor 9', 'Visitor 5', 'Visitor 3']);
  });

  test('their counts follow what happens, soon and once for all of it', async () => {
    let counted = 0;
    const fixture = await withViews([one, two]);
    fixture.staff.answers.set('GET /views/counts', () => {
      counted += 1;
      return { counts: [{ id: 'v1', count: 7 + counted }] };
    });
    await fixture.press('V', 'escape');
    await fixture.advance(20_000);
    const before = counted;
    await fixture.staff.client.tag(one.id, 'refund');
    await fixture.staff.client.tag(two.id, 'refund');
    await fixture.advance(6_000);
    expect(counted).toBe(before + 1);
    expect(fixture.state().viewCounts.get('v1')).toBe(7 + counted);
  });

  test('what happens within a second of being counted is counted again: the service keeps its answer so long', async () => {
    let counted = 0;
    const fixture = await withViews([one, two]);
    await fixture.press('V', 'escape');
    await fixture.advance(20_000);
    fixture.staff.answers.set('GET /views/counts', () => {
      counted += 1;
      return { counts: [{ id: 'v1', count: counted }] };
    });
    await fixture.staff.client.tag(one.id, 'refund');
    await fixture.advance(900);
    await fixture.staff.client.tag(two.id, 'refund');
    await fixture.advance(100);
    expect(counted).toBe(1);
    await fixture.advance(20_000);
    expect(counted).toBe(2);
  });

  test('of two counts under way the later one holds, and one that failed is asked for again', async () => {
    const late = Promise.withResolvers<object>();
    const answers: unknown[] = [late.promise, { counts: [{ id: 'v1', count: 2 }] }];
    const fixture = await withViews([one, two]);
    await fixture.press('V', 'escape');
    await fixture.advance(20_000);
    fixture.staff.answers.set('GET /views/counts', () => answers.shift());
    await fixture.staff.client.tag(one.id, 'refund');
    await fixture.advance(6_000);
    await fixture.staff.client.tag(two.id, 'refund');
    await fixture.advance(6_000);
    expect(fixture.state().viewCounts.get('v1')).toBe(2);
    late.resolve({ counts: [{ id: 'v1', count: 1 }] });
    await fixture.settle();
    expect(fixture.state().viewCounts.get('v1')).toBe(2);
    let asked = 0;
    fixture.staff.answers.set('GET /views/counts', () => {
      asked += 1;
      if (asked === 1) throw sdkError('network', 'The service broke.');
      return { counts: [{ id: 'v1', count: 3 }] };
    });
    await fixture.staff.client.untag(two.id, 'refund');
    await fixture.advance(1_000);
    expect([asked, fixture.state().viewCounts.get('v1')]).toEqual([1, 2]);
    await fixture.advance(6_000);
    expect([asked, fixture.state().viewCounts.get('v1')]).toEqual([2, 3]);
  });

  test('stays while a search is begun over it, until the first letter', async () => {
    const fixture = await withViews([buildConversation(9, { tags: ['refund'] }), two, three]);
    await fixture.press('V', '1', '/');
    expect([names(fixture), fixture.state().queue.search?.typing]).toEqual([['Visitor 9'], true]);
    await fixture.press('escape');
    expect(fixture.state().queue.search).toMatchObject({ view: { id: 'v1' }, typing: false });
    await fixture.press('/', 'visitor 5');
    await fixture.advance(500);
    expect([names(fixture), fixture.state().queue.search?.view]).toEqual([['Visitor 5'], null]);
    await fixture.press('escape');
    expect(fixture.state().queue.search).toBeNull();
  });

  test('is asked for anew page by page, and the cursor stays where it was moved to in between', async () => {
    const many = Array.from({ length: 230 }, (_, index) =>
      buildConversation(index + 1, { tags: ['refund'] }),
    );
    const fixture = await withViews(many);
    await fixture.press('V', '1');
    fixture.model.queue.moveTo(45);
    await fixture.settle();
    for (const index of [90, 140, 190, 229]) {
      fixture.model.queue.moveTo(index);
      await fixture.settle();
    }
    fixture.model.queue.moveTo(150);
    const cursor = (): string | null => shownCursor(fixture.state().queue);
    const before = cursor();
    expect([names(fixture).length, before]).toEqual([230, shownRows(fixture.state().queue, me)[150]?.id]);
    const release = fixture.staff.hold('list');
    await fixture.staff.client.tag(one.id, 'late');
    await fixture.advance(6_000);
    await fixture.press('j', 'j');
    const moved = cursor();
    expect(moved).not.toBe(before);
    release();
    await fixture.settle();
    expect([names(fixture).length, cursor()]).toEqual([230, moved]);
  });

  test('whose row under the cursor has gone has the one in its place under it', async () => {
    const many = Array.from({ length: 5 }, (_, index) => buildConversation(index + 1, { tags: ['refund'] }));
    const fixture = await withViews(many);
    await fixture.press('V', '1', 'j', 'j');
    expect(names(fixture)).toEqual([5, 4, 3, 2, 1].map((number) => `Visitor ${number}`));
    await fixture.staff.client.untag(many[2]!.id, 'refund');
    await fixture.advance(6_000);
    expect(names(fixture)).toEqual([5, 4, 2, 1].map((number) => `Visitor ${number}`));
    expect(shownCursor(fixture.state().queue)).toBe(many[1]!.id);
  });

  test('one is written as a line that begins with what is shown, word by word; it is shown then', async () => {
    const sent: unknown[] = [];
    const fixture = await withViews([buildConversation(9, { tags: ['late'] }), two]);
    fixture.staff.answers.set('GET /tags', () => tagsAnswer('late', 'two words'));
    fixture.staff.answers.set('POST /views', (body) => {
      sent.push(body);
      return { view: { ...saved, ...body, id: 'v2' } };
    });
    await fixture.press('V', 'new view', 'enter');
    expect(fixture.state().dialog).toMatchObject({ menu: 'viewText', filter: 'pending ' });
    // A word is offered as it is begun, and takes the place of its beginning.
    await fixture.press('tag:t');
    expect(labels(fixture)).toEqual(['tag:"two words"']);
    await fixture.press('backspace', 'la', 'enter', '=');
    expect(labels(fixture)).toEqual([]);
    await fixture.press(' Late parcels');
    expect(labels(fixture)).toEqual(['Save “Late parcels”']);
    await fixture.press('enter');
    expect(sent).toEqual([
      { name: 'Late parcels', shared: false, query: { status: 'pending', tag: ['late'] } },
    ]);
    expect(names(fixture)).toEqual(['Visitor 9']);
    expect(fixture.flash()).toBe('Saved: Late parcels.');
  });

  test('the one that is shown is changed, put first and deleted by who made it or an admin', async () => {
    const own = { ...saved, id: 'v2', name: 'Mine', shared: false, createdBy: me };
    let views = [saved, own];
    const fixture = await withViews([one]);
    const { answers, calls } = fixture.staff;
    answers.set('GET /views', () => ({ views, total: views.length }));
    answers.set('PATCH /views/v2', (body) => {
      views = [saved, { ...own, ...body }];
      return { view: views[1] };
    });
    answers.set('DELETE /views/v2', () => {
      views = [saved];
      return { success: true };
    });
    const acts = (): string[] => labels(fixture).filter((label) => /…$|first$|^Delete/.test(label));
    // A colleague's is not to be changed.
    await fixture.press('V', '1', 'V');
    expect(acts()).toEqual(['New view…']);
    await fixture.press('escape', 'V', '2', 'V');
    expect(acts()).toEqual(['Change “Mine”…', 'Put “Mine” first', 'Delete “Mine”', 'New view…']);
    await fixture.press('change', 'enter');
    expect(fixture.state().dialog).toMatchObject({ filter: 'tag:refund = Mine' });
    await fixture.press('backspace', 'backspace', 'backspace', 'backspace', 'Ours', 'enter');
    expect(fixture.state().views?.map(({ name }) => name)).toEqual(['Refunds', 'Ours']);
    await fixture.press('V', 'first', 'enter');
    expect(fixture.state().views?.map(({ name }) => name)).toEqual(['Ours', 'Refunds']);
    await fixture.press('V', 'del', 'enter');
    expect(calls.filter((call) => call.startsWith('DELETE'))).toEqual([]);
    await fixture.press('y');
    expect(fixture.state().views?.map(({ name }) => name)).toEqual(['Refunds']);
    expect(fixture.state().queue.search).toBeNull();
    expect(fixture.flash()).toBe('Deleted: Ours.');
  });

  test('any question comes back from its line as it was', () => {
    const some = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined });
    const label = fc
      .string({ unit: 'grapheme', minLength: 1, maxLength: 20 })
      .map((text) => text.replaceAll('"', '').trim());
    const filled = label.filter((text) => text !== '' && !/[\p{C}\p{Z}]/u.test(text.replaceAll(' ', '')));
    const query = fc.record({
      status: some(fc.constantFrom('pending', 'active', 'closed')),
      assignedTo: some(fc.constantFrom('me', 'none', me)),
      q: some(filled),
      tag: some(fc.array(filled, { minLength: 1, maxLength: 3 })),
      untagged: some(fc.boolean()),
      unread: some(fc.boolean()),
      snoozed: some(fc.constantFrom(true, false, 'all')),
      priority: some(fc.uniqueArray(fc.constantFrom('urgent', 'high', 'normal', 'low'), { minLength: 1 })),
      sort: some(fc.constantFrom('queue', 'updated', 'newest', 'oldest', 'waiting', 'priority')),
      waitingLonger: some(fc.integer({ min: 0, max: 60 })),
      mode: some(fc.constantFrom('live', 'test', 'all')),
    });
    fc.assert(
      fc.property(query, filled, fc.boolean(), (asked, name, shared) => {
        const known = Object.fromEntries(Object.entries(asked).filter(([, value]) => value !== undefined));
        const view = { name, shared, query: known };
        expect(parseView(writeView(view))).toEqual(view);
      }),
      { seed: 7, numRuns: 300 },
    );
    for (const line of [
      '',
      'pending',
      'pending =',
      'nonsense = A',
      'tag: = A',
      'priority:mild = A',
      '= ' + 'x'.repeat(61),
    ])
      expect(parseView(line), line).toBeNull();
  });

  test('while nothing happens, nothing is asked', async () => {
    const fixture = await withViews([buildConversation(9, { tags: ['refund'] })]);
    await fixture.press('V', '1');
    await fixture.advance(20_000);
    const before = fixture.staff.calls.length;
    await fixture.advance(30_000);
    expect(fixture.staff.calls.slice(before)).toEqual([]);
  });
});

describe('all that are marked', () => {
  test('Space marks, and one act does it to all; the marks are gone then', async () => {
    const fixture = await createModelFixture([one, two, three]);
    await fixture.press(' ', ' ', 'p', '2');
    expect(asked(fixture, 'bulk')).toEqual([`bulk priority ${one.id} ${two.id}`]);
    expect([one, two, three].map(({ id }) => itemOf(fixture, id)?.priority)).toEqual([
      'high',
      'high',
      'normal',
    ]);
    expect(fixture.flash()).toBe('2 conversations changed.');
    expect(fixture.state().marked.size).toBe(0);
  });

  test('those that are refused stay marked, and the reason is told', async () => {
    const fixture = await createModelFixture([one, buildConversation(5, mine()), three]);
    await fixture.press('3', '*', 'a');
    expect([...fixture.state().marked]).toEqual([two.id]);
    expect(fixture.flash()).toBe('2 conversations changed. 1 refused: It is not as it was.');
  });

  test('what is not there any more is told in the desk’s words, not in the server’s', async () => {
    const fixture = await createModelFixture([one, two]);
    await fixture.press(' ', ' ');
    fixture.staff.items = fixture.staff.items.filter(({ id }) => id !== two.id);
    await fixture.press('p', '2');
    expect(fixture.flash()).toBe('1 conversation changed. 1 refused: That is not there any more.');
  });

  test('resolving many asks first', async () => {
    const fixture = await createModelFixture([buildConversation(9, mine()), buildConversation(5, mine())]);
    await fixture.press('2', '*', 'x');
    expect(fixture.state().dialog).toMatchObject({ question: 'Resolve 2 marked conversations?' });
    expect(asked(fixture, 'bulk')).toEqual([]);
    await fixture.press('y');
    expect([one, two].map(({ id }) => itemOf(fixture, id)?.status)).toEqual(['closed', 'closed']);
  });

  test('Esc takes the marks off, Space a single one, and in a conversation they mean nothing', async () => {
    const fixture = await createModelFixture([one, two, three]);
    await fixture.press(' ', ' ', 'g', ' ');
    expect([...fixture.state().marked]).toEqual([two.id]);
    await fixture.press('enter', 'p', '1');
    expect(asked(fixture, 'bulk')).toEqual([]);
    await fixture.press('escape', 'escape');
    expect(fixture.state().marked.size).toBe(0);
  });

  test('at most a hundred are marked', async () => {
    const fixture = await createModelFixture(
      Array.from({ length: 130 }, (_, index) => buildConversation(index + 1)),
    );
    for (let page = 0; page < 12; page += 1) await fixture.press('pagedown');
    await fixture.press('*');
    expect(fixture.state().marked.size).toBe(100);
  });
});
