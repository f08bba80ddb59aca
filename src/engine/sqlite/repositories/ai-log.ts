// Queries on the log of what the assistant was asked and answered, and on what it has yet to answer.
import type { AiLogFilter, AiLogRepository } from '../../repositories/ai-log.ts';
import type { LogStretch } from '../../repositories/log-stretches.ts';
import type { PlaceInTime } from '../../repositories/time-order.ts';
import type { AiLogRow, RetentionScope } from '../../rows.ts';
import { isOneOf, isOrAny, jsonText, withoutIndex } from '../dialect.ts';
import { all, first, prepare, run, type Runner, type Builder } from '../query.ts';
import { isBehind, type PartOfOrder } from './time-order.ts';

/** One that is there already under the same id is left alone. */
const insert = prepare<AiLogRow>()((db, p) =>
  db
    .insertInto('ai_log')
    .values({
      id: p.id,
      organization_id: p.organization_id,
      application_id: p.application_id,
      visitor_key: p.visitor_key,
      conversation_id: p.conversation_id,
      mode: p.mode,
      door: p.door,
      actor: p.actor,
      question: p.question,
      answer: p.answer,
      outcome: p.outcome,
      sources: p.sources,
      model: p.model,
      duration_ms: p.duration_ms,
      created_at: p.created_at,
      chosen: p.chosen,
      settled_at: p.settled_at,
    })
    .onConflict((conflict) => conflict.column('id').doNothing()),
);
type Within = { organization_id: string; from: number; before: number };
type Fitting = Within & { application_id: string | null };
const timeOf = prepare<Within & { offset: number }>()((db, p) =>
  db
    .selectFrom('ai_log')
    .select('created_at')
    .where('organization_id', '=', p.organization_id)
    .where('created_at', '>=', p.from)
    .where('created_at', '<', p.before)
    .orderBy('created_at', 'desc')
    .limit(1)
    .offset(p.offset),
);
const fittingRows = (db: Builder, p: Fitting) =>
  db
    .selectFrom('ai_log')
    .where('organization_id', '=', p.organization_id)
    .where('created_at', '>=', p.from)
    .where('created_at', '<', p.before)
    .where(isOrAny('application_id', p.application_id));
const count = prepare<Fitting>()((db, p) =>
  fittingRows(db, p).select((e) => e.fn.countAll<number>().as('n')),
);
const page = prepare<Fitting & { limit: number; offset: number }>()((db, p) =>
  fittingRows(db, p)
    .selectAll()
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .limit(p.limit)
    .offset(p.offset),
);
const ofVisitor = prepare<PartOfOrder & { visitor_key: string }>()((db, p) =>
  db
    .selectFrom('ai_log')
    .selectAll()
    .where('visitor_key', '=', p.visitor_key)
    .where(isBehind(p))
    .orderBy('created_at')
    .orderBy('id')
    .limit(p.limit),
);
type Old = RetentionScope & { limit: number };
const removeOld = prepare<Old>()((db, p) =>
  db
    .deleteFrom('ai_log')
    .where('id', 'in', (e) =>
      e
        .selectFrom('ai_log as old')
        .select('old.id')
        .where('old.organization_id', '=', p.organization_id)
        .where(isOrAny('old.application_id', p.application_id))
        .where('old.created_at', '<', p.cutoff)
        .where('old.mode', '=', p.mode)
        .orderBy('old.created_at')
        .limit(p.limit),
    ),
);
const setChosen = prepare<{ conversation_id: string; chosen: string }>()((db, p) =>
  db
    .updateTable('ai_log')
    .set({ chosen: p.chosen })
    .where('id', '=', (e) =>
      e
        .selectFrom('ai_log')
        .select('id')
        .where('conversation_id', '=', p.conversation_id)
        .where('outcome', '=', 'offered')
        .orderBy('created_at', 'desc')
        .orderBy('id', 'desc')
        .limit(1),
    ),
);
const gaps = prepare<{ application_id: string; limit: number }>()((db, p) =>
  db
    .selectFrom('ai_log')
    .selectAll()
    .where('application_id', '=', p.application_id)
    .where('mode', '=', 'live')
    .where('door', 'in', ['answer', 'auto'])
    .where('outcome', 'in', ['offered', 'refused', 'person'])
    .where('settled_at', 'is', null)
    .where('question', '<>', '')
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .limit(p.limit),
);
const settle = prepare<{ application_id: string; ids: string; at: number }>()((db, p) =>
  db
    .updateTable('ai_log')
    .set({ settled_at: p.at })
    .where('application_id', '=', p.application_id)
    .where(isOneOf('id', p.ids)),
);
const blank = prepare<{ conversation_id: string; since: number }>()((db, p) =>
  db
    .updateTable('ai_log')
    .set({ question: '', answer: null, sources: '[]' })
    .where('conversation_id', '=', p.conversation_id)
    .where('created_at', '>=', p.since),
);
const aiMode = jsonText('a.settings', '$.ai.mode');
const automaticApplications = (db: Builder) =>
  db.selectFrom('applications as a').select('a.organization_id').where(aiMode, '=', 'auto');
