// Applications, their settings and the domains that may show them.
import type { Input, Output } from '../../protocol/operations.ts';
import type { ApplicationRow, DomainRow } from '../../engine/rows.ts';
import { accessApplication, accessOrganization } from '../core/access.ts';
import { audit } from '../core/audit.ts';
import { ServiceError, notFound } from '../core/errors.ts';
import { normaliseDomain } from '../auth/origins.ts';
import { paginate } from '../core/pagination.ts';
import { assertQuota, organizationQuotas } from './quotas.ts';
import {
  isoTime,
  serializeApplication,
  serializeApplicationDetail,
  serializeDomain,
} from '../core/serializers.ts';
import { makeIdentitySecret } from '../auth/secrets.ts';
import { widgetLook } from './widget-look.ts';
import { assertInboxFree } from '../mail/mail-settings.ts';
import { changedSettings, defaultSettings, patchSettings, readSettings } from './settings.ts';
import type { OwnerCall, ReadTx, Tx } from '../service.ts';

/** @throws ServiceError not_found, plan_limit, bad_request (a domain) */
export async function createApplication(
  tx: Tx,
  call: OwnerCall,
  input: Input<'applications.create'>,
): Promise<Output<'applications.create'>> {
  const organization = await accessOrganization(tx, call.actor, input.organization);
  const counts = await tx.repositories.organizations.counts(organization.id);
  assertQuota(
    organization,
    counts.applications,
    organizationQuotas(organization).applications,
    'applications',
  );
  const { clock } = call.service.engine;
  const id = clock.newId();
  const row: ApplicationRow = {
    id,
    organization_id: organization.id,
    name: input.name,
    settings: JSON.stringify(defaultSettings),
    identity_secret: call.service.secrets.seal(
      makeIdentitySecret(),
      secretLocation({ id, organization_id: organization.id }),
    ),
    created_at: clock.now(),
  };
  await tx.repositories.applications.insert(row);
  for (const domain of input.domains) await insertDomain(tx, call, row, domain);
  tx.configurationChanged(organization.id);
  await audit(tx, call, {
    organizationId: organization.id,
    action: 'applications.create',
    subject: `application:${id}`,
  });
  return serializeApplication(row, await tx.repositories.applications.domains(id));
}

export async function listApplications(
  tx: ReadTx,
  call: OwnerCall,
  input: Input<'applications.list'>,
): Promise<Output<'applications.list'>> {
  const organization = await accessOrganization(tx, call.actor, input.organization);
  const { page, ...counts } = paginate(
    await tx.repositories.applications.byOrganization(organization.id),
    input,
  );
  const applications = [];
  for (const row of page)
    applications.push(serializeApplication(row, await tx.repositories.applications.domains(row.id)));
  return { applications, ...counts };
}

export async function getApplication(
  tx: ReadTx,
  call: OwnerCall,
  input: Input<'applications.get'>,
): Promise<Output<'applications.get'>> {
  const row = await accessApplication(tx, call.actor, input.applicationId);
  return serializeApplicationDetail(row, await tx.repositories.applications.domains(row.id));
}

/**
 * Changes the name and any part of the settings, all of it or nothing.
 * @throws ServiceError not_found, plan_limit (a mode of the assistant that the plan does not have)
 */
export async function updateApplication(
  tx: Tx,
  call: OwnerCall,
  input: Input<'applications.update'>,
): Promise<Output<'applications.update'>> {
  const row = await accessApplication(tx, call.actor, input.applicationId);
  const { applicationId: _id, name = row.name, ...patch } = input;
  if (patch.ai?.mode !== undefined && patch.ai.mode !== 'off') await assertPlanHasAi(tx, row.organization_id);
  const before = readSettings(row);
  const settings = patchSettings(before, patch);
  if (settings.email.address !== before.email.address) await assertInboxFree(tx, row, settings.email.address);
  const fields = [...(name === row.name ? [] : ['name']), ...changedSettings(before, settings)];
  const updated = { ...row, name, settings: JSON.stringify(settings) };
  const { applications } = tx.repositories;
  if (fields.length > 0) {
    await applications.setName(row.id, name);
    await applications.setSettings(row.id, updated.settings);
    tx.configurationChanged(row.organization_id);
    await audit(tx, call, {
      organizationId: row.organization_id,
      action: 'applications.update',
      subject: `application:${row.id}`,
      detail: { fields: fields.join(',') },
    });
  }
  return serializeApplicationDetail(updated, await applications.domains(row.id));
}

/**
 * What a page would know of the application if a change of its settings were saved; nothing is.
 * @throws ServiceError not_found, bad_request
 */
export async function previewApplication(
  call: OwnerCall,
  { applicationId, name, ...patch }: Input<'applications.preview'>,
): Promise<Output<'applications.preview'>> {
  const { service } = call;
  const { row, organization } = await service.engine.store.read(async (tx) => {
    const found = await accessApplication(tx, call.actor, applicationId);
    return { row: found, organization: await accessOrganization(tx, call.actor, found.organization_id) };
  });
  const settings = patchSettings(readSettings(row), patch);
  return {
    application: await widgetLook(service, {
      row: { id: row.id, name: name ?? row.name },
      organization,
      settings,
    }),
  };
}

