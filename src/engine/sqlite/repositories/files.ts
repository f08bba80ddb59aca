// Queries on files that are sent with messages. Triggers keep the totals, and note the bytes that are to go.
import { sql } from 'kysely';
import type { FilesRepository } from '../../repositories/files.ts';
import type { FileRemovalRow, FileRow } from '../../rows.ts';
import { all, first, prepare, run, type Runner } from '../query.ts';

/** Written out, so that the index of these is used. */
const scanning = sql<'scanning'>`'scanning'`;

const insert = prepare<FileRow>()((db, p) =>
  db
    .insertInto('files')
    .values({
      id: p.id,
      organization_id: p.organization_id,
      uploader: p.uploader,
      visitor_key: p.visitor_key,
      message_id: p.message_id,
      object: p.object,
      name: p.name,
      type: p.type,
      size: p.size,
      width: p.width,
      height: p.height,
      digest: p.digest,
      state: p.state,
      idempotency_key: p.idempotency_key,
      created_at: p.created_at,
    })
    .onConflict((conflict) =>
      conflict.columns(['uploader', 'idempotency_key']).where('idempotency_key', 'is not', null).doNothing(),
    ),
);
const byId = prepare<{ id: string }>()((db, p) => db.selectFrom('files').selectAll().where('id', '=', p.id));
const byIdempotencyKey = prepare<{ uploader: string; key: string }>()((db, p) =>
  db
    .selectFrom('files')
    .selectAll()
    .where('uploader', '=', p.uploader)
    .where('idempotency_key', '=', p.key)
    .where('idempotency_key', 'is not', null),
);
const attach = prepare<{ id: string; message_id: string }>()((db, p) =>
  db
    .updateTable('files')
    .set({ message_id: p.message_id })
    .where('id', '=', p.id)
    .where('message_id', 'is', null)
    .where('state', '=', 'ready'),
);
const ofMessage = prepare<{ message_id: string }>()((db, p) =>
  db.selectFrom('files').selectAll().where('message_id', '=', p.message_id),
);
// The time in which it must be sent begins only now.
const setReady = prepare<{ id: string; now: number }>()((db, p) =>
  db.updateTable('files').set({ state: 'ready', created_at: p.now }).where('id', '=', p.id),
);
const remove = prepare<{ id: string }>()((db, p) => db.deleteFrom('files').where('id', '=', p.id));
const removeOfMessage = prepare<{ message_id: string }>()((db, p) =>
  db.deleteFrom('files').where('message_id', '=', p.message_id),
);
const removeUnused = prepare<{ before: number; scanning_before: number; limit: number }>()((db, p) =>
  db.deleteFrom('files').where('id', 'in', (e) =>
    e
      .selectFrom('files')
      .select('id')
      .where('message_id', 'is', null)
      .where('created_at', '<', p.before)
      .where((e) => e.or([e('state', '!=', scanning), e('created_at', '<', p.scanning_before)]))
      .limit(p.limit),
  ),
);
const toScan = prepare<{ after: number; after_id: string; limit: number }>()((db, p) =>
  db
    .selectFrom('files')
    .selectAll()
    .where('state', '=', scanning)
    .where('created_at', '>=', p.after)
    .where((e) => e.or([e('created_at', '>', p.after), e('id', '>', p.after_id)]))
    .orderBy('created_at')
    .orderBy('id')
    .limit(p.limit),
);
const totals = prepare<{ organization_id: string }>()((db, p) =>
  db.selectFrom('file_totals').select(['files', 'bytes']).where('organization_id', '=', p.organization_id),
);
const overview = prepare<object>()((db) =>
  db.selectNoFrom((e) => [
    e
      .selectFrom('file_totals')
      .select((f) => f.fn.coalesce(f.fn.sum<number>('files'), f.lit(0)).as('n'))
      .as('files'),
    e
      .selectFrom('file_totals')
      .select((f) => f.fn.coalesce(f.fn.sum<number>('bytes'), f.lit(0)).as('n'))
      .as('bytes'),
    e
      .selectFrom('files')
      .select((f) => f.fn.countAll<number>().as('n'))
      .where('state', '=', scanning)
      .as('scanning'),
    e
      .selectFrom('file_removals')
      .select((f) => f.fn.countAll<number>().as('n'))
      .as('removals'),
    e
      .selectFrom('file_removals')
      .select((f) => f.fn.countAll<number>().as('n'))
      .where('attempts', '>', 0)
      .as('failing'),
  ]),
);
const used = prepare<{ object: string }>()((db, p) =>
  db.selectFrom('files').select('object').where('object', '=', p.object),
);
const known = prepare<{ object: string }>()((db, p) =>
  db
    .selectFrom('files')
    .select('object')
    .where('object', '=', p.object)
    .unionAll(db.selectFrom('file_removals').select('object').where('object', '=', p.object)),
);
const planRemoval = prepare<{ object: string; due_at: number }>()((db, p) =>
  db
    .insertInto('file_removals')
    .values({ object: p.object, due_at: p.due_at, attempts: 0, error: null })
    .onConflict((conflict) => conflict.column('object').doUpdateSet({ due_at: p.due_at })),
);
const dueRemovals = prepare<{ now: number; limit: number }>()((db, p) =>
  db.selectFrom('file_removals').selectAll().where('due_at', '<=', p.now).orderBy('due_at').limit(p.limit),
);
const forgetRemoval = prepare<{ object: string }>()((db, p) =>
  db.deleteFrom('file_removals').where('object', '=', p.object),
);
const failRemoval = prepare<Pick<FileRemovalRow, 'object' | 'due_at' | 'error'>>()((db, p) =>
  db
    .updateTable('file_removals')
    .set((e) => ({ due_at: p.due_at, attempts: e('attempts', '+', 1), error: p.error }))
    .where('object', '=', p.object),
);

