// Retention: what is older than an organization keeps goes, in small steps and for
// good. Must never act on a clock that has jumped.
//
// The rule. The window is the organization's retention; for test data 7 days, or less where the organization keeps less.
// - A message goes when it is older than the window, whatever its conversation's status.
// - A conversation goes once nothing in it is younger than the window, open ones too: none of its text is left to
//   answer, and its subject must not outlive it. An open one with anything younger stays, without its oldest messages.
// - A visitor goes when they were first seen before the window, and none of their conversations and questions stays.
// - What the assistant was asked and answered goes when it is older than the window; with its conversation or visitor, earlier.
// - What stays keeps its numbers: `seq`, read positions and the log go on as if nothing had been removed.
// - For 7 days after a change of plan nothing live goes. Where more than half of an organization's live conversations
//   would go at once, they wait for a confirmation (`force`): a clock that has jumped looks just like that.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Output } from '../../protocol/operations.ts';
import type { OrganizationRow, RetentionCursor, RetentionScope } from '../../engine/rows.ts';
import { purgeAudit } from './audit-retention.ts';
import { audit } from '../core/audit.ts';
import { throwFirst, tryEach } from '../core/each.ts';
import { ServiceError } from '../core/errors.ts';
import { removeDueBytes } from '../files/file-job.ts';
import { organizationQuotas } from '../tenants/quotas.ts';
import { isoTime } from '../core/serializers.ts';
import {
  removeInSlices,
  walkLogInSlices,
  writeSlice,
  type SliceBudget,
  type SliceOwner,
} from '../core/slices.ts';
import { removeWebhookDeliveries } from '../webhooks/webhooks.ts';
import { removeDocumentPassages } from '../assistant/knowledge/documents.ts';
import type { Call, Service, Tx } from '../service.ts';

type Report = Output<'retention.purge'>;
type Organization = Report['organizations'][number];
type Counts = Report['total'];

const dayMs = 86_400_000;
const testRetentionDays = 7;
const planChangeGraceMs = 7 * dayMs;
/** Before the first row of a walk. */
const startCursor: RetentionCursor = { created_at: -1, id: '' };
/** How long copies of the database made before a change of its schema or a restore stay. */
export const copyRetentionMs = 30 * dayMs;
/** A clock that is further behind the newest row than this is wrong. */
const maxClockSkewMs = dayMs;
/** Removed by one statement: a message takes its words out of the index, which is the better part of a millisecond. */
const batchRows = 10;
/** Removed of the assistant's log by one slice. */
const restRows = 400;
const countedRows = 1_000;
const pageSize = 100;

export interface PurgeOptions {
  /** Only counts. */
  readonly dryRun?: boolean;
  /** Also removes where more than half would go. */
  readonly force?: boolean;
  /** Asked between steps; once true, the purge ends where it is. The next one goes on. */
  readonly stopped?: () => boolean;
}

/**
 * Removes what is older than each organization keeps, and copies of the database older than 30 days. May be cut off
 * anywhere: the next run goes on.
 * @param call who asked, for the audit log; the server's own hourly run leaves a row only where something is held
 * @throws ServiceError conflict when this machine's clock is behind what is stored; what the first organization failed
 * with, once all others are done
 */
export async function purge(service: Service, options: PurgeOptions = {}, call?: Call): Promise<Report> {
  const { store, maintenance, clock } = service.engine;
  const now = clock.now();
  await assertClockNotBehind(service, now);
  const organizations: Organization[] = [];
  const total = zeroCounts();
  const rows = await store.read(({ repositories }) => repositories.organizations.list());
  const problems = await tryEach(rows, async (row) => {
    const one = await purgeOrganization(service, row, now, options, call);
    organizations.push(one);
    if (one.state === 'purged') addCounts(total, one.live);
    addCounts(total, one.test);
    if (options.dryRun !== true) await auditPurge(service, call, one);
  });
  const expiredBackups =
    options.dryRun === true
      ? (await maintenance.copies()).filter(({ madeAt }) => madeAt < now - copyRetentionMs).length
      : await maintenance.removeCopies(now - copyRetentionMs);
  const oldAudit = await purgeAudit(service, now, options);
  if (options.dryRun !== true) await removeDueBytes(service, options.stopped);
  // Not only after removals: an earlier one may have found a reader in its way.
  if (options.dryRun !== true) await maintenance.clearRemoved();
  throwFirst(problems);
  return { dryRun: options.dryRun === true, organizations, total, audit: oldAudit, expiredBackups };
}

