// Queries on crawls of a site.
import { sql } from 'kysely';
import type { CrawlCounts, CrawlsRepository } from '../../repositories/crawls.ts';
import type { CrawlRow } from '../../rows.ts';
import { all, first, prepare, run, type Runner } from '../query.ts';

const byId = prepare<{ id: string }>()((db, p) => db.selectFrom('crawls').selectAll().where('id', '=', p.id));
type Page = { organization_id: string; application_id: string | null; limit: number; offset: number };
const page = prepare<Page>()((db, p) =>
  db
    .selectFrom('crawls')
    .selectAll()
    .where('organization_id', '=', p.organization_id)
    .where('application_id', '=', sql<string>`coalesce(${p.application_id}, application_id)`)
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .limit(p.limit)
    .offset(p.offset),
);
const countOf = prepare<Pick<Page, 'organization_id' | 'application_id'>>()((db, p) =>
  db
    .selectFrom('crawls')
    .select((e) => e.fn.countAll<number>().as('n'))
    .where('organization_id', '=', p.organization_id)
    .where('application_id', '=', sql<string>`coalesce(${p.application_id}, application_id)`),
);
const active = prepare<{ organization_id: string }>()((db, p) =>
  db
    .selectFrom('crawls')
    .selectAll()
    .where('organization_id', '=', p.organization_id)
    .where('status', 'in', ['waiting', 'running']),
);
const waiting = prepare<object>()((db) =>
  db
    .selectFrom('crawls')
    .selectAll()
    .where('status', 'in', ['waiting', 'running'])
    .where('status', '=', 'waiting')
    .orderBy('created_at')
    .orderBy('id'),
);
const insert = prepare<CrawlRow>()((db, p) =>
  db.insertInto('crawls').values({
    id: p.id,
    organization_id: p.organization_id,
    application_id: p.application_id,
    url: p.url,
    max_pages: p.max_pages,
    depth: p.depth,
    below: p.below,
    prune: p.prune,
    status: p.status,
    problem: p.problem,
    pages: p.pages,
    added: p.added,
    updated: p.updated,
    unchanged: p.unchanged,
    skipped: p.skipped,
    failed: p.failed,
    removed: p.removed,
    remaining: p.remaining,
    problems: p.problems,
    created_at: p.created_at,
    started_at: p.started_at,
    ended_at: p.ended_at,
  }),
);
const start = prepare<{ id: string; now: number }>()((db, p) =>
  db
    .updateTable('crawls')
    .set({ status: 'running', started_at: p.now })
    .where('id', '=', p.id)
    .where('status', '=', 'waiting'),
);
const putCounts = prepare<CrawlCounts>()((db, p) =>
  db
    .updateTable('crawls')
    .set({
      pages: p.pages,
      added: p.added,
      updated: p.updated,
      unchanged: p.unchanged,
      skipped: p.skipped,
      failed: p.failed,
      removed: p.removed,
      remaining: p.remaining,
      problems: p.problems,
    })
    .where('id', '=', p.id)
    .where('status', '=', 'running'),
);
type Ending = Pick<CrawlRow, 'id' | 'status' | 'problem'> & { now: number };
const end = prepare<Ending>()((db, p) =>
  db
    .updateTable('crawls')
    .set({ status: p.status, problem: p.problem, ended_at: p.now })
    .where('id', '=', p.id)
    .where('status', 'in', ['waiting', 'running']),
);
const breakOffRunning = prepare<{ problem: string; now: number }>()((db, p) =>
  db
    .updateTable('crawls')
    .set({ status: 'interrupted', problem: p.problem, ended_at: p.now })
    .where('status', 'in', ['waiting', 'running'])
    .where('status', '=', 'running'),
);
const removeOld = prepare<{ application_id: string; kept: number }>()((db, p) =>
  db
    .deleteFrom('crawls')
    .where('application_id', '=', p.application_id)
    .where('id', 'not in', (e) =>
      e
        .selectFrom('crawls')
        .select('id')
        .where('application_id', '=', p.application_id)
        .orderBy('created_at', 'desc')
        .orderBy('id', 'desc')
        .limit(p.kept),
    ),
);

export function createCrawlsRepository(runner: Runner): CrawlsRepository {
  return {
    byId: (id) => first(runner, byId, { id }),
    page: (organizationId, applicationId, limit, offset) =>
      all(runner, page, { organization_id: organizationId, application_id: applicationId, limit, offset }),
    count: async (organizationId, applicationId) =>
      (await first(runner, countOf, { organization_id: organizationId, application_id: applicationId }))?.n ??
      0,
    active: (organizationId) => all(runner, active, { organization_id: organizationId }),
    waiting: () => all(runner, waiting, {}),
    insert: (row) => run(runner, insert, row),
    start: (id, now) => run(runner, start, { id, now }),
    putCounts: (counts) => run(runner, putCounts, counts),
    end: (id, status, problem, now) => run(runner, end, { id, status, problem, now }),
    breakOffRunning: (problem, now) => run(runner, breakOffRunning, { problem, now }),
    removeOld: (applicationId, kept) => run(runner, removeOld, { application_id: applicationId, kept }),
  };
}