export function createFilesRepository(runner: Runner): FilesRepository {
  return {
    insert: (row) => run(runner, insert, row),
    byId: (id) => first(runner, byId, { id }),
    byIdempotencyKey: (uploader, key) => first(runner, byIdempotencyKey, { uploader, key }),
    attach: (id, messageId) => run(runner, attach, { id, message_id: messageId }),
    ofMessage: (messageId) => all(runner, ofMessage, { message_id: messageId }),
    setReady: (id, now) => run(runner, setReady, { id, now }),
    remove: (id) => run(runner, remove, { id }),
    removeOfMessage: (messageId) => run(runner, removeOfMessage, { message_id: messageId }),
    removeUnused: (before, scanningBefore, limit) =>
      run(runner, removeUnused, { before, scanning_before: scanningBefore, limit }),
    toScan: ({ created_at: after, id }, limit) => all(runner, toScan, { after, after_id: id, limit }),
    totals: async (organizationId) =>
      (await first(runner, totals, { organization_id: organizationId })) ?? { files: 0, bytes: 0 },
    overview: async () => {
      const row = await first(runner, overview, {});
      return {
        files: row?.files ?? 0,
        bytes: row?.bytes ?? 0,
        scanning: row?.scanning ?? 0,
        removals: row?.removals ?? 0,
        failing: row?.failing ?? 0,
      };
    },
    isUsed: async (object) => (await first(runner, used, { object })) !== undefined,
    isKnown: async (object) => (await first(runner, known, { object })) !== undefined,
    planRemoval: (object, dueAt) => run(runner, planRemoval, { object, due_at: dueAt }),
    dueRemovals: (now, limit) => all(runner, dueRemovals, { now, limit }),
    forgetRemoval: (object) => run(runner, forgetRemoval, { object }),
    failRemoval: (object, dueAt, error) => run(runner, failRemoval, { object, due_at: dueAt, error }),
  };
}