async function assertClockNotBehind(service: Service, now: number): Promise<void> {
  const newest = await service.engine.store.read(({ repositories }) => repositories.retention.newestTime());
  if (newest === null || newest <= now + maxClockSkewMs) return;
  throw new ServiceError(
    'conflict',
    `This machine's clock says ${isoTime(now)}, but the newest row is from ${isoTime(newest)}. Set the clock right; nothing was removed.`,
  );
}

async function purgeOrganization(
  service: Service,
  row: OrganizationRow,
  now: number,
  options: PurgeOptions,
  call: Call | undefined,
): Promise<Organization> {
  const { retentionDays } = organizationQuotas(row);
  const testDays = Math.min(testRetentionDays, retentionDays ?? testRetentionDays);
  const whole = { organization_id: row.id, application_id: null };
  const testScope: RetentionScope = { ...whole, mode: 'test', cutoff: now - testDays * dayMs };
  const test =
    options.dryRun === true
      ? await countExpired(service, testScope, options)
      : await removeExpired(service, testScope, options);
  const base = { id: row.id, slug: row.slug, retentionDays, test };
  if (retentionDays === null) return { ...base, state: 'kept', live: zeroCounts() };
  if (now - row.plan_changed_at < planChangeGraceMs && row.plan_changed_at !== row.created_at)
    return { ...base, state: 'grace', live: zeroCounts() };
  const scope: RetentionScope = {
    ...whole,
    mode: 'live',
    cutoff: now - retentionDays * dayMs,
  };
  const due = await countExpired(service, scope, options);
  if (due.conversations + due.messages + due.visitors === 0) {
    if (options.dryRun !== true) await removeExpiredRest(service, scope, options);
    return { ...base, state: 'kept', live: due };
  }
  const have = await service.engine.store.read(({ repositories }) =>
    repositories.retention.countConversations(row.id, 'live'),
  );
  const isGuarded = due.conversations * 2 > have;
  if (options.force !== true && isGuarded) return { ...base, state: 'held', live: due };
  // Who said yes to it is known also where it is cut off.
  if (options.dryRun !== true && isGuarded && call !== undefined)
    await service.engine.store.write({ organization: row.id, removes: true }, (tx) =>
      audit(tx, call, {
        organizationId: row.id,
        action: 'retention.purgeBegun',
        subject: `organization:${row.id}`,
        detail: { ...due },
      }),
    );
  return {
    ...base,
    state: 'purged',
    live: options.dryRun === true ? due : await removeExpired(service, scope, options),
  };
}

/**
 * Removes in small steps what an organization that is going owns, or one that an import has not completed.
 * @returns the number up to which the event log holds none of its events
 */
export async function removeOrganizationData(service: SliceOwner, id: string): Promise<number> {
  const scope = { organization: id };
  await removeAllData(service, { organization_id: id, application_id: null });
  for (const application of await service.engine.store.read(({ repositories }) =>
    repositories.applications.everyOf(id),
  ))
    await removeDocuments(service, id, application.id);
  await removeAllDeliveries(service, id);
  await removeInSlices(service, scope, ({ repositories }, most) =>
    repositories.effects.removeOfOrganization(id, most),
  );
  await removeInSlices(service, scope, ({ repositories }, most) =>
    repositories.audit.removeOfOrganization(id, most),
  );
  return walkLogInSlices(service, scope, ({ repositories }, after, through) =>
    repositories.events.removeOfOrganization(id, after, through),
  );
}

async function removeAllDeliveries(service: SliceOwner, organizationId: string): Promise<void> {
  const webhooks = await service.engine.store.read(({ repositories }) =>
    repositories.webhooks.byOrganization(organizationId, Number.MAX_SAFE_INTEGER, 0),
  );
  for (const webhook of webhooks) await removeWebhookDeliveries(service, webhook);
}

