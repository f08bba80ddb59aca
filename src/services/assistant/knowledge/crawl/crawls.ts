// Crawls of a site that admins begin, follow and cancel. A crawl is a row: crawl-job.ts runs it, and what has become of
// it can be read at any time. Must not read a page.
import { crawlProblems, type Crawl } from '../../../../protocol/assistant.ts';
import { crawlLimits } from '../../../../protocol/codes.ts';
import type { Input, Output } from '../../../../protocol/operations.ts';
import type { CrawlRow } from '../../../../engine/rows.ts';
import { createSsrfGuard } from '../../../../net/ssrf-guard.ts';
import { assertPlanHasAi } from '../../../tenants/applications.ts';
import { accessApplication, accessCrawl, accessOrganization } from '../../../core/access.ts';
import { audit } from '../../../core/audit.ts';
import { badField, ServiceError } from '../../../core/errors.ts';
import { isoTime } from '../../../core/serializers.ts';
import type { OwnerCall, ReadTx, Tx } from '../../../service.ts';
import { normalizePageUrl } from './page-url.ts';

/**
 * Puts a crawl in the queue of the server; it begins as soon as it is its organization's turn.
 * @throws ServiceError not_found, plan_limit, bad_request (the address), conflict: one is under way already
 */
export async function beginCrawl(
  tx: Tx,
  call: OwnerCall,
  input: Input<'knowledge.crawl'>,
): Promise<Output<'knowledge.crawl'>> {
  const { service } = call;
  const application = await accessApplication(tx, call.actor, input.applicationId);
  await assertPlanHasAi(tx, application.organization_id);
  const url = siteAddress(call, input.url);
  const { crawls } = tx.repositories;
  const active = await crawls.active(application.organization_id);
  if (active.some(({ application_id: other }) => other === application.id))
    throw new ServiceError(
      'conflict',
      'A crawl for this application is under way. Wait until it has ended, or cancel it.',
    );
  if (active.length >= crawlLimits.active)
    throw new ServiceError(
      'conflict',
      `At most ${crawlLimits.active} crawls of an organization are under way. Wait until one has ended.`,
    );
  const { clock } = service.engine;
  const row: CrawlRow = {
    id: clock.newId(),
    organization_id: application.organization_id,
    application_id: application.id,
    url,
    max_pages: input.maxPages,
    depth: input.depth,
    below: input.below ? 1 : 0,
    prune: input.prune ? 1 : 0,
    status: 'waiting',
    problem: null,
    pages: 0,
    added: 0,
    updated: 0,
    unchanged: 0,
    skipped: 0,
    failed: 0,
    removed: 0,
    remaining: null,
    problems: '[]',
    created_at: clock.now(),
    started_at: null,
    ended_at: null,
  };
  await crawls.insert(row);
  await crawls.removeOld(application.id, crawlLimits.kept);
  await audit(tx, call, {
    organizationId: row.organization_id,
    action: 'knowledge.crawl',
    subject: `application:${application.id}`,
    detail: { crawl: row.id, url: url.slice(0, 200) },
  });
  return serializeCrawl(row);
}

/** @throws ServiceError bad_request */
function siteAddress({ service }: OwnerCall, given: string): string {
  const url = URL.parse(given);
  if (url === null || !/^https?:$/.test(url.protocol) || url.username !== '' || url.password !== '')
    throw badField('url', 'must be the address of a site, like https://www.example.com/help');
  // A name that leads there is found out when it is looked up.
  if (createSsrfGuard(service.settings.crawlPrivate).blocks(url))
    throw badField(
      'url',
      "must not lead to a private or local address (the server's owner can allow it with DESKBELL_CRAWL_PRIVATE=allow)",
    );
  return (normalizePageUrl(url.href) ?? url).href;
}

/** The crawls of an organization, or of one application, newest first. @throws ServiceError not_found */
export async function listCrawls(
  tx: ReadTx,
  call: OwnerCall,
  { organization, applicationId, limit, offset }: Input<'knowledge.crawls'>,
): Promise<Output<'knowledge.crawls'>> {
  const organizationId =
    applicationId === undefined
      ? (await accessOrganization(tx, call.actor, organization)).id
      : (await accessApplication(tx, call.actor, applicationId)).organization_id;
  const { crawls } = tx.repositories;
  const rows = await crawls.page(organizationId, applicationId ?? null, limit, offset);
  const total = await crawls.count(organizationId, applicationId ?? null);
  return { crawls: rows.map(serializeCrawl), total, limit, offset };
}

/** @throws ServiceError not_found */
export async function getCrawl(
  tx: ReadTx,
  call: OwnerCall,
  { crawlId }: Input<'knowledge.getCrawl'>,
): Promise<Output<'knowledge.getCrawl'>> {
  return serializeCrawl(await accessCrawl(tx, call.actor, crawlId));
}

/** What was read stays; one that has ended is left as it is. @throws ServiceError not_found */
export async function cancelCrawl(
  tx: Tx,
  call: OwnerCall,
  { crawlId }: Input<'knowledge.cancelCrawl'>,
): Promise<Output<'knowledge.cancelCrawl'>> {
  const row = await accessCrawl(tx, call.actor, crawlId);
  const now = call.service.engine.clock.now();
  if ((await tx.repositories.crawls.end(row.id, 'cancelled', null, now)) > 0)
    await audit(tx, call, {
      organizationId: row.organization_id,
      action: 'knowledge.cancelCrawl',
      subject: `application:${row.application_id}`,
      detail: { crawl: row.id },
    });
  return serializeCrawl(await accessCrawl(tx, call.actor, crawlId));
}

const isoOrNull = (ms: number | null): string | null => (ms === null ? null : isoTime(ms));

function serializeCrawl(row: CrawlRow): Crawl {
  return {
    id: row.id,
    applicationId: row.application_id,
    url: row.url,
    maxPages: row.max_pages,
    depth: row.depth,
    below: row.below === 1,
    prune: row.prune === 1,
    status: row.status,
    problem: row.problem,
    pages: row.pages,
    added: row.added,
    updated: row.updated,
    unchanged: row.unchanged,
    skipped: row.skipped,
    failed: row.failed,
    removed: row.removed,
    left: row.remaining,
    problems: readProblems(row),
    createdAt: isoTime(row.created_at),
    startedAt: isoOrNull(row.started_at),
    endedAt: isoOrNull(row.ended_at),
  };
}

/** What could not be read, the newest last. */
export function readProblems({ problems }: Pick<CrawlRow, 'problems'>): Crawl['problems'] {
  return crawlProblems.parse(JSON.parse(problems));
}
