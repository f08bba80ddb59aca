// The follower's promise: however hints come (late, twice, never, out of order), every event of the log is told once,
// in order, with the payload where the hint had one; and a log that can't be read just now is read later.
import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { CommittedEvent, CommitNotice } from '../../src/engine/engine.ts';
import { LogFollower } from '../../src/engine/log-follower.ts';
import type { EventRow } from '../../src/engine/rows.ts';

function row(seq: number): EventRow {
  return {
    seq,
    organization_id: 'o',
    conversation_id: 'c',
    mode: 'live',
    type: 'conversation:released',
    audience: 'room',
    actor_id: 'a',
    message_id: null,
    member_id: null,
    created_at: 0,
  };
}

const foreign = (one: EventRow): CommittedEvent => ({ ...one, own: false });
const own = (seq: number): CommittedEvent => ({ ...row(seq), own: true, payload: { seq } });

/** A follower of a log in memory that reads in pages of three; `failures` reads are refused first. */
function follow(log: EventRow[], failures = 0) {
  let left = failures;
  const timers: (() => void)[] = [];
  const follower = new LogFollower({
    clock: {
      after: (_ms, run) => {
        timers.push(run);
        return () => undefined;
      },
    },
    position: 0,
    readAfter: async (seq) => {
      if (left-- > 0) throw new Error('busy');
      return log
        .filter((one) => one.seq > seq)
        .slice(0, 3)
        .map(foreign);
    },
  });
  const notices: CommitNotice[] = [];
  follower.subscribe((notice) => notices.push(notice));
  const events = (): CommittedEvent[] => notices.flatMap((notice) => notice.events);
  return { follower, notices, events, seqs: () => events().map(({ seq }) => seq), timers };
}

const settled = async (): Promise<void> => {
  await new Promise((resolve) => setImmediate(resolve));
};

it('tells the next own events at once, with their payload', () => {
  const { follower, events } = follow([row(1), row(2)]);
  follower.hint([own(1), own(2)], null);
  expect(events()).toEqual([own(1), own(2)]);
});

it('reads a gap from the log first: others committed in between', async () => {
  const { follower, events } = follow([1, 2, 3, 4, 5].map(row));
  follower.hint([own(5)], null);
  expect(events()).toEqual([]);
  await settled();
  expect(events()).toEqual([...[1, 2, 3, 4].map((seq) => foreign(row(seq))), own(5)]);
  expect([follower.position, follower.foreignCount]).toEqual([5, 4]);
});

it('reads once more where it was told to look while it found nothing new', async () => {
  const log: EventRow[] = [];
  const answers: (() => void)[] = [];
  const follower = new LogFollower({
    // Nothing is looked for by itself.
    clock: { after: () => () => undefined },
    position: 0,
    // A snapshot shows what was there when it was taken, however late it answers.
    readAfter: (seq) => {
      const found = log.filter((one) => one.seq > seq).map(foreign);
      return new Promise((resolve) => answers.push(() => resolve(found)));
    },
  });
  const seqs: number[] = [];
  follower.subscribe(({ events }) => seqs.push(...events.map(({ seq }) => seq)));
  follower.look();
  log.push(row(1));
  follower.look();
  for (let turn = 0; turn < 5; turn += 1) {
    for (const answer of answers.splice(0)) answer();
    await settled();
  }
  expect(seqs).toEqual([1]);
});

it('goes on where numbers are missing, whose rows were removed', async () => {
  const { follower, seqs } = follow([row(1), row(4), row(6)]);
  follower.hint([own(6)], null);
  await settled();
  follower.hint([own(7)], null);
  expect(seqs()).toEqual([1, 4, 6, 7]);
});

it('tells a change of configuration at once, also while the log is being read', async () => {
  const { follower, notices, seqs } = follow([row(1), row(2)]);
  follower.look();
  follower.hint([], new Set(['acme']));
  expect(notices).toEqual([{ events: [], configuration: new Set(['acme']) }]);
  await settled();
  expect(seqs()).toEqual([1, 2]);
});

it('asks again for a log that can not be read just now', async () => {
  const { follower, seqs, timers } = follow([row(1), row(2), row(3), row(4)], 2);
  follower.hint([own(4)], null);
  await settled();
  expect(seqs()).toEqual([]);
  timers.pop()?.();
  await settled();
  expect(seqs()).toEqual([]);
  timers.pop()?.();
  await settled();
  expect(seqs()).toEqual([1, 2, 3, 4]);
});

it('says nothing more once it is closed or unsubscribed', async () => {
  const { follower, seqs } = follow([row(1), row(2)]);
  follower.close();
  follower.hint([own(1)], null);
  follower.look();
  await settled();
  expect(seqs()).toEqual([]);
});

it('tells every event once and in order, whatever becomes of the hints', async () => {
  const hints = fc.array(
    fc.record({ size: fc.integer({ min: 1, max: 4 }), lost: fc.boolean(), twice: fc.boolean() }),
    { minLength: 1, maxLength: 12 },
  );
  await fc.assert(
    fc.asyncProperty(
      hints,
      fc.infiniteStream(fc.nat()),
      fc.integer({ min: 0, max: 2 }),
      async (groups, order, failures) => {
        const log: EventRow[] = [];
        const { follower, seqs, timers } = follow(log, failures);
        const waiting: CommittedEvent[][] = [];
        for (const { size, lost, twice } of groups) {
          const committed = Array.from({ length: size }, () => {
            log.push(row(log.length + 1));
            return own(log.length);
          });
          if (!lost) waiting.push(committed);
          if (twice) waiting.push(committed);
          // Some arrive now, in any order; some are late.
          while (waiting.length > 2)
            follower.hint(waiting.splice(order.next().value % waiting.length, 1)[0]!, null);
          if (order.next().value % 2 === 0) await settled();
        }
        for (const late of waiting) follower.hint(late, null);
        follower.look();
        for (let round = 0; round < 5; round += 1) {
          await settled();
          timers.pop()?.();
        }
        await settled();
        expect(seqs()).toEqual(log.map(({ seq }) => seq));
      },
    ),
    { numRuns: 300 },
  );
});
