// Queries on organizations.
import type { OrganizationsRepository } from '../../repositories/organizations.ts';
import { sql } from 'kysely';
import type { Mode } from '../../../protocol/entities.ts';
import type { OrganizationRow, RetentionCursor } from '../../rows.ts';
import { blankEvent, isNewestEvent } from './events.ts';
import { goingMark, isFound, isFoundApplication } from './found.ts';
import { all, first, prepare, run, type Runner } from '../query.ts';

const byId = prepare<{ id: string }>()((db, p) =>
  db.selectFrom('organizations').selectAll().where('id', '=', p.id).where(isFound),
);
const bySlug = prepare<{ slug: string }>()((db, p) =>
  db.selectFrom('organizations').selectAll().where('slug', '=', p.slug).where(isFound),
);
const list = prepare<object>()((db) =>
  db.selectFrom('organizations').selectAll().where(isFound).orderBy('slug'),
);
const insert = prepare<OrganizationRow>()((db, p) =>
  db.insertInto('organizations').values({
    id: p.id,
    slug: p.slug,
    name: p.name,
    plan: p.plan,
    requests_per_minute: p.requests_per_minute,
    retention_days: p.retention_days,
    own_retention_days: p.own_retention_days,
    max_applications: p.max_applications,
    max_seats: p.max_seats,
    max_file_bytes: p.max_file_bytes,
    release_after_minutes: p.release_after_minutes,
    second_factor: p.second_factor,
    escalation: p.escalation,
    plan_changed_at: p.plan_changed_at,
    created_at: p.created_at,
  }),
);
const setPlan = prepare<Pick<OrganizationRow, 'id' | 'plan' | 'plan_changed_at'>>()((db, p) =>
  db
    .updateTable('organizations')
    .set({ plan: p.plan, plan_changed_at: p.plan_changed_at })
    .where('id', '=', p.id),
);
type LimitColumns = Pick<
  OrganizationRow,
  | 'id'
  | 'requests_per_minute'
  | 'retention_days'
  | 'own_retention_days'
  | 'max_applications'
  | 'max_seats'
  | 'max_file_bytes'
>;
const setLimits = prepare<LimitColumns>()((db, p) =>
  db
    .updateTable('organizations')
    .set({
      requests_per_minute: p.requests_per_minute,
      retention_days: p.retention_days,
      own_retention_days: p.own_retention_days,
      max_applications: p.max_applications,
      max_seats: p.max_seats,
      max_file_bytes: p.max_file_bytes,
    })
    .where('id', '=', p.id),
);
const setName = prepare<{ id: string; name: string }>()((db, p) =>
  db.updateTable('organizations').set({ name: p.name }).where('id', '=', p.id),
);
const setReleaseAfter = prepare<{ id: string; release_after_minutes: number | null }>()((db, p) =>
  db
    .updateTable('organizations')
    .set({ release_after_minutes: p.release_after_minutes })
    .where('id', '=', p.id),
);
const setSecondFactor = prepare<Pick<OrganizationRow, 'id' | 'second_factor'>>()((db, p) =>
  db.updateTable('organizations').set({ second_factor: p.second_factor }).where('id', '=', p.id),
);
const setEscalation = prepare<Pick<OrganizationRow, 'id' | 'escalation'>>()((db, p) =>
  db.updateTable('organizations').set({ escalation: p.escalation }).where('id', '=', p.id),
);
const hide = prepare<{ id: string; slug: string }>()((db, p) =>
  db.updateTable('organizations').set({ slug: p.slug }).where('id', '=', p.id),
);
const remove = prepare<{ id: string }>()((db, p) => db.deleteFrom('organizations').where('id', '=', p.id));
const blankNewestEvent = prepare<{ id: string }>()((db, p) =>
  db
    .updateTable('events')
    .set({ ...blankEvent, organization_id: blankEvent.conversation_id })
    .where(isNewestEvent)
    .where('organization_id', '=', p.id),
);
const removeAudit = prepare<{ id: string }>()((db, p) =>
  db.deleteFrom('audit').where('organization_id', '=', p.id),
);

