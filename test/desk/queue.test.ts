// Attacks the queue's arithmetic: order, gaps between pages, counts, and where the cursor goes.
import { describe, expect, test } from 'vitest';
import {
  isInTab,
  compareItems,
  cursorIndex,
  emptyLists,
  nextUnread,
  updateTotals,
  tabRows,
  type QueueLists,
} from '../../src/desk/queue.ts';
import { buildConversation, ann, me, mine } from './fake-staff.ts';

const numbers = (rows: readonly { readonly id: string }[]): number[] =>
  rows.map(({ id }) => Number(id.slice(-12)));
const listed = (
  items: QueueLists['items'],
  tab: 'pending' | 'all',
  horizon: QueueLists['lists']['all']['horizon'],
): QueueLists => ({
  ...emptyLists,
  items,
  lists: { ...emptyLists.lists, [tab]: { ...emptyLists.lists[tab], horizon } },
});

describe('the order is the one of the service', () => {
  test('who waits longest first among the pending, everything else by its last change', () => {
    const items = [
      buildConversation(1, mine()),
      buildConversation(2),
      buildConversation(9),
      buildConversation(3, { status: 'closed', waitingSince: null }),
      buildConversation(4, mine({ updatedAt: '2026-11-21T13:00:00.000Z' })),
    ];
    expect(numbers(items.toSorted(compareItems))).toEqual([9, 2, 4, 1, 3]);
  });

  test('equal times fall back to the id, so that no two rows change places by themselves', () => {
    const [one, other] = [
      buildConversation(1, mine({ updatedAt: 'x' })),
      buildConversation(2, mine({ updatedAt: 'x' })),
    ];
    expect(compareItems(one, other)).toBe(-compareItems(other, one));
    expect(compareItems(one, other)).not.toBe(0);
  });
});

describe('pages', () => {
  const items = [5, 1, 4, 2, 3].map((number) => buildConversation(number, mine()));

  test('what was heard of beyond the last page is not shown: there would be a gap before it', () => {
    const horizon = buildConversation(3, mine());
    expect(numbers(tabRows(listed(items, 'all', horizon), 'all', me))).toEqual([1, 2, 3]);
    expect(numbers(tabRows(listed(items, 'all', 'end'), 'all', me))).toEqual([1, 2, 3, 4, 5]);
    expect(tabRows(listed(items, 'all', null), 'all', me)).toEqual([]);
  });

  test('the answer is the same object as long as nothing changed', () => {
    const queue = listed(items, 'all', 'end');
    expect(tabRows({ ...queue, tab: 'closed' }, 'all', me)).toBe(tabRows(queue, 'all', me));
    expect(tabRows({ ...queue, items: [...items] }, 'all', me)).not.toBe(tabRows(queue, 'all', me));
    expect(tabRows(queue, 'mine', me)).not.toBe(tabRows(queue, 'mine', ann));
  });
});

test('what belongs to a tab', () => {
  const cases = [
    buildConversation(1),
    buildConversation(2, mine()),
    buildConversation(3, mine({ assignedTo: ann })),
    buildConversation(4, { status: 'closed', assignedTo: me }),
  ];
  expect(
    cases.map((item) =>
      (['pending', 'mine', 'all', 'closed'] as const).filter((tab) => isInTab(item, tab, me)).join(' '),
    ),
  ).toEqual(['pending all', 'mine all', 'all', 'all closed']);
});

describe('counts', () => {
  const lists = {
    ...emptyLists.lists,
    pending: { ...emptyLists.lists.pending, total: 5 },
    mine: { ...emptyLists.lists.mine, total: 1 },
  };

  test('follow a conversation from one tab to another', () => {
    const after = updateTotals(lists, buildConversation(1), buildConversation(1, mine()), me);
    expect([after.pending.total, after.mine.total, after.closed.total]).toEqual([4, 2, null]);
  });

  test('stay when the state before is not known, or nothing moved', () => {
    expect(updateTotals(lists, undefined, buildConversation(1), me)).toBe(lists);
    expect(updateTotals(lists, buildConversation(1), buildConversation(1, { unreadCount: 4 }), me)).toBe(
      lists,
    );
  });

  test('never fall below nothing', () => {
    const empty = { ...lists, pending: { ...lists.pending, total: 0 } };
    expect(updateTotals(empty, buildConversation(1), buildConversation(1, mine()), me).pending.total).toBe(0);
  });
});

describe('the cursor', () => {
  const rows = [1, 2, 3].map((number) => buildConversation(number));

  test('falls to the first row when its conversation left the list, and to nothing when it is empty', () => {
    expect(cursorIndex(rows, rows[2]!.id)).toBe(2);
    expect(cursorIndex(rows, 'gone')).toBe(0);
    expect(cursorIndex([], 'gone')).toBe(-1);
  });
});

describe('next unread', () => {
  test('mine with something new come first, then who waits longest; round and round', () => {
    const items = [
      buildConversation(1),
      buildConversation(7),
      buildConversation(2, mine({ unreadCount: 1 })),
      buildConversation(3, mine()),
      buildConversation(4, mine({ assignedTo: ann, unreadCount: 9 })),
    ];
    const seen: number[] = [];
    let from: string | null = null;
    for (let step = 0; step < 4; step += 1) {
      const next = nextUnread(items, me, from);
      seen.push(Number(next!.id.slice(-12)));
      from = next!.id;
    }
    expect(seen).toEqual([2, 7, 1, 2]);
  });

  test('there is none where no visitor waits and everything is read, the open one aside', () => {
    expect(
      nextUnread(
        [buildConversation(3, mine()), buildConversation(4, { status: 'closed', unreadCount: 2 })],
        me,
        null,
      ),
    ).toBeUndefined();
    const only = buildConversation(1);
    expect(nextUnread([only], me, only.id)).toBeUndefined();
  });
});
