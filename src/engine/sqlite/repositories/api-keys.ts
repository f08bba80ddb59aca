// Queries on API keys.
import type { ApiKeysRepository } from '../../repositories/api-keys.ts';
import type { ApiKeyRow } from '../../rows.ts';
import { all, first, prepare, run, type Runner } from '../query.ts';

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
    insert: (row: ApiKeyRow) => run(runner, insert, row),
    setExpiry: (id: string, expiresAt: number) => run(runner, setExpiry, { id, expires_at: expiresAt }),
    setRevoked: (id: string, revokedAt: number) => run(runner, setRevoked, { id, revoked_at: revokedAt }),
    setLastUsed: (id: string, lastUsedAt: number) =>
      run(runner, setLastUsed, { id, last_used_at: lastUsedAt }),
  };
}