const counts = prepare<{ id: string }>()((db, p) =>
  db.selectNoFrom((e) => [
    e
      .selectFrom('applications')
      .select((f) => f.fn.countAll<number>().as('n'))
      .where('organization_id', '=', p.id)
      .where(isFoundApplication)
      .as('applications'),
    e
      .selectFrom('members')
      .select((f) => f.fn.countAll<number>().as('n'))
      .where('organization_id', '=', p.id)
      .where('disabled_at', 'is', null)
      .as('members'),
  ]),
);

type ConversationPage = { id: string; mode: Mode; after: number; after_id: string; limit: number };
const conversations = prepare<ConversationPage>()((db, p) =>
  db
    .selectFrom('conversations')
    .select(['id', 'created_at', 'visitor_key'])
    .where('organization_id', '=', p.id)
    .where('mode', '=', p.mode)
    .where('created_at', '>=', p.after)
    .where((e) => e.or([e('created_at', '>', p.after), e('id', '>', p.after_id)]))
    .orderBy('created_at')
    .orderBy('id')
    .limit(p.limit),
);
type MessagePage = { conversation_id: string; from: number; to: number; after: number; limit: number };
const messageUsage = prepare<MessagePage>()((db, p) =>
  db
    .selectFrom((e) =>
      e
        .selectFrom('ordered_messages as m')
        .select(['m.seq', 'm.created_at', 'm.content', 'm.content_html', 'm.content_text'])
        .where('m.conversation_id', '=', p.conversation_id)
        .where('m.seq', '>', p.after)
        .orderBy('m.seq')
        .limit(p.limit)
        .as('page'),
    )
    .select((e) => e.fn.max<number | null>('page.seq').as('last'))
    .select(
      sql<number>`count(*) filter (where page.created_at >= ${p.from} and page.created_at < ${p.to})`.as(
        'messages',
      ),
    )
    .select(
      sql<number>`coalesce(sum(octet_length(page.content) + coalesce(octet_length(page.content_html), 0)
        + coalesce(octet_length(page.content_text), 0)), 0)`.as('storage'),
    ),
);

export function createOrganizationsRepository(runner: Runner): OrganizationsRepository {
  return {
    byId: (id: string) => first(runner, byId, { id }),
    bySlug: (slug: string) => first(runner, bySlug, { slug }),
    list: () => all(runner, list, {}),
    insert: (row: OrganizationRow) => run(runner, insert, row),
    setPlan: (values: Pick<OrganizationRow, 'id' | 'plan' | 'plan_changed_at'>) =>
      run(runner, setPlan, values),
    setLimits: (values: LimitColumns) => run(runner, setLimits, values),
    setName: (id: string, name: string) => run(runner, setName, { id, name }),
    setReleaseAfter: (id: string, minutes: number | null) =>
      run(runner, setReleaseAfter, { id, release_after_minutes: minutes }),
    setEscalation: (id: string, escalation: string) => run(runner, setEscalation, { id, escalation }),
    setSecondFactor: (id: string, demand: OrganizationRow['second_factor']) =>
      run(runner, setSecondFactor, { id, second_factor: demand }),
    hide: (id: string) => run(runner, hide, { id, slug: goingMark + id }),
    remove: async (id: string) => {
      await run(runner, blankNewestEvent, { id });
      await run(runner, removeAudit, { id });
      return run(runner, remove, { id });
    },
    counts: async (id: string) => {
      const row = await first(runner, counts, { id });
      return { applications: row?.applications ?? 0, members: row?.members ?? 0 };
    },
    conversations: (id: string, mode: Mode, cursor: RetentionCursor, limit: number) =>
      all(runner, conversations, { id, mode, after: cursor.created_at, after_id: cursor.id, limit }),
    messageUsage: async (conversationId: string, from: number, to: number, after: number, limit: number) =>
      (await first(runner, messageUsage, { conversation_id: conversationId, from, to, after, limit })) ?? {
        last: null,
        messages: 0,
        storage: 0,
      },
  };
}
