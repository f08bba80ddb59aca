// Queries on mail besides messages: addresses that take none, organizations' own mail servers, keys of the way in.
import type { MailRepository } from '../../repositories/mail.ts';
import type { MailAddressRow, MailKeyRow, MailSettingsRow } from '../../rows.ts';
import { all, first, prepare, run, type Runner } from '../query.ts';

const address = prepare<Pick<MailAddressRow, 'organization_id' | 'digest'>>()((db, p) =>
  db
    .selectFrom('mail_addresses')
    .selectAll()
    .where('organization_id', '=', p.organization_id)
    .where('digest', '=', p.digest),
);
const putAddress = prepare<MailAddressRow>()((db, p) =>
  db
    .insertInto('mail_addresses')
    .values({
      organization_id: p.organization_id,
      digest: p.digest,
      state: p.state,
      created_at: p.created_at,
    })
    .onConflict((conflict) =>
      conflict
        .columns(['organization_id', 'digest'])
        .doUpdateSet({ state: p.state, created_at: p.created_at })
        .where('mail_addresses.state', '!=', 'stopped'),
    ),
);
const removeBounces = prepare<{ before: number; limit: number }>()((db, p) =>
  db
    .deleteFrom('mail_addresses')
    .where('digest', 'in', (e) =>
      e
        .selectFrom('mail_addresses')
        .select('digest')
        .where('state', '=', 'bounced')
        .where('created_at', '<', p.before)
        .limit(p.limit),
    )
    .where('state', '=', 'bounced')
    .where('created_at', '<', p.before),
);
type OfOrganization = { organization_id: string };
const settings = prepare<OfOrganization>()((db, p) =>
  db.selectFrom('mail_settings').selectAll().where('organization_id', '=', p.organization_id),
);
const putSettings = prepare<MailSettingsRow>()((db, p) =>
  db
    .insertInto('mail_settings')
    .values({
      organization_id: p.organization_id,
      sealed: p.sealed,
      host: p.host,
      address: p.address,
      updated_at: p.updated_at,
    })
    .onConflict((conflict) =>
      conflict.column('organization_id').doUpdateSet({
        sealed: p.sealed,
        host: p.host,
        address: p.address,
        updated_at: p.updated_at,
      }),
    ),
);
const removeSettings = prepare<OfOrganization>()((db, p) =>
  db.deleteFrom('mail_settings').where('organization_id', '=', p.organization_id),
);
const withServer = prepare<object>()((db) => db.selectFrom('mail_settings').select('organization_id'));
const key = prepare<{ digest: Uint8Array }>()((db, p) =>
  db.selectFrom('mail_keys').selectAll().where('digest', '=', p.digest),
);
const putKey = prepare<MailKeyRow>()((db, p) =>
  db
    .insertInto('mail_keys')
    .values({
      application_id: p.application_id,
      organization_id: p.organization_id,
      digest: p.digest,
      created_at: p.created_at,
    })
    .onConflict((conflict) =>
      conflict.column('application_id').doUpdateSet({ digest: p.digest, created_at: p.created_at }),
    ),
);
const keys = prepare<OfOrganization>()((db, p) =>
  db
    .selectFrom('mail_keys')
    .selectAll()
    .where('organization_id', '=', p.organization_id)
    .orderBy('application_id'),
);

export function createMailRepository(runner: Runner): MailRepository {
  return {
    address: (organizationId, digest) => first(runner, address, { organization_id: organizationId, digest }),
    putAddress: (row) => run(runner, putAddress, row),
    removeBounces: (before, limit) => run(runner, removeBounces, { before, limit }),
    settings: (organizationId) => first(runner, settings, { organization_id: organizationId }),
    putSettings: (row) => run(runner, putSettings, row),
    removeSettings: (organizationId) => run(runner, removeSettings, { organization_id: organizationId }),
    organizationsWithServer: async () =>
      (await all(runner, withServer, {})).map((row) => row.organization_id),
    key: (digest) => first(runner, key, { digest }),
    putKey: (row) => run(runner, putKey, row),
    keys: (organizationId) => all(runner, keys, { organization_id: organizationId }),
  };
}
