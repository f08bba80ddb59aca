// Organizations: made and removed by the server's owner; name, plan, limits and figures
// also by their admins.
import { randomBytes } from 'node:crypto';
import type { Input, Output } from '../../protocol/operations.ts';
import { organizationSlug } from '../../protocol/operations/shared.ts';
import type { Mode, Plan } from '../../protocol/entities.ts';
import type { OrganizationRow, RetentionCursor } from '../../engine/rows.ts';
import { accessOrganization } from '../core/access.ts';
import { audit } from '../core/audit.ts';
import { readEscalation, storedEscalation } from '../notifications/escalation-steps.ts';
import { badField, ServiceError } from '../core/errors.ts';
import { demandsSecondFactor } from '../auth/second-factor-demand.ts';
import { assertOwnLimits, assertOwnRetention, isRetentionWithin, organizationQuotas } from './quotas.ts';
import { isoTime, serializeOrganization } from '../core/serializers.ts';
import { readSlice } from '../core/slices.ts';
import type { OwnerCall, ReadTx, Tx } from '../service.ts';

/** @throws ServiceError bad_request (slug), conflict (slug taken) */
export async function createOrganization(
  tx: Tx,
  call: OwnerCall,
  input: Input<'organizations.create'>,
): Promise<Output<'organizations.create'>> {
  const slug = input.slug ?? slugify(input.name);
  const checked = organizationSlug.safeParse(slug);
  if (!checked.success) throw badField('slug', checked.error.issues[0]?.message ?? 'is no slug');
  if ((await tx.repositories.organizations.bySlug(slug)) !== undefined)
    throw new ServiceError(
      'conflict',
      `There is an organization ${slug} already. Choose another slug: --slug S`,
    );
  const { clock } = call.service.engine;
  const now = clock.now();
  const row: OrganizationRow = {
    id: clock.newId(),
    slug,
    name: input.name,
    plan: 'free',
    requests_per_minute: null,
    retention_days: null,
    own_retention_days: null,
    max_applications: null,
    max_seats: null,
    max_file_bytes: null,
    release_after_minutes: null,
    second_factor: 'off',
    escalation: '[]',
    plan_changed_at: now,
    created_at: now,
  };
  await tx.repositories.organizations.insert(row);
  tx.configurationChanged(row.id);
  await audit(tx, call, {
    organizationId: row.id,
    action: 'organizations.create',
    subject: `organization:${row.id}`,
    detail: { slug },
  });
  return serializeOrganization(row);
}

