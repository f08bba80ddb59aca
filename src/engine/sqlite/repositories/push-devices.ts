// Queries on browsers that are sent pushes.
import type { PushDevicesRepository } from '../../repositories/push-devices.ts';
import type { PushDeviceRow } from '../../rows.ts';
import { all, first, prepare, run, type Runner } from '../query.ts';

const byId = prepare<{ id: string }>()((db, p) =>
  db.selectFrom('push_devices').selectAll().where('id', '=', p.id),
);
const byDigest = prepare<{ digest: Uint8Array }>()((db, p) =>
  db.selectFrom('push_devices').selectAll().where('endpoint_digest', '=', p.digest),
);
const ofMember = prepare<{ member_id: string }>()((db, p) =>
  db
    .selectFrom('push_devices')
    .selectAll()
    .where('member_id', '=', p.member_id)
    .orderBy('created_at')
    .orderBy('id'),
);
const insert = prepare<PushDeviceRow>()((db, p) =>
  db.insertInto('push_devices').values({
    id: p.id,
    organization_id: p.organization_id,
    member_id: p.member_id,
    session_id: p.session_id,
    endpoint_digest: p.endpoint_digest,
    sealed: p.sealed,
    host: p.host,
    label: p.label,
    locale: p.locale,
    key_id: p.key_id,
    created_at: p.created_at,
    last_sent_at: p.last_sent_at,
    problem: p.problem,
  }),
);
const remove = prepare<{ id: string }>()((db, p) => db.deleteFrom('push_devices').where('id', '=', p.id));
const setSent = prepare<{ id: string; last_sent_at: number }>()((db, p) =>
  db.updateTable('push_devices').set({ last_sent_at: p.last_sent_at, problem: null }).where('id', '=', p.id),
);
const setProblem = prepare<{ id: string; problem: string }>()((db, p) =>
  db.updateTable('push_devices').set({ problem: p.problem }).where('id', '=', p.id),
);
const organizations = prepare<object>()((db) =>
  db.selectFrom('push_devices').select('organization_id').distinct().orderBy('organization_id'),
);
const countByKey = prepare<object>()((db) =>
  db
    .selectFrom('push_devices')
    .select((e) => [
      'key_id',
      e.fn.countAll<number>().as('devices'),
      e.fn.count<number>('problem').as('failing'),
    ])
    .groupBy('key_id')
    .orderBy('key_id'),
);

export function createPushDevicesRepository(runner: Runner): PushDevicesRepository {
  return {
    byId: (id) => first(runner, byId, { id }),
    byDigest: (digest) => first(runner, byDigest, { digest }),
    ofMember: (memberId) => all(runner, ofMember, { member_id: memberId }),
    insert: (row) => run(runner, insert, row),
    remove: (id) => run(runner, remove, { id }),
    setSent: (id, sentAt) => run(runner, setSent, { id, last_sent_at: sentAt }),
    setProblem: (id, problem) => run(runner, setProblem, { id, problem }),
    organizations: async () =>
      (await all(runner, organizations, {})).map(({ organization_id }) => organization_id),
    countByKey: () => all(runner, countByKey, {}),
  };
}
