// The rules of applications, their settings and the domains that may show them.
import { applicationSettings, type ApplicationSettings } from '../protocol/entities.ts';
import type { Input, Output } from '../protocol/operations.ts';
import type { ApplicationRow, DomainRow } from '../engine/rows.ts';
import { accessApplication, accessOrganization } from './access.ts';
import { audit } from './audit.ts';
import { checkBusinessHours, checkTimezone } from './business-hours.ts';
import { badField, Failure, notFound } from './failure.ts';
import { normaliseDomain } from './origins.ts';
import { pageOf } from './paging.ts';
import { assertRoom, organizationLimits } from './plans.ts';
import { presentApplication, presentApplicationDetail, presentDomain } from './present.ts';
import { makeIdentitySecret } from './secrets.ts';
import { readSettings } from './settings.ts';
import type { OwnerCall, ReadTx, Tx } from './service.ts';

const defaultSettings: ApplicationSettings = {
  appearance: {
    colors: { primary: '#2563eb', background: '#ffffff', text: '#111827' },
    logo: null,
    position: 'bottom-right',
    launcherIcon: 'chat',
  },
  behavior: { timezone: 'UTC', businessHours: null, greeting: null, outsideHours: null, contactForm: 'off' },
  ai: { mode: 'assist', name: 'Assistant' },
  locale: null,
};

/** @throws Failure not_found, plan_limit, bad_request (a domain) */
export async function createApplication(
  tx: Tx,
  call: OwnerCall,
  input: Input<'applications.create'>,
): Promise<Output<'applications.create'>> {
  const organization = await accessOrganization(tx, call.actor, input.organization);
  const counts = await tx.tables.organizations.counts(organization.id);
  assertRoom(organization, counts.applications, organizationLimits(organization).applications, 'applications');
  const { clock } = call.service.engine;
  const id = clock.newId();
  const row: ApplicationRow = {
    id,
    organization_id: organization.id,
    name: input.name,
    settings: JSON.stringify(defaultSettings),
    identity_secret: call.service.secrets.seal(makeIdentitySecret(), secretPlace({ id, organization_id: organization.id })),
    created_at: clock.now(),
  };
  await tx.tables.applications.insert(row);
  for (const domain of input.domains) await insertDomain(tx, call, row, domain);
  tx.configurationChanged();
  await audit(tx, call, { organizationId: organization.id, action: 'applications.create', subject: `application:${id}` });
  return presentApplication(row, await tx.tables.applications.domains(id));
}

export async function listApplications(
  tx: ReadTx,
  call: OwnerCall,
  input: Input<'applications.list'>,
): Promise<Output<'applications.list'>> {
  const organization = await accessOrganization(tx, call.actor, input.organization);
  const { page, ...counts } = pageOf(await tx.tables.applications.byOrganization(organization.id), input);
  const applications = [];
  for (const row of page) applications.push(presentApplication(row, await tx.tables.applications.domains(row.id)));
  return { applications, ...counts };
}

export async function getApplication(tx: ReadTx, call: OwnerCall, input: Input<'applications.get'>): Promise<Output<'applications.get'>> {
  const row = await accessApplication(tx, call.actor, input.applicationId);
  return presentApplicationDetail(row, await tx.tables.applications.domains(row.id));
}

/**
 * Changes settings by their paths, all of them or none.
 * @throws Failure not_found, bad_request naming the path, plan_limit (AI)
 */
