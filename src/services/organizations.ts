// The rules of organizations: made and removed by the server's owner; plan, limits
// and figures also by their admins.
import { randomBytes } from 'node:crypto';
import type { Input, Output } from '../protocol/operations.ts';
import type { OrganizationRow } from '../engine/rows.ts';
import { accessOrganization } from './access.ts';
import { audit } from './audit.ts';
import { badField, Failure } from './failure.ts';
import { organizationLimits } from './plans.ts';
import { isoTime, presentOrganization } from './present.ts';
import type { OwnerCall, ReadTx, Tx } from './service.ts';

const slugForm = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;

/** @throws Failure bad_request (slug), conflict (slug taken) */
export async function createOrganization(
  tx: Tx,
  call: OwnerCall,
  input: Input<'organizations.create'>,
): Promise<Output<'organizations.create'>> {
  const slug = input.slug ?? slugFrom(input.name);
  if (!slugForm.test(slug)) throw badField('slug', 'must be 1 to 63 of a-z, 0-9 and hyphens, and begin and end with a letter or digit');
  if ((await tx.tables.organizations.bySlug(slug)) !== undefined)
    throw new Failure('conflict', `There is an organization ${slug} already. Choose another slug: --slug S`);
  const { clock } = call.service.engine;
  const now = clock.now();
  const row: OrganizationRow = {
    id: clock.newId(),
    slug,
    name: input.name,
    plan: 'free',
    requests_per_minute: null,
    retention_days: null,
    max_applications: null,
    max_seats: null,
    release_after_minutes: null,
    plan_changed_at: now,
    created_at: now,
  };
  await tx.tables.organizations.insert(row);
  tx.configurationChanged();
  await audit(tx, call, { organizationId: row.id, action: 'organizations.create', subject: `organization:${row.id}`, detail: { slug } });
  return presentOrganization(row);
}

function slugFrom(name: string): string {
  const slug = name
    .normalize('NFKD')
    .toLowerCase()
    .replace(/\p{M}+/gu, '')
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, 63)
    .replace(/^-+|-+$/g, '');
  // A name in another script leaves nothing: the owner can still see which one it is by its name.
  return slug === '' ? `org-${randomBytes(4).toString('hex')}` : slug;
}

async function presentDetail(tx: ReadTx, row: OrganizationRow): Promise<Output<'organizations.get'>> {
  const counts = await tx.tables.organizations.counts(row.id);
  return {
    ...presentOrganization(row),
    limits: organizationLimits(row),
    ownLimits: {
      requestsPerMinute: row.requests_per_minute,
      retentionDays: row.retention_days !== null && row.retention_days < 0 ? 'unlimited' : row.retention_days,
      applications: row.max_applications,
      seats: row.max_seats,
    },
    releaseAfterMinutes: row.release_after_minutes,
    applications: counts.applications,
    members: counts.members,
    createdAt: isoTime(row.created_at),
  };
}

export async function listOrganizations(tx: ReadTx): Promise<Output<'organizations.list'>> {
  const organizations = [];
  for (const row of await tx.tables.organizations.list()) organizations.push(await presentDetail(tx, row));
  return { organizations };
}

/** @throws Failure not_found */
export async function getOrganization(
  tx: ReadTx,
  call: OwnerCall,
  input: Input<'organizations.get'>,
): Promise<Output<'organizations.get'>> {
  return presentDetail(tx, await accessOrganization(tx, call.actor, input.organization));
}

/** @throws Failure not_found */
export async function setPlan(tx: Tx, call: OwnerCall, input: Input<'organizations.setPlan'>): Promise<Output<'organizations.setPlan'>> {
  const row = await accessOrganization(tx, call.actor, input.organization);
  const changed = {
    ...row,
    plan: input.plan,
    plan_changed_at: input.plan === row.plan ? row.plan_changed_at : call.service.engine.clock.now(),
  };
  await tx.tables.organizations.setPlan(changed);
  tx.configurationChanged();
  await audit(tx, call, {
    organizationId: row.id,
    action: 'organizations.setPlan',
    subject: `organization:${row.id}`,
    detail: { from: row.plan, to: input.plan },
  });
  return presentDetail(tx, changed);
}

