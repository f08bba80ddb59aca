// The log of events: appended by rules, read by whoever catches up.
import type { EventsRepository } from '../../repositories.ts';
import type { EventRow } from '../../rows.ts';
import { all, first, prepare, run, type Runner } from '../query.ts';

const insert = prepare<Omit<EventRow, 'seq'>>()((db, p) =>
  db
    .insertInto('events')
    .values({
      organization_id: p.organization_id,
      conversation_id: p.conversation_id,
      mode: p.mode,
      type: p.type,
      audience: p.audience,
      actor_id: p.actor_id,
      message_id: p.message_id,
      member_id: p.member_id,
      created_at: p.created_at,
    } as EventRow)
    .returning('seq'),
);
const after = prepare<{ seq: number; limit: number }>()((db, p) =>
  db.selectFrom('events').selectAll().where('seq', '>', p.seq).orderBy('seq').limit(p.limit),
);
const last = prepare<object>()((db) => db.selectFrom('events').select('seq').orderBy('seq', 'desc').limit(1));
// The newest row always stays, so that its number is never given out twice.
const prune = prepare<{ before: number }>()((db, p) =>
  db
    .deleteFrom('events')
    .where('created_at', '<', p.before)
    .where('seq', '<', (e) => e.selectFrom('events').select((f) => f.fn.max('seq').as('seq'))),
);

/** With `insert`, which only the store calls. */
export function createEventsRepository(
  runner: Runner,
): EventsRepository & { insert(row: Omit<EventRow, 'seq'>): Promise<number> } {
  return {
    insert: async (row: Omit<EventRow, 'seq'>): Promise<number> => {
      const inserted = await first(runner, insert, row);
      if (inserted === undefined) throw new Error('The event log gave no number.');
      return inserted.seq;
    },
    after: (seq: number, limit: number) => all(runner, after, { seq, limit }),
    lastSeq: async () => (await first(runner, last, {}))?.seq ?? 0,
    prune: (before: number) => run(runner, prune, { before }),
  };
}