/** The same for an application. */
export async function removeApplicationData(
  service: SliceOwner,
  { id, organizationId }: { readonly id: string; readonly organizationId: string },
): Promise<void> {
  await removeAllData(service, { organization_id: organizationId, application_id: id });
  await removeDocuments(service, organizationId, id);
}

async function removeAllData(
  service: SliceOwner,
  whose: Pick<RetentionScope, 'organization_id' | 'application_id'>,
): Promise<void> {
  for (const mode of ['live', 'test'] as const)
    await removeExpired(service, { ...whose, mode, cutoff: Number.MAX_SAFE_INTEGER }, {});
}

/** Removes an application's documents, one at a time. */
async function removeDocuments(
  service: SliceOwner,
  organizationId: string,
  applicationId: string,
): Promise<void> {
  for (;;) {
    const [document] = await service.engine.store.read(({ repositories }) =>
      repositories.knowledge.list(organizationId, applicationId, 1, 0),
    );
    if (document === undefined) return;
    await removeDocumentPassages(service, document);
    await writeSlice(service, { organization: organizationId, removes: true }, ({ repositories }) =>
      repositories.knowledge.remove(document.id),
    );
  }
}

/** Counts page by page, so that the loop stays free between them. */
async function countExpired(
  service: Service,
  scope: RetentionScope,
  { stopped }: PurgeOptions,
): Promise<Counts> {
  const { store } = service.engine;
  const counts = zeroCounts();
  await forEachPage(
    (cursor) => store.read(({ repositories }) => repositories.retention.candidates(scope, cursor, pageSize)),
    async (one) => {
      counts.messages += await countOldMessages(service, one.id, scope.cutoff);
      counts.conversations += one.goes;
    },
    stopped,
  );
  await forEachPage(
    (cursor) => store.read(({ repositories }) => repositories.retention.visitors(scope, cursor, pageSize)),
    (one) => {
      counts.visitors += one.goes;
    },
    stopped,
  );
  return counts;
}

async function forEachPage<R extends RetentionCursor>(
  page: (cursor: RetentionCursor) => Promise<R[]>,
  look: (row: R) => void | Promise<void>,
  stopped: (() => boolean) | undefined,
): Promise<void> {
  let cursor = startCursor;
  while (stopped?.() !== true) {
    const rows = await page(cursor);
    for (const row of rows) await look(row);
    const last = rows.at(-1);
    if (last === undefined || rows.length < pageSize) return;
    cursor = last;
    await sleep(0);
  }
}

/** Slice by slice, so that a conversation of any length blocks no one. */
async function countOldMessages(
  { engine: { store } }: Service,
  conversationId: string,
  cutoff: number,
): Promise<number> {
  let count = 0;
  for (let after = 0; ;) {
    const from = after;
    const slice = await store.read(({ repositories }) =>
      repositories.retention.oldMessages(conversationId, cutoff, from, countedRows),
    );
    count += slice.old;
    if (slice.last === null || slice.old === 0) return count;
    after = slice.last;
    await sleep(0);
  }
}

interface Step {
  readonly cursor: RetentionCursor;
  readonly over: boolean;
  readonly removed: Readonly<Counts>;
}

async function removeExpired(
  service: SliceOwner,
  scope: RetentionScope,
  options: PurgeOptions,
): Promise<Counts> {
  const counts = zeroCounts();
  await removeExpiredRest(service, scope, options);
  for (const step of [purgeConversations, purgeVisitors]) {
    let cursor = startCursor;
    while (options.stopped?.() !== true) {
      const from = cursor;
      const done = await writeSlice(
        service,
        { organization: scope.organization_id, removes: true },
        (tx, full) => step(tx, full, scope, from),
        'background',
      );
      addCounts(counts, done.removed);
      if (done.over) break;
      cursor = done.cursor;
    }
  }
  return counts;
}