function slugify(name: string): string {
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

async function serializeOrganizationDetail(
  tx: ReadTx,
  row: OrganizationRow,
): Promise<Output<'organizations.get'>> {
  const counts = await tx.repositories.organizations.counts(row.id);
  const retentionDays = row.own_retention_days ?? row.retention_days;
  return {
    ...serializeOrganization(row),
    limits: organizationQuotas(row),
    ownLimits: {
      requestsPerMinute: row.requests_per_minute,
      retentionDays: retentionDays !== null && retentionDays < 0 ? 'unlimited' : retentionDays,
      applications: row.max_applications,
      seats: row.max_seats,
      fileBytes: row.max_file_bytes,
    },
    releaseAfterMinutes: row.release_after_minutes,
    signIn: { secondFactor: row.second_factor },
    escalation: readEscalation(row),
    applications: counts.applications,
    members: counts.members,
    createdAt: isoTime(row.created_at),
  };
}

export async function listOrganizations(tx: ReadTx): Promise<Output<'organizations.list'>> {
  const organizations = [];
  for (const row of await tx.repositories.organizations.list())
    organizations.push(await serializeOrganizationDetail(tx, row));
  return { organizations };
}

/** @throws ServiceError not_found */
export async function getOrganization(
  tx: ReadTx,
  call: OwnerCall,
  input: Input<'organizations.get'>,
): Promise<Output<'organizations.get'>> {
  return serializeOrganizationDetail(tx, await accessOrganization(tx, call.actor, input.organization));
}

/** Whether the caller sets plans and limits: the owner of the server does, and lets tenants do so by a setting. */
function setsPlans({ actor, service }: OwnerCall): boolean {
  return actor.kind === 'local' || service.settings.selfServicePlans;
}

/** A tenant does not grant itself what others pay for; it may keep its data for a shorter time. */
function assertOwnerSetsPlans(call: OwnerCall, input: Input<'organizations.update'>): void {
  if (setsPlans(call)) return;
  const { retentionDays: _own, ...granted } = input.limits ?? {};
  if (input.plan === undefined && Object.values(granted).every((value) => value === undefined)) return;
  throw new ServiceError(
    'forbidden',
    "The plan and its limits are set by the server's owner, with deskbell org plan and deskbell org limits.",
  );
}

/** Conversations and messages that one query looks at, and what it counts in a slice. */
const usagePage = 100;
const usageMessages = 500;
const usageRows = 4;

/** The columns that an update may change, and what the audit log calls them. */
const auditedColumns = [
  ['name', 'name'],
  ['plan', 'plan'],
  ['requests_per_minute', 'requestsPerMinute'],
  ['retention_days', 'retentionDays'],
  ['own_retention_days', 'ownRetentionDays'],
  ['max_applications', 'applications'],
  ['max_seats', 'seats'],
  ['max_file_bytes', 'fileBytes'],
  ['release_after_minutes', 'releaseAfterMinutes'],
  ['second_factor', 'secondFactor'],
  ['escalation', 'escalation'],
] as const satisfies readonly (readonly [keyof OrganizationRow, string])[];

/**
 * Changes any of name, plan, own limits and the release of an absent operator's conversations at once. Of the limits
 * what is left out stays, and null goes back to the plan's; a change to another plan than enterprise takes all back but a
 * retention that is shorter than the new plan's.
 * @throws ServiceError not_found; forbidden for a plan or limits that the server's owner sets; plan_limit for limits of its
 *   own beyond another plan than enterprise; conflict where the caller would lock themselves out
 */
export async function updateOrganization(
  tx: Tx,
  call: OwnerCall,
  input: Input<'organizations.update'>,
): Promise<Output<'organizations.update'>> {
  const row = await accessOrganization(tx, call.actor, input.organization);
  assertOwnerSetsPlans(call, input);
  const {
    limits,
    name = row.name,
    plan = row.plan,
    releaseAfterMinutes = row.release_after_minutes,
    signIn,
    escalation,
  } = input;
  const kept = plan === row.plan || plan === 'enterprise' ? row : withoutOwnLimits(plan, row);
  const grants = setsPlans(call);
  if (grants) assertOwnLimits(row, plan, limits);
  else assertOwnRetention({ ...kept, plan }, limits?.retentionDays);
  const updated: OrganizationRow = {
    ...row,
    ...ownLimits(kept, grants, limits),
    name,
    plan,
    plan_changed_at: plan === row.plan ? row.plan_changed_at : call.service.engine.clock.now(),
    release_after_minutes: releaseAfterMinutes,
    second_factor: signIn?.secondFactor ?? row.second_factor,
    escalation: escalation === undefined ? row.escalation : await storedEscalation(tx, row, escalation),
  };
  await assertNotLockingOut(tx, call, updated);
  const changes = auditedColumns.filter(([column]) => updated[column] !== row[column]);
  if (changes.length > 0) {
    const { organizations } = tx.repositories;
    await organizations.setName(row.id, name);
    await organizations.setPlan(updated);
    await organizations.setLimits(updated);
    await organizations.setReleaseAfter(row.id, releaseAfterMinutes);
    await organizations.setSecondFactor(row.id, updated.second_factor);
    await organizations.setEscalation(row.id, updated.escalation);
    tx.configurationChanged(row.id);
    await audit(tx, call, {
      organizationId: row.id,
      action: 'organizations.update',
      subject: `organization:${row.id}`,
      detail: {
        fields: changes.map(([, field]) => field).join(','),
        ...Object.fromEntries(changes.map(([column, field]) => [field, updated[column]])),
        ...(plan === row.plan ? {} : { previousPlan: row.plan }),
      },
    });
  }
  return serializeOrganizationDetail(tx, updated);
}

/**
 * Who demands a second factor of all admins must have shown one: the demand ends every session without.
 * @throws ServiceError conflict
 */
async function assertNotLockingOut(
  tx: ReadTx,
  { actor }: OwnerCall,
  updated: OrganizationRow,
): Promise<void> {
  if (actor.kind !== 'member' || !demandsSecondFactor(updated, actor)) return;
  const session = await tx.repositories.members.sessionById(actor.sessionId);
  if (session?.second_factor !== 1)
    throw new ServiceError(
      'conflict',
      'Set up your own second factor first: deskbell second-factor enable. Without one you would be signed out.',
    );
}

/** An organization that changes to another plan than enterprise: its own limits were of the plan that it leaves. */
function withoutOwnLimits(plan: Plan, row: OrganizationRow): OrganizationRow {
  return {
    ...row,
    ...noOwnLimits,
    retention_days: isRetentionWithin(plan, row.retention_days) ? row.retention_days : null,
    own_retention_days: isRetentionWithin(plan, row.own_retention_days) ? row.own_retention_days : null,
  };
}

type OwnLimits = Pick<
  OrganizationRow,
  | 'requests_per_minute'
  | 'retention_days'
  | 'own_retention_days'
  | 'max_applications'
  | 'max_seats'
  | 'max_file_bytes'
>;

const noOwnLimits: OwnLimits = {
  requests_per_minute: null,
  retention_days: null,
  own_retention_days: null,
  max_applications: null,
  max_seats: null,
  max_file_bytes: null,
};

/** @param grants whether the retention is what the tenant may have at most, or what it wants of that */
function ownLimits(
  row: OrganizationRow,
  grants: boolean,
  limits: Input<'organizations.update'>['limits'] = {},
): OwnLimits {
  const {
    requestsPerMinute = row.requests_per_minute,
    retentionDays,
    applications = row.max_applications,
    seats = row.max_seats,
    fileBytes = row.max_file_bytes,
  } = limits;
  return {
    requests_per_minute: requestsPerMinute,
    ...ownRetention(row, retentionDays === 'unlimited' ? -1 : retentionDays, grants),
    max_applications: applications,
    max_seats: seats,
    max_file_bytes: fileBytes,
  };
}

function ownRetention(
  { retention_days, own_retention_days }: OrganizationRow,
  days: number | null | undefined,
  grants: boolean,
): Pick<OwnLimits, 'retention_days' | 'own_retention_days'> {
  if (days === undefined) return { retention_days, own_retention_days };
  return grants
    ? { retention_days: days, own_retention_days: null }
    : { retention_days, own_retention_days: days };
}

/** What was used since the first of the month, UTC: owners bill by it. */
export async function organizationUsage(
  call: OwnerCall,
  input: Input<'organizations.usage'>,
): Promise<Output<'organizations.usage'>> {
  const { store, clock } = call.service.engine;
  const row = await store.read((tx) => accessOrganization(tx, call.actor, input.organization));
  const now = clock.now();
  const today = new Date(now);
  const from = Date.UTC(today.getUTCFullYear(), today.getUTCMonth(), 1);
  const used: Usage = { conversations: 0, messages: 0, storage: 0, visitors: new Set() };
  for (const mode of ['live', 'test'] as const) await addUsage(call, row.id, mode, from, now + 1, used);
  const { counts, totals } = await store.read(async ({ repositories }) => ({
    counts: await repositories.organizations.counts(row.id),
    totals: await repositories.files.totals(row.id),
  }));
  return {
    organizationId: row.id,
    from: isoTime(from),
    to: isoTime(now),
    conversations: used.conversations,
    messages: used.messages,
    visitors: used.visitors.size,
    seats: counts.members,
    storageBytes: used.storage,
    files: totals.files,
    fileBytes: totals.bytes,
  };
}

interface Usage {
  conversations: number;
  messages: number;
  storage: number;
  readonly visitors: Set<string>;
}

/** In slices: an organization has any number of conversations, and a conversation any number of messages. */
async function addUsage(
  call: OwnerCall,
  organizationId: string,
  mode: Mode,
  from: number,
  to: number,
  used: Usage,
): Promise<void> {
  // Test data counts for nothing but its storage.
  const live = mode === 'live';
  let cursor: RetentionCursor = { created_at: -1, id: '' };
  let after = 0;
  let left = true;
  while (left)
    left = await readSlice(call, organizationId, async ({ repositories: { organizations } }, full) => {
      const page = await organizations.conversations(organizationId, mode, cursor, usagePage);
      for (const one of page) {
        for (;;) {
          const some = await organizations.messageUsage(one.id, from, to, after, usageMessages);
          used.storage += some.storage;
          if (live) used.messages += some.messages;
          if (live && some.messages > 0) used.visitors.add(one.visitor_key);
          if (some.last === null) break;
          after = some.last;
          // The walk has not passed this conversation yet: the next slice goes on in it.
          if (full(usageRows)) return true;
        }
        if (live && one.created_at >= from && one.created_at < to) used.conversations += 1;
        cursor = one;
        after = 0;
      }
      return page.length === usagePage;
    });
}