export async function configureApplication(
  tx: Tx,
  call: OwnerCall,
  input: Input<'applications.configure'>,
): Promise<Output<'applications.configure'>> {
  const row = await accessApplication(tx, call.actor, input.applicationId);
  const settings = readSettings(row);
  for (const { path, value } of input.settings) assignSetting(settings, path, value);
  const checked = applicationSettings.safeParse(settings);
  if (!checked.success) {
    const [issue] = checked.error.issues;
    throw badField(issue?.path.join('.') ?? 'settings', issue?.message ?? 'is not valid');
  }
  const { behavior, ai } = checked.data;
  const zoneProblem = checkTimezone(behavior.timezone);
  if (zoneProblem !== null) throw badField('behavior.timezone', zoneProblem);
  const hoursProblem = checkBusinessHours(behavior.businessHours);
  if (hoursProblem !== null) throw badField('behavior.businessHours', hoursProblem);
  if (ai.mode !== 'off' && input.settings.some(({ path }) => path === 'ai.mode')) await assertAi(tx, row.organization_id);
  const changed = { ...row, settings: JSON.stringify(checked.data) };
  await tx.tables.applications.setSettings(row.id, changed.settings);
  tx.configurationChanged();
  await audit(tx, call, {
    organizationId: row.organization_id,
    action: 'applications.configure',
    subject: `application:${row.id}`,
    detail: { paths: input.settings.map((one) => one.path).join(',') },
  });
  return presentApplicationDetail(changed, await tx.tables.applications.domains(row.id));
}

/**
 * Changes the name and any part of the settings, given as the tree that `widget/config` shows.
 * @throws as configureApplication
 */
export async function updateApplication(
  tx: Tx,
  call: OwnerCall,
  input: Input<'applications.update'>,
): Promise<Output<'applications.update'>> {
  const { applicationId, name, ...parts } = input;
  const row = await accessApplication(tx, call.actor, applicationId);
  if (name !== undefined) {
    await tx.tables.applications.setName(row.id, name);
    tx.configurationChanged();
    await audit(tx, call, { organizationId: row.organization_id, action: 'applications.update', subject: `application:${row.id}` });
  }
  const settings = Object.entries(parts).flatMap(([part, value]) => (value === undefined ? [] : leaves(part, value)));
  if (settings.length > 0) await configureApplication(tx, call, { applicationId, settings });
  return getApplication(tx, call, { applicationId });
}

/** The single settings of a tree. Colours are the one level below a part; everything deeper is one value. */
function leaves(path: string, value: unknown): { path: string; value: unknown }[] {
  const opens = !path.includes('.') ? path !== 'locale' : path === 'appearance.colors';
  if (!opens || typeof value !== 'object' || value === null || Array.isArray(value)) return [{ path, value }];
  return Object.entries(value).flatMap(([name, inner]) => leaves(`${path}.${name}`, inner));
}

function secretPlace(row: Pick<ApplicationRow, 'id' | 'organization_id'>) {
  return { table: 'applications.identity_secret', row: row.id, organizationId: row.organization_id };
}

/** Shows the secret under which the customer's backend signs visitor ids, and leaves a trace of it. */
export async function revealIdentitySecret(
  tx: Tx,
  call: OwnerCall,
  input: Input<'applications.identitySecret'>,
): Promise<Output<'applications.identitySecret'>> {
  const row = await accessApplication(tx, call.actor, input.applicationId);
  await audit(tx, call, { organizationId: row.organization_id, action: 'applications.identitySecret', subject: `application:${row.id}` });
  return { identitySecret: call.service.secrets.open(row.identity_secret, secretPlace(row)) };
}

/** A new identity secret; signatures under the old one are worth nothing from now on. */
export async function rotateIdentitySecret(
  tx: Tx,
  call: OwnerCall,
  input: Input<'applications.rotateIdentitySecret'>,
): Promise<Output<'applications.rotateIdentitySecret'>> {
  const row = await accessApplication(tx, call.actor, input.applicationId);
  const identitySecret = makeIdentitySecret();
  await tx.tables.applications.setIdentitySecret(row.id, call.service.secrets.seal(identitySecret, secretPlace(row)));
  tx.configurationChanged();
  await audit(tx, call, {
    organizationId: row.organization_id,
    action: 'applications.rotateIdentitySecret',
    subject: `application:${row.id}`,
  });
  return { identitySecret };
}