/** Removes old rows of the assistant's log and old drafts, which no figure counts. */
async function removeExpiredRest(
  service: SliceOwner,
  scope: RetentionScope,
  { stopped }: PurgeOptions,
): Promise<void> {
  for (;;) {
    const removed = await writeSlice(
      service,
      { organization: scope.organization_id, removes: true },
      ({ repositories }) => repositories.aiLog.removeOld(scope, restRows),
      'background',
    );
    if (stopped?.() === true) return;
    if (removed < restRows) break;
  }
  for (;;) {
    const removed = await writeSlice(
      service,
      { organization: scope.organization_id, removes: true },
      ({ repositories }) => repositories.drafts.removeOld(scope, restRows),
      'background',
    );
    if (removed < restRows || stopped?.() === true) return;
  }
}

/** Removes old messages, and conversations that are silent, from where the walk stands until the step is full. */
async function purgeConversations(
  tx: Tx,
  full: SliceBudget,
  scope: RetentionScope,
  from: RetentionCursor,
): Promise<Step> {
  const { retention } = tx.repositories;
  const removed = zeroCounts();
  const page = await retention.candidates(scope, from, pageSize);
  let cursor = from;
  for (const one of page) {
    for (let after = 0; ;) {
      const slice = await retention.oldMessages(one.id, scope.cutoff, after, batchRows);
      // Numbers follow time: what comes after a slice without an old message is younger.
      if (slice.last === null || slice.old === 0) break;
      removed.messages += await retention.removeMessages(one.id, scope.cutoff, after, slice.last);
      after = slice.last;
      // The walk has not passed this conversation yet: the next step begins with it.
      if (full(slice.old)) return { cursor, over: false, removed };
    }
    if (one.goes === 1 && (await removeSomeDeliveries(tx, full, one.id)))
      return { cursor, over: false, removed };
    if (one.goes === 1) removed.conversations += await retention.removeConversation(one.id, scope.cutoff);
    cursor = one;
    if (full(1)) return { cursor, over: false, removed };
  }
  return { cursor, over: page.length < pageSize, removed };
}

/** @returns whether the slice is full before all are removed */
async function removeSomeDeliveries(
  { repositories: { effects, webhooks } }: Tx,
  full: SliceBudget,
  conversationId: string,
): Promise<boolean> {
  for (;;) {
    const removed =
      (await webhooks.removeDeliveriesOfConversation(conversationId, batchRows)) +
      (await effects.removeOfConversation(conversationId, batchRows));
    if (removed < batchRows) return false;
    if (full(removed)) return true;
  }
}

async function purgeVisitors(
  tx: Tx,
  full: SliceBudget,
  scope: RetentionScope,
  from: RetentionCursor,
): Promise<Step> {
  const removed = zeroCounts();
  const page = await tx.repositories.retention.visitors(scope, from, pageSize);
  let cursor = from;
  for (const one of page) {
    if (one.goes === 1) removed.visitors += await tx.repositories.retention.removeVisitor(one.id);
    cursor = one;
    if (full(1)) return { cursor, over: false, removed };
  }
  return { cursor, over: page.length < pageSize, removed };
}

/** A purge by hand is a row of the audit log, and so is one that waits, once a day. */
async function auditPurge(
  service: Service,
  call: Call | undefined,
  { id, state, live, test }: Organization,
): Promise<void> {
  const { store, clock } = service.engine;
  const caller: Call = call ?? { service, actor: { kind: 'local' }, address: null, contentLimit: 0 };
  const subject = `organization:${id}`;
  const removed = state === 'purged' ? live.messages + live.conversations + live.visitors : 0;
  const action = state === 'held' ? 'retention.held' : 'retention.purge';
  if (
    state !== 'held' &&
    (call === undefined || removed + test.messages + test.conversations + test.visitors === 0)
  )
    return;
  await store.write({ organization: id, removes: true }, async (tx) => {
    if (state === 'held' && (await tx.repositories.audit.has(id, action, clock.now() - dayMs))) return;
    const detail = {
      ...live,
      testConversations: test.conversations,
      testMessages: test.messages,
      testVisitors: test.visitors,
    };
    await audit(tx, caller, { organizationId: id, action, subject, detail });
  });
}

function zeroCounts(): Counts {
  return { conversations: 0, messages: 0, visitors: 0 };
}

function addCounts(to: Counts, more: Counts): void {
  to.conversations += more.conversations;
  to.messages += more.messages;
  to.visitors += more.visitors;
}
