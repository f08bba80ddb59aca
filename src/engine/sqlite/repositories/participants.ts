// Queries on who takes part in a conversation and how far each has read.
import { sql } from 'kysely';
import type { ParticipantsRepository } from '../../repositories/participants.ts';
import type { ParticipantRow } from '../../rows.ts';
import { all, first, prepare, run, type Runner } from '../query.ts';

const get = prepare<{ conversation_id: string; user_id: string }>()((db, p) =>
  db
    .selectFrom('participants')
    .selectAll()
    .where('conversation_id', '=', p.conversation_id)
    .where('user_id', '=', p.user_id),
);
const present = prepare<{ conversation_id: string }>()((db, p) =>
  db
    .selectFrom('participants')
    .selectAll()
    .where('conversation_id', '=', p.conversation_id)
    .where('left_at', 'is', null)
    .orderBy('role', 'desc')
    .orderBy('joined_at')
    .orderBy('user_id'),
);
type Joining = Pick<ParticipantRow, 'conversation_id' | 'user_id' | 'role' | 'joined_at' | 'left_at'>;
const join = prepare<Joining>()((db, p) =>
  db
    .insertInto('participants')
    .values({
      conversation_id: p.conversation_id,
      user_id: p.user_id,
      role: p.role,
      joined_at: p.joined_at,
      left_at: p.left_at,
      last_read_message_id: null,
      last_read_seq: 0,
    })
    .onConflict((conflict) =>
      conflict
        .columns(['conversation_id', 'user_id'])
        .doUpdateSet({ joined_at: p.joined_at, left_at: p.left_at }),
    ),
);
const leave = prepare<{ conversation_id: string; user_id: string; left_at: number }>()((db, p) =>
  db
    .updateTable('participants')
    .set({ left_at: p.left_at })
    .where('conversation_id', '=', p.conversation_id)
    .where('user_id', '=', p.user_id),
);
type Reading = { conversation_id: string; user_id: string; message_id: string; seq: number };
const read = prepare<Reading>()((db, p) =>
  db
    .updateTable('participants')
    .set({ last_read_message_id: p.message_id, last_read_seq: p.seq })
    .where('conversation_id', '=', p.conversation_id)
    .where('user_id', '=', p.user_id)
    .where('last_read_seq', '<', p.seq),
);
const unread = prepare<{ conversation_id: string; user_id: string; seq: number }>()((db, p) =>
  db
    .updateTable('participants')
    .set({
      last_read_seq: sql<number>`${p.seq} - 1`,
      last_read_message_id: (e) =>
        e
          .selectFrom((f) =>
            f
              .selectFrom('ordered_messages as m')
              .select(['m.id', 'm.seq'])
              .where('m.conversation_id', '=', p.conversation_id)
              .where('m.seq', '<', p.seq)
              .orderBy('m.seq', 'desc')
              .limit(1)
              .as('before'),
          )
          .select('before.id'),
    })
    .where('conversation_id', '=', p.conversation_id)
    .where('user_id', '=', p.user_id)
    .where('last_read_seq', '>=', p.seq),
);

export function createParticipantsRepository(runner: Runner): ParticipantsRepository {
  return {
    get: (conversationId: string, userId: string) =>
      first(runner, get, { conversation_id: conversationId, user_id: userId }),
    present: (conversationId: string) => all(runner, present, { conversation_id: conversationId }),
    join: (values: Joining) => run(runner, join, values),
    leave: (conversationId: string, userId: string, now: number) =>
      run(runner, leave, { conversation_id: conversationId, user_id: userId, left_at: now }),
    read: (values: Reading) => run(runner, read, values),
    unread: (conversationId: string, userId: string, seq: number) =>
      run(runner, unread, { conversation_id: conversationId, user_id: userId, seq }),
  };
}