const automaticOrganizations = prepare<object>()((db) => automaticApplications(db).distinct());
const isAutomatic = prepare<{ organization_id: string }>()((db, p) =>
  automaticApplications(db).where('a.organization_id', '=', p.organization_id).limit(1),
);
type AfterCursor = { after: number; after_id: string; limit: number };
// By the index on organization, mode and status: the one on applications would lead through all that ever was.
const waitingForAssistant = (db: Builder, p: AfterCursor) =>
  db
    .selectFrom('applications as a')
    .innerJoin('conversations as c', 'c.organization_id', 'a.organization_id')
    .select(['c.id', 'c.organization_id', 'c.updated_at'])
    .where(aiMode, '=', 'auto')
    .where('c.mode', 'in', ['live', 'test'])
    .where('c.status', '=', 'pending')
    .where(withoutIndex('c.application_id'), '=', (e) => e.ref('a.id'))
    .where('c.assistant_muted_at', 'is', null)
    .where('c.updated_at', '>=', p.after)
    .where((e) => e.or([e('c.updated_at', '>', p.after), e('c.id', '>', p.after_id)]))
    .orderBy('c.updated_at')
    .orderBy('c.id')
    .limit(p.limit);
const unanswered = prepare<AfterCursor>()(waitingForAssistant);
const unansweredOfOrganization = prepare<AfterCursor & { organization_id: string }>()((db, p) =>
  waitingForAssistant(db, p).where('a.organization_id', '=', p.organization_id),
);

function fitting({ organizationId, applicationId }: AiLogFilter, { from, before }: LogStretch): Fitting {
  return { organization_id: organizationId, application_id: applicationId, from, before };
}

export function createAiLogRepository(runner: Runner): AiLogRepository {
  return {
    insert: (row: AiLogRow) => run(runner, insert, row),
    log: {
      timeOf: async ({ organizationId }, { from, before }, most) =>
        (await first(runner, timeOf, { organization_id: organizationId, from, before, offset: most - 1 }))
          ?.created_at,
      count: async (filter, stretch) => (await first(runner, count, fitting(filter, stretch)))?.n ?? 0,
      page: (filter, stretch, limit, offset) =>
        all(runner, page, { ...fitting(filter, stretch), limit, offset }),
    },
    ofVisitor: (visitorKey: string, { created_at, id }: PlaceInTime, limit: number) =>
      all(runner, ofVisitor, { visitor_key: visitorKey, created_at, id, limit }),
    removeOld: (scope: RetentionScope, limit: number) => run(runner, removeOld, { ...scope, limit }),
    setChosen: (conversationId: string, passageId: string) =>
      run(runner, setChosen, { conversation_id: conversationId, chosen: passageId }),
    gaps: (applicationId: string, limit: number) =>
      all(runner, gaps, { application_id: applicationId, limit }),
    settle: (applicationId: string, ids: readonly string[], at: number) =>
      run(runner, settle, { application_id: applicationId, ids: JSON.stringify(ids), at }),
    blank: (conversationId: string, since: number) =>
      run(runner, blank, { conversation_id: conversationId, since }),
    automaticOrganizations: async (organizationId) => {
      const rows =
        organizationId === undefined
          ? await all(runner, automaticOrganizations, {})
          : await all(runner, isAutomatic, { organization_id: organizationId });
      return rows.map((row) => row.organization_id);
    },
    unanswered: ({ id, updated_at }, limit, organizationId) => {
      const cursor = { after: updated_at, after_id: id, limit };
      return organizationId === undefined
        ? all(runner, unanswered, cursor)
        : all(runner, unansweredOfOrganization, { ...cursor, organization_id: organizationId });
    },
  };
}
