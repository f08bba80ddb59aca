// Queries on applications and their registered domains.
import { sql } from 'kysely';
import type { ApplicationsRepository } from '../../repositories/applications.ts';
import type { ApplicationRow, DomainRow } from '../../rows.ts';
import { isFoundApplication, ownerIsFound } from './found.ts';
import { all, first, prepare, run, type Runner } from '../query.ts';

const byId = prepare<{ id: string }>()((db, p) =>
  db
    .selectFrom('applications')
    .selectAll()
    .where('id', '=', p.id)
    .where(isFoundApplication)
    .where(ownerIsFound('applications.organization_id')),
);
const alsoGoing = prepare<{ id: string }>()((db, p) =>
  db
    .selectFrom('applications')
    .selectAll()
    .where('id', '=', p.id)
    .where(ownerIsFound('applications.organization_id')),
);
const everyOf = prepare<{ organization_id: string }>()((db, p) =>
  db.selectFrom('applications').selectAll().where('organization_id', '=', p.organization_id).orderBy('id'),
);
const byOrganization = prepare<{ organization_id: string }>()((db, p) =>
  db
    .selectFrom('applications')
    .selectAll()
    .where(isFoundApplication)
    .where('organization_id', '=', p.organization_id)
    .orderBy('created_at')
    .orderBy('id'),
);
const withSetting = prepare<{ text: string }>()((db, p) =>
  db
    .selectFrom('applications')
    .selectAll()
    .where('settings', 'like', sql<string>`${p.text}`)
    .where(isFoundApplication)
    .orderBy('created_at')
    .orderBy('id'),
);
const insert = prepare<ApplicationRow>()((db, p) =>
  db.insertInto('applications').values({
    id: p.id,
    organization_id: p.organization_id,
    name: p.name,
    settings: p.settings,
    identity_secret: p.identity_secret,
    created_at: p.created_at,
  }),
);
const setSettings = prepare<{ id: string; settings: string }>()((db, p) =>
  db.updateTable('applications').set({ settings: p.settings }).where('id', '=', p.id),
);
const setName = prepare<{ id: string; name: string }>()((db, p) =>
  db.updateTable('applications').set({ name: p.name }).where('id', '=', p.id),
);
const setIdentitySecret = prepare<{ id: string; identity_secret: Uint8Array }>()((db, p) =>
  db.updateTable('applications').set({ identity_secret: p.identity_secret }).where('id', '=', p.id),
);
const remove = prepare<{ id: string }>()((db, p) => db.deleteFrom('applications').where('id', '=', p.id));

const domains = prepare<{ application_id: string }>()((db, p) =>
  db
    .selectFrom('domains')
    .selectAll()
    .where('application_id', '=', p.application_id)
    .orderBy('created_at')
    .orderBy('id'),
);
const allDomains = prepare<object>()((db) =>
  db
    .selectFrom('domains')
    .innerJoin('applications', 'applications.id', 'domains.application_id')
    .select(['applications.organization_id', 'domains.domain'])
    .where(isFoundApplication)
    .distinct(),
);
const domainsOfOrganization = prepare<{ organization_id: string }>()((db, p) =>
  db
    .selectFrom('applications')
    .innerJoin('domains', 'domains.application_id', 'applications.id')
    .select(['applications.organization_id', 'domains.domain'])
    .where(isFoundApplication)
    .where('applications.organization_id', '=', p.organization_id)
    .distinct(),
);
const insertDomain = prepare<DomainRow>()((db, p) =>
  db
    .insertInto('domains')
    .values({ id: p.id, application_id: p.application_id, domain: p.domain, created_at: p.created_at })
    .onConflict((conflict) => conflict.columns(['application_id', 'domain']).doNothing()),
);
const removeDomain = prepare<{ application_id: string; domain: string }>()((db, p) =>
  db.deleteFrom('domains').where('application_id', '=', p.application_id).where('domain', '=', p.domain),
);

export function createApplicationsRepository(runner: Runner): ApplicationsRepository {
  return {
    byId: (id: string) => first(runner, byId, { id }),
    alsoGoing: (id: string) => first(runner, alsoGoing, { id }),
    everyOf: (organizationId: string) => all(runner, everyOf, { organization_id: organizationId }),
    byOrganization: (organizationId: string) =>
      all(runner, byOrganization, { organization_id: organizationId }),
    // A sign that stands for others finds too many: the caller looks anyway.
    withSetting: (text) => all(runner, withSetting, { text: `%${text}%` }),
    insert: (row: ApplicationRow) => run(runner, insert, row),
    setSettings: (id: string, settings: string) => run(runner, setSettings, { id, settings }),
    setName: (id: string, name: string) => run(runner, setName, { id, name }),
    setIdentitySecret: (id: string, sealed: Uint8Array) =>
      run(runner, setIdentitySecret, { id, identity_secret: sealed }),
    remove: (id: string) => run(runner, remove, { id }),
    domains: (applicationId: string) => all(runner, domains, { application_id: applicationId }),
    registeredDomains: (organizationId: string | null) =>
      organizationId === null
        ? all(runner, allDomains, {})
        : all(runner, domainsOfOrganization, { organization_id: organizationId }),
    insertDomain: (row: DomainRow) => run(runner, insertDomain, row),
    removeDomain: (applicationId: string, domain: string) =>
      run(runner, removeDomain, { application_id: applicationId, domain }),
  };
}
