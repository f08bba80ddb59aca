// Owns the merging of pages, catch-up and live events as pure logic: every order in which
// they can reach a page must end in the service's own list.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { beginning, createMessageList } from '../../src/sdk/message-list.ts';

interface Line {
  readonly id: string;
  readonly content: string;
  readonly editedAt: string | null;
}

const line = (id: string, content = id, editedAt: string | null = null): Line => ({ id, content, editedAt });
const ids = (list: readonly Line[]): string => list.map(({ id }) => id).join(' ');

describe('a thread', () => {
  it('does not let a live message move the place from which to catch up before it has caught up', () => {
    const thread = createMessageList<Line>();
    thread.addPage_([line('a'), line('b')], false);
    // c was missed; d came live, while the catching up was still on its way, and then the connection went.
    expect(thread.addLive_(line('d'))).toHaveLength(1);
    thread.disconnect_();
    expect(thread.syncCursor_()).toBe('b');
    expect(ids(thread.addSync_('b', [line('c'), line('d')], true))).toBe('c');
    expect(ids(thread.list_())).toBe('a b c d');
    expect(thread.syncCursor_()).toBe('d');
    thread.addLive_(line('e'));
    expect(thread.syncCursor_()).toBe('e');
  });

  it('goes on from the middle of a long catching up', () => {
    const thread = createMessageList<Line>();
    thread.addPage_([line('a')], false);
    thread.addSync_('a', [line('b'), line('c')], false);
    expect(thread.syncCursor_()).toBe('c');
    thread.disconnect_();
    thread.addSync_('c', [line('d')], true);
    expect(ids(thread.list_())).toBe('a b c d');
  });

  it('catches up from the beginning, and from a message that has been deleted', () => {
    const thread = createMessageList<Line>();
    thread.addPage_([], false);
    expect(thread.syncCursor_()).toBe(beginning);
    thread.addSync_(beginning, [line('a'), line('b')], true);
    thread.remove_('b');
    expect(thread.syncCursor_()).toBe('b');
    thread.addSync_('b', [line('c')], true);
    expect(ids(thread.list_())).toBe('a c');
  });

  it('never brings back what was deleted, nor an older version of what was edited', () => {
    const thread = createMessageList<Line>();
    thread.addPage_([line('c')], true);
    thread.remove_('a');
    thread.addPage_([line('a'), line('b')], false);
    expect(ids(thread.list_())).toBe('b c');
    expect(thread.addLive_(line('a'))).toEqual([]);
    expect(thread.applyEdit_('c', { content: 'second', editedAt: '2' })?.content).toBe('second');
    expect(thread.applyEdit_('c', { content: 'first', editedAt: '1' })).toBeUndefined();
    expect(thread.applyEdit_('c', { content: 'second', editedAt: '2' })).toBeUndefined();
    // Two edits within one millisecond: the stream's order decides, a page does not.
    expect(thread.applyEdit_('c', { content: 'third', editedAt: '2' })?.content).toBe('third');
    thread.addPage_([line('c', 'second', '2')], false);
    expect(thread.find_('c')?.content).toBe('third');
  });

  it('takes no part in the catching up of another tab that knows more or less', () => {
    const thread = createMessageList<Line>();
    expect(thread.addSync_('a', [line('b')], true)).toEqual([]);
    expect(thread.addLive_(line('b'))).toEqual([]);
    thread.addPage_([line('m'), line('n')], true);
    expect(thread.addSync_('b', [line('c'), line('m')], true)).toEqual([]);
    expect(ids(thread.list_())).toBe('m n');
  });

  it('ends as the service has it, whatever is lost, repeated and cut short on the way', () => {
    fc.assert(
      fc.property(
        fc.array(fc.record({ what: fc.nat(5), pick: fc.nat(1000) }), { maxLength: 80 }),
        (steps) => {
          const all: { id: string; gone: boolean }[] = [];
          const thread = createMessageList<Line>();
          thread.addPage_([], false);
          let joined = false;
          const catchUp = (most: number): void => {
            const after = thread.syncCursor_();
            const from = after === beginning ? 0 : all.findIndex(({ id }) => id === after) + 1;
            const run = all.slice(from).filter(({ gone }) => !gone);
            const isLast = run.length <= most;
            thread.addSync_(
              after,
              run.slice(0, most).map(({ id }) => line(id)),
              isLast,
            );
            if (isLast) for (const one of all) if (one.gone) thread.remove_(one.id);
            joined = isLast;
          };
          for (const { what, pick } of steps) {
            if (what <= 1) {
              const id = `m${all.length}`;
              all.push({ id, gone: false });
              if (joined || (what === 0 && pick % 3 === 0)) thread.addLive_(line(id));
            } else if (what === 2 && all.length > 0) {
              const one = all[pick % all.length]!;
              one.gone = true;
              if (joined) thread.remove_(one.id);
            } else if (what === 3) {
              joined = false;
              thread.disconnect_();
            } else catchUp(what === 4 ? Infinity : 1 + (pick % 3));
          }
          catchUp(Infinity);
          expect(ids(thread.list_())).toBe(all.flatMap(({ id, gone }) => (gone ? [] : [id])).join(' '));
        },
      ),
      { numRuns: 500, seed: 20261121 },
    );
  });
});