/** Puts a value at a path that exists already: settings are never made up by whoever sets them. */
function assignSetting(settings: unknown, path: string, value: unknown): void {
  const names = path.split('.');
  const last = names.pop() as string;
  let place: unknown = settings;
  for (const name of names) place = ownValue(place, name);
  if (typeof place !== 'object' || place === null || !Object.hasOwn(place, last))
    throw badField(path, 'is no setting; see: deskbell app config ID');
  Object.defineProperty(place, last, { value, enumerable: true, configurable: true, writable: true });
}

function ownValue(place: unknown, name: string): unknown {
  return typeof place === 'object' && place !== null && Object.hasOwn(place, name) ? (place as Record<string, unknown>)[name] : undefined;
}

/** @throws Failure plan_limit when the organization's plan has no assistant */
export async function assertAi(tx: ReadTx, organizationId: string): Promise<void> {
  const organization = await tx.tables.organizations.byId(organizationId);
  if (organization === undefined || organizationLimits(organization).ai) return;
  throw new Failure('plan_limit', `The assistant is part of the premium plan: deskbell org plan ${organization.slug} premium`);
}

/** Removes an application with its conversations. */
export async function deleteApplication(tx: Tx, call: OwnerCall, input: Input<'applications.delete'>): Promise<{ success: true }> {
  const row = await accessApplication(tx, call.actor, input.applicationId);
  await tx.tables.applications.remove(row.id);
  tx.configurationChanged();
  await audit(tx, call, { organizationId: row.organization_id, action: 'applications.delete', subject: `application:${row.id}` });
  return { success: true };
}

/** @throws Failure not_found, bad_request, conflict (registered already) */
export async function addDomain(tx: Tx, call: OwnerCall, input: Input<'domains.add'>): Promise<Output<'domains.add'>> {
  const application = await accessApplication(tx, call.actor, input.applicationId);
  const { row, warning } = await insertDomain(tx, call, application, input.domain);
  tx.configurationChanged();
  return { ...presentDomain(row), ...(warning === undefined ? {} : { warning }) };
}

async function insertDomain(
  tx: Tx,
  call: OwnerCall,
  application: ApplicationRow,
  input: string,
): Promise<{ row: DomainRow; warning: string | undefined }> {
  const checked = normaliseDomain(input);
  if (!checked.ok) throw badField('domain', checked.problem);
  const { clock } = call.service.engine;
  const row = { id: clock.newId(), application_id: application.id, domain: checked.domain, created_at: clock.now() };
  if ((await tx.tables.applications.insertDomain(row)) === 0)
    throw new Failure('conflict', `The domain ${checked.domain} is registered for this application already.`);
  await audit(tx, call, {
    organizationId: application.organization_id,
    action: 'domains.add',
    subject: `application:${application.id}`,
    detail: { domain: checked.domain },
  });
  return { row, warning: checked.warning };
}

/** @throws Failure not_found, bad_request */
export async function removeDomain(tx: Tx, call: OwnerCall, input: Input<'domains.remove'>): Promise<{ success: true }> {
  const application = await accessApplication(tx, call.actor, input.applicationId);
  const checked = normaliseDomain(input.domain);
  if (!checked.ok) throw badField('domain', checked.problem);
  if ((await tx.tables.applications.removeDomain(application.id, checked.domain)) === 0)
    throw notFound(`domain ${checked.domain} of this application`);
  tx.configurationChanged();
  await audit(tx, call, {
    organizationId: application.organization_id,
    action: 'domains.remove',
    subject: `application:${application.id}`,
    detail: { domain: checked.domain },
  });
  return { success: true };
}

export async function listDomains(tx: ReadTx, call: OwnerCall, input: Input<'domains.list'>): Promise<Output<'domains.list'>> {
  const application = await accessApplication(tx, call.actor, input.applicationId);
  const { page, ...counts } = pageOf(await tx.tables.applications.domains(application.id), input);
  return { domains: page.map(presentDomain), ...counts };
}