function secretLocation(row: Pick<ApplicationRow, 'id' | 'organization_id'>) {
  return { table: 'applications.identity_secret', row: row.id, organizationId: row.organization_id };
}

/** Shows the secret under which the customer's backend signs visitor ids, and leaves a trace of it. */
export async function revealIdentitySecret(
  tx: Tx,
  call: OwnerCall,
  input: Input<'applications.identitySecret'>,
): Promise<Output<'applications.identitySecret'>> {
  const row = await accessApplication(tx, call.actor, input.applicationId);
  await audit(tx, call, {
    organizationId: row.organization_id,
    action: 'applications.identitySecret',
    subject: `application:${row.id}`,
  });
  return { identitySecret: call.service.secrets.open(row.identity_secret, secretLocation(row)) };
}

/** A new identity secret; signatures under the old one are refused from now on. */
export async function rotateIdentitySecret(
  tx: Tx,
  call: OwnerCall,
  input: Input<'applications.rotateIdentitySecret'>,
): Promise<Output<'applications.rotateIdentitySecret'>> {
  const row = await accessApplication(tx, call.actor, input.applicationId);
  const identitySecret = makeIdentitySecret();
  await tx.repositories.applications.setIdentitySecret(
    row.id,
    call.service.secrets.seal(identitySecret, secretLocation(row)),
  );
  tx.configurationChanged(row.organization_id);
  await audit(tx, call, {
    organizationId: row.organization_id,
    action: 'applications.rotateIdentitySecret',
    subject: `application:${row.id}`,
  });
  return { identitySecret };
}

/** @throws ServiceError plan_limit when the organization's plan has no assistant */
export async function assertPlanHasAi(tx: ReadTx, organizationId: string): Promise<void> {
  const organization = await tx.repositories.organizations.byId(organizationId);
  if (organization === undefined || organizationQuotas(organization).ai) return;
  throw new ServiceError(
    'plan_limit',
    `The assistant is part of the premium plan: deskbell org plan ${organization.slug} premium`,
  );
}

/** Every preflight of a page looks through the domains of all applications. */
const maxDomains = 200;

/** @throws ServiceError not_found, bad_request, conflict (registered already, or one too many) */
export async function addDomain(
  tx: Tx,
  call: OwnerCall,
  input: Input<'domains.add'>,
): Promise<Output<'domains.add'>> {
  const application = await accessApplication(tx, call.actor, input.applicationId);
  const { row, warning } = await insertDomain(tx, call, application, input.domain);
  tx.configurationChanged(application.organization_id);
  return { ...serializeDomain(row), ...(warning === undefined ? {} : { warning }) };
}

async function insertDomain(
  tx: Tx,
  call: OwnerCall,
  application: ApplicationRow,
  input: string,
): Promise<{ row: DomainRow; warning: string | undefined }> {
  const checked = normaliseDomain(input);
  if (!checked.ok) throw badDomain(checked.problem);
  const { clock } = call.service.engine;
  const row = {
    id: clock.newId(),
    application_id: application.id,
    domain: checked.domain,
    created_at: clock.now(),
  };
  if ((await tx.repositories.applications.insertDomain(row)) === 0)
    throw new ServiceError(
      'conflict',
      `The domain ${checked.domain} is registered for this application already.`,
    );
  if ((await tx.repositories.applications.domains(application.id)).length > maxDomains)
    throw new ServiceError(
      'conflict',
      `An application has at most ${maxDomains} domains. Remove some first, or register *.example.com for all below one.`,
    );
  await audit(tx, call, {
    organizationId: application.organization_id,
    action: 'domains.add',
    subject: `application:${application.id}`,
    detail: { domain: checked.domain },
  });
  return { row, warning: checked.warning };
}

/** @param problem a sentence of its own, without its full stop */
function badDomain(problem: string): ServiceError {
  return new ServiceError('bad_request', `The domain is not valid: ${problem}.`, {
    details: [{ path: 'domain', message: problem }],
  });
}

/** @throws ServiceError not_found, bad_request */
export async function removeDomain(
  tx: Tx,
  call: OwnerCall,
  input: Input<'domains.remove'>,
): Promise<{ success: true }> {
  const application = await accessApplication(tx, call.actor, input.applicationId);
  const checked = normaliseDomain(input.domain);
  if (!checked.ok) throw badDomain(checked.problem);
  if ((await tx.repositories.applications.removeDomain(application.id, checked.domain)) === 0)
    throw notFound(`domain ${checked.domain} of this application`);
  tx.configurationChanged(application.organization_id);
  await audit(tx, call, {
    organizationId: application.organization_id,
    action: 'domains.remove',
    subject: `application:${application.id}`,
    detail: { domain: checked.domain },
  });
  return { success: true };
}

export async function listDomains(
  tx: ReadTx,
  call: OwnerCall,
  input: Input<'domains.list'>,
): Promise<Output<'domains.list'>> {
  const application = await accessApplication(tx, call.actor, input.applicationId);
  const { page, ...counts } = paginate(await tx.repositories.applications.domains(application.id), input);
  const seen = await tx.repositories.sightings.get(application.id);
  const lastSeen = seen === undefined ? null : { origin: seen.origin, at: isoTime(seen.seen_at) };
  return { domains: page.map(serializeDomain), lastSeen, ...counts };
}
