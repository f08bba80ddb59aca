// Queries on API keys.
import type { ApiKeysRepository } from '../../repositories/api-keys.ts';
import type { ApiKeyRow } from '../../rows.ts';
import { all, first, prepare, run, type Runner, type Builder } from '../query.ts';

const byDigest = prepare<{ digest: Uint8Array }>()((db, p) =>
  db.selectFrom('api_keys').selectAll().where('digest', '=', p.digest),
);
const byId = prepare<{ id: string }>()((db, p) =>
  db.selectFrom('api_keys').selectAll().where('id', '=', p.id),
);
const byApplication = prepare<{ application_id: string }>()((db, p) =>
  db
    .selectFrom('api_keys')
    .selectAll()
    .where('application_id', '=', p.application_id)
    .orderBy('created_at')
    .orderBy('id'),
);
type OfApplication = { application_id: string; now: number };
const countWorking = prepare<OfApplication>()((db, p) =>
  db
    .selectFrom('api_keys')
    .select((eb) => eb.fn.countAll<number>().as('n'))
    .where('application_id', '=', p.application_id)
    .where('revoked_at', 'is', null)
    .where((eb) => eb.or([eb('expires_at', 'is', null), eb('expires_at', '>', p.now)])),
);
const overKeys = (db: Builder, p: OfApplication) =>
  db
    .selectFrom('api_keys')
    .where('application_id', '=', p.application_id)
    .where((eb) => eb.or([eb('revoked_at', 'is not', null), eb('expires_at', '<=', p.now)]));
const countOver = prepare<OfApplication>()((db, p) =>
  overKeys(db, p).select((eb) => eb.fn.countAll<number>().as('n')),
);
const removeOver = prepare<OfApplication & { most: number }>()((db, p) =>
  db.deleteFrom('api_keys').where(
    'id',
    'in',
    overKeys(db, p)
      .select('id')
      .orderBy((by) => by.fn.coalesce('revoked_at', 'expires_at'))
      .orderBy('id')
      .limit(p.most),
  ),
);
const insert = prepare<ApiKeyRow>()((db, p) =>
  db.insertInto('api_keys').values({
    id: p.id,
    organization_id: p.organization_id,
    application_id: p.application_id,
    mode: p.mode,
    name: p.name,
    public_id: p.public_id,
    digest: p.digest,
    sealed: p.sealed,
    created_at: p.created_at,
    last_used_at: p.last_used_at,
    expires_at: p.expires_at,
    revoked_at: p.revoked_at,
  }),
);
const setExpiry = prepare<{ id: string; expires_at: number }>()((db, p) =>
  db.updateTable('api_keys').set({ expires_at: p.expires_at }).where('id', '=', p.id),
);
const setRevoked = prepare<{ id: string; revoked_at: number }>()((db, p) =>
  db
    .updateTable('api_keys')
    .set({ revoked_at: p.revoked_at })
    .where('id', '=', p.id)
    .where('revoked_at', 'is', null),
);
const setLastUsed = prepare<{ id: string; last_used_at: number }>()((db, p) =>
  db.updateTable('api_keys').set({ last_used_at: p.last_used_at }).where('id', '=', p.id),
);

export function createApiKeysRepository(runner: Runner): ApiKeysRepository {
  return {
    byDigest: (digest: Uint8Array) => first(runner, byDigest, { digest }),
    byId: (id: string) => first(runner, byId, { id }),
    byApplication: (applicationId: string) => all(runner, byApplication, { application_id: applicationId }),
    countWorking: async (applicationId: string, now: number) =>
      (await first(runner, countWorking, { application_id: applicationId, now }))?.n ?? 0,
    countOver: async (applicationId: string, now: number) =>
      (await first(runner, countOver, { application_id: applicationId, now }))?.n ?? 0,
    removeOver: (applicationId: string, now: number, most: number) =>
      run(runner, removeOver, { application_id: applicationId, now, most }),
    insert: (row: ApiKeyRow) => run(runner, insert, row),
    setExpiry: (id: string, expiresAt: number) => run(runner, setExpiry, { id, expires_at: expiresAt }),
    setRevoked: (id: string, revokedAt: number) => run(runner, setRevoked, { id, revoked_at: revokedAt }),
    setLastUsed: (id: string, lastUsedAt: number) =>
      run(runner, setLastUsed, { id, last_used_at: lastUsedAt }),
  };
}