/**
 * Sets an organization's own numbers; what is left out stays, null goes back to the plan's.
 * @throws Failure not_found; plan_limit unless the plan is enterprise
 */
export async function setLimits(
  tx: Tx,
  call: OwnerCall,
  input: Input<'organizations.setLimits'>,
): Promise<Output<'organizations.setLimits'>> {
  const row = await accessOrganization(tx, call.actor, input.organization);
  if (row.plan !== 'enterprise')
    throw new Failure('plan_limit', `Only the enterprise plan sets its own limits: deskbell org plan ${row.slug} enterprise`);
  const changed: OrganizationRow = {
    ...row,
    requests_per_minute: input.requestsPerMinute === undefined ? row.requests_per_minute : input.requestsPerMinute,
    retention_days: input.retentionDays === undefined ? row.retention_days : input.retentionDays === 'unlimited' ? -1 : input.retentionDays,
    max_applications: input.applications === undefined ? row.max_applications : input.applications,
    max_seats: input.seats === undefined ? row.max_seats : input.seats,
  };
  await tx.tables.organizations.setLimits(changed);
  tx.configurationChanged();
  await audit(tx, call, {
    organizationId: row.id,
    action: 'organizations.setLimits',
    subject: `organization:${row.id}`,
    detail: {
      requestsPerMinute: changed.requests_per_minute,
      retentionDays: changed.retention_days,
      applications: changed.max_applications,
      seats: changed.max_seats,
    },
  });
  return presentDetail(tx, changed);
}

/**
 * Changes any of name, plan, limits and the release of an absent operator's conversations at once.
 * @throws Failure not_found, plan_limit
 */
export async function updateOrganization(
  tx: Tx,
  call: OwnerCall,
  input: Input<'organizations.update'>,
): Promise<Output<'organizations.update'>> {
  const row = await accessOrganization(tx, call.actor, input.organization);
  const { organization } = input;
  if (input.name !== undefined) await tx.tables.organizations.setName(row.id, input.name);
  if (input.releaseAfterMinutes !== undefined) await tx.tables.organizations.setReleaseAfter(row.id, input.releaseAfterMinutes);
  if (input.plan !== undefined) await setPlan(tx, call, { organization, plan: input.plan });
  if (input.limits !== undefined) await setLimits(tx, call, { organization, ...input.limits });
  tx.configurationChanged();
  await audit(tx, call, {
    organizationId: row.id,
    action: 'organizations.update',
    subject: `organization:${row.id}`,
    detail: { fields: Object.keys(input).join(',') },
  });
  return getOrganization(tx, call, { organization });
}

/** What was used since the first of the month, UTC: owners bill by it. */
export async function organizationUsage(
  tx: ReadTx,
  call: OwnerCall,
  input: Input<'organizations.usage'>,
): Promise<Output<'organizations.usage'>> {
  const row = await accessOrganization(tx, call.actor, input.organization);
  const now = call.service.engine.clock.now();
  const today = new Date(now);
  const from = Date.UTC(today.getUTCFullYear(), today.getUTCMonth(), 1);
  const used = await tx.tables.organizations.usage(row.id, from, now + 1);
  const counts = await tx.tables.organizations.counts(row.id);
  return {
    organizationId: row.id,
    from: isoTime(from),
    to: isoTime(now),
    conversations: used.conversations,
    messages: used.messages,
    visitors: used.visitors,
    seats: counts.members,
    storageBytes: used.storage,
  };
}

/** Removes an organization and everything that it owns. */
export async function deleteOrganization(tx: Tx, call: OwnerCall, input: Input<'organizations.delete'>): Promise<{ success: true }> {
  const row = await accessOrganization(tx, call.actor, input.organization);
  await tx.tables.organizations.remove(row.id);
  tx.configurationChanged();
  await audit(tx, call, { organizationId: null, action: 'organizations.delete', subject: `organization:${row.id}` });
  return { success: true };
}
