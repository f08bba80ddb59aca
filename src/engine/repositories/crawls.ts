// What is asked of crawls of a site.
import type { CrawlRow } from '../rows.ts';

/** Counts of a crawl after a page. */
export type CrawlCounts = Pick<
  CrawlRow,
  | 'id'
  | 'pages'
  | 'added'
  | 'updated'
  | 'unchanged'
  | 'skipped'
  | 'failed'
  | 'removed'
  | 'remaining'
  | 'problems'
>;

/** Crawls of a site: one that waits or runs is under way. */
export interface CrawlsRepository {
  byId(id: string): Promise<CrawlRow | undefined>;
  /** Of an organization, of all its applications (null) or of one; newest first. */
  page(
    organizationId: string,
    applicationId: string | null,
    limit: number,
    offset: number,
  ): Promise<CrawlRow[]>;
  count(organizationId: string, applicationId: string | null): Promise<number>;
  /** Those of an organization that are under way. */
  active(organizationId: string): Promise<CrawlRow[]>;
  /** Those that wait, oldest first. */
  waiting(): Promise<CrawlRow[]>;
  insert(row: CrawlRow): Promise<number>;
  /** waiting → running; 0 when it does not wait. */
  start(id: string, now: number): Promise<number>;
  /** Puts down counts; 0 when it does not run. */
  putCounts(counts: CrawlCounts): Promise<number>;
  /** Ends one that is under way; 0 when it is not. */
  end(id: string, status: CrawlRow['status'], problem: string | null, now: number): Promise<number>;
  /** Every one that runs has been interrupted. */
  breakOffRunning(problem: string, now: number): Promise<number>;
  /** Removes the oldest of an application beyond so many. */
  removeOld(applicationId: string, kept: number): Promise<number>;
}
