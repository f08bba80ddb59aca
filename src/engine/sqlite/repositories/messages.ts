// Queries on messages. Order inside a conversation is `seq`, never a time.
import { sql, type OnConflictBuilder } from 'kysely';
import type { ConversationStep } from '../../repositories/conversations.ts';
import type {
  HistoryFilter,
  HistoryStretch,
  MailColumn,
  MessagesRepository,
  NewMessage,
} from '../../repositories/messages.ts';
import type { ConversationWithVisitor, MessageRow, MessageWithSender } from '../../rows.ts';
import type { Database } from '../database.ts';
import type { KnownConversations } from '../known-conversations.ts';
import type { LogEnd } from '../log-end.ts';
import {
  all,
  first,
  isImmediate,
  prepare,
  prepareForSqlite,
  run,
  type Builder,
  type ImmediateRunner,
  type Runner,
} from '../query.ts';
import { loadConversation, readConversation, stepOn, takeStep, writeStep } from './conversations.ts';

/**
 * Messages with the current name of the sender.
 * @param source `ordered_messages` for those of a conversation, `messages` for one by its id
 */
function withSender(db: Builder, source: 'messages' | 'ordered_messages') {
  return db
    .selectFrom(`${source} as m`)
    .innerJoin('conversations as c', 'c.id', 'm.conversation_id')
    .innerJoin('visitors as v', 'v.id', 'c.visitor_key')
    .leftJoin('members as s', 's.id', 'm.sender_id')
    .selectAll('m')
    .select(['v.name as visitor_name', 's.name as member_name']);
}

const byId = prepare<{ id: string }>()((db, p) => withSender(db, 'messages').where('m.id', '=', p.id));
const byClientId = prepare<{ conversation_id: string; sender_id: string; client_message_id: string }>()(
  (db, p) =>
    withSender(db, 'messages')
      .where('m.conversation_id', '=', p.conversation_id)
      .where('m.sender_id', '=', p.sender_id)
      .where('m.client_message_id', '=', p.client_message_id)
      .where('m.client_message_id', 'is not', null),
);
/** One that is there already under the same client id is left alone. */
const onSameClientId = (conflict: OnConflictBuilder<Database, 'messages'>) =>
  conflict
    .columns(['conversation_id', 'sender_id', 'client_message_id'])
    .where('client_message_id', 'is not', null)
    .doNothing();
type StoredColumns = Omit<MessageRow, MailColumn>;
const columnsOf = (p: StoredColumns): StoredColumns => ({
  id: p.id,
  conversation_id: p.conversation_id,
  organization_id: p.organization_id,
  seq: p.seq,
  changed_seq: p.changed_seq,
  sender_id: p.sender_id,
  sender_role: p.sender_role,
  sender_label: p.sender_label,
  content: p.content,
  content_format: p.content_format,
  content_html: p.content_html,
  content_text: p.content_text,
  internal: p.internal,
  choices: p.choices,
  choice: p.choice,
  attachments: p.attachments,
  client_message_id: p.client_message_id,
  created_at: p.created_at,
  edited_at: p.edited_at,
  deleted_at: p.deleted_at,
});
const insertMessage = prepare<StoredColumns>()((db, p) =>
  db.insertInto('messages').values(columnsOf(p)).onConflict(onSameClientId),
);
/** SQLite's own column behind the others. */
const withNumber = <C extends object>(number: number, columns: C): C & { number: number } => ({
  ...columns,
  number,
});
/** The same where a message has a number. */
export const insertNumberedMessage = prepareForSqlite<StoredColumns & { number: number }>()((db, p) =>
  db
    .insertInto('messages')
    .values(withNumber(p.number, columnsOf(p)))
    .onConflict(onSameClientId),
);
/** The same values as `insertNumberedMessage.bind` lays out, without a look at each name. */
export function valuesOf(row: NewMessage, number: number, seq: number): unknown[] {
  return [
    row.id,
    row.conversation_id,
    row.organization_id,
    seq,
    seq,
    row.sender_id,
    row.sender_role,
    row.sender_label,
    row.content,
    row.content_format,
    row.content_html,
    row.content_text,
    row.internal,
    row.choices,
    row.choice,
    row.attachments,
    row.client_message_id,
    row.created_at,
    row.edited_at,
    row.deleted_at,
    number,
  ];
}
type PlainMessage = Pick<
  MessageRow,
  | 'id'
  | 'conversation_id'
  | 'organization_id'
  | 'seq'
  | 'changed_seq'
  | 'sender_id'
  | 'sender_role'
  | 'content'
  | 'client_message_id'
  | 'created_at'
> & { number: number };
/** A new message of plain text with nothing beside it, which most are: each value that is handed over costs time. */
export const insertPlainMessage = prepareForSqlite<PlainMessage>()((db, p) =>
  db
    .insertInto('messages')
    .values(
      withNumber(p.number, {
        id: p.id,
        conversation_id: p.conversation_id,
        organization_id: p.organization_id,
        seq: p.seq,
        changed_seq: p.changed_seq,
        sender_id: p.sender_id,
        sender_role: p.sender_role,
        content: p.content,
        content_format: sql.lit('plain'),
        internal: sql.lit(0),
        client_message_id: p.client_message_id,
        created_at: p.created_at,
      }),
    )
    .onConflict(onSameClientId),
);

function isPlain(row: NewMessage): boolean {
  return (
    row.content_format === 'plain' &&
    row.content_html === null &&
    row.content_text === null &&
    row.sender_label === null &&
    row.internal === 0 &&
    row.choices === null &&
    row.choice === null &&
    row.attachments === null &&
    row.edited_at === null &&
    row.deleted_at === null
  );
}

/** @returns false where its sender has a message with the same client id in the conversation */
function insertAt({ direct }: ImmediateRunner, row: NewMessage, number: number, seq: number): boolean {
  if (!isPlain(row)) return direct.run(insertNumberedMessage.compiled, valuesOf(row, number, seq)) > 0;
  const inserted = direct.run(insertPlainMessage.compiled, [
    row.id,
    row.conversation_id,
    row.organization_id,
    seq,
    seq,
    row.sender_id,
    row.sender_role,
    row.content,
    row.client_message_id,
    row.created_at,
    number,
  ]);
  return inserted > 0;
}
type Edit = Pick<
  MessageRow,
  | 'id'
  | 'changed_seq'
  | 'content'
  | 'content_format'
  | 'content_html'
  | 'content_text'
  | 'attachments'
  | 'edited_at'
>;
const edit = prepare<Edit>()((db, p) =>
  db
    .updateTable('messages')
    .set({
      changed_seq: p.changed_seq,
      content: p.content,
      content_format: p.content_format,
      content_html: p.content_html,
      content_text: p.content_text,
      attachments: p.attachments,
      edited_at: p.edited_at,
      // Other words ask for something else.
      choice: null,
    })
    .where('id', '=', p.id),
);
// The text goes at once; the row stays to keep its place and its client id.
/** Of the updated conversation: the number of the visitor's newest message that still exists. */
export const lastVisitorSeq = sql<number>`coalesce((
  select newest.seq from ordered_messages as newest
    where newest.conversation_id = conversations.id and newest.sender_role = 'visitor'
      and newest.deleted_at is null
    order by newest.seq desc limit 1), 0)`;
const remove = prepare<Pick<MessageRow, 'id' | 'changed_seq' | 'deleted_at'>>()((db, p) =>
  db
    .updateTable('messages')
    .set({
      changed_seq: p.changed_seq,
      deleted_at: p.deleted_at,
      content: '',
      content_html: null,
      content_text: null,
      choices: null,
      choice: null,
      attachments: null,
      mail_id: null,
    })
    .where('id', '=', p.id),
);
const setVia = prepare<Pick<MessageRow, 'id' | 'via' | 'mail_id'>>()((db, p) =>
  db.updateTable('messages').set({ via: p.via, mail_id: p.mail_id }).where('id', '=', p.id),
);
const setEmailed = prepare<Pick<MessageRow, 'id' | 'emailed' | 'emailed_at'>>()((db, p) =>
  db.updateTable('messages').set({ emailed: p.emailed, emailed_at: p.emailed_at }).where('id', '=', p.id),
);
const followRemoved = prepare<{ id: string }>()((db, p) =>
  db
    .updateTable('conversations')
    .set({ last_visitor_seq: lastVisitorSeq })
    .where('id', '=', (e) => e.selectFrom('messages').select('conversation_id').where('id', '=', p.id)),
);
const unmailedAnswers = prepare<{ conversation_id: string; seq: number; limit: number }>()((db, p) =>
  withSender(db, 'ordered_messages')
    .where('m.conversation_id', '=', p.conversation_id)
    .where('m.seq', '>', p.seq)
    .where('m.sender_role', '=', 'operator')
    .where('m.internal', '=', 0)
    .where('m.deleted_at', 'is', null)
    .where('m.emailed', 'is', null)
    .orderBy('m.seq')
    .limit(p.limit),
);
type Stretch = { conversation_id: string; after: number; before: number };
const ofStretch = (db: Pick<Builder, 'selectFrom'>, p: Stretch) =>
  db
    .selectFrom('ordered_messages')
    .where('conversation_id', '=', p.conversation_id)
    .where('seq', '>', p.after)
    .where('seq', '<', p.before)
    .where('deleted_at', 'is', null);
const countMessages = prepare<Stretch & { internal: 0 | 1 }>()((db, p) =>
  db
    .selectFrom((e) => ofStretch(e, p).select('id').where('internal', '<=', p.internal).as('some'))
    .select((e) => e.fn.countAll<number>().as('n')),
);
const countOfStaff = prepare<Stretch>()((db, p) =>
  db
    .selectFrom((e) =>
      ofStretch(e, p)
        .select('id')
        .where('sender_role', 'in', ['operator', 'assistant'])
        .where('internal', '=', 0)
        .as('some'),
    )
    .select((e) => e.fn.countAll<number>().as('n')),
);
type Changes = { conversation_id: string; seq: number; after: number; limit: number };
/** As the index of them says it (migrations/0026-changed-messages.ts). */
const isChangedOrMailed = sql<boolean>`(m.changed_seq > m.seq or m.emailed_at is not null)`;
const changesUpTo = (db: Pick<Builder, 'selectFrom'>, p: Changes) =>
  db
    .selectFrom('messages as m')
    .select('m.id')
    .where('m.conversation_id', '=', p.conversation_id)
    .where(isChangedOrMailed)
    .where('m.seq', '<=', p.seq)
    .where('m.seq', '>', p.after)
    .orderBy('m.seq')
    .limit(p.limit);
/** Chosen first: to put them in order the database would read the texts of all. */
const chosenChanges = (db: Builder, chosen: ReturnType<typeof changesUpTo>) =>
  withSender(db, 'messages').where('m.id', 'in', chosen).orderBy('m.seq');
const changedForVisitor = prepare<Changes>()((db, p) =>
  chosenChanges(db, changesUpTo(db, p).where('m.changed_seq', '>', p.seq).where('m.internal', '=', 0)),
);
const changedForStaff = prepare<Changes>()((db, p) =>
  chosenChanges(
    db,
    changesUpTo(db, p).where((e) =>
      e.or([
        e('m.changed_seq', '>', p.seq),
        // Of what became of a mail the time alone is kept.
        e('m.emailed_at', '>=', (known) =>
          known
            .selectFrom('ordered_messages as known')
            .select('known.created_at')
            .where('known.conversation_id', '=', p.conversation_id)
            .where('known.seq', '=', p.seq),
        ),
      ]),
    ),
  ),
);

/** What a page is asked by; bounds that it has none of are in no query. */
interface PageValues {
  conversation_id: string;
  after: number;
  before: number;
  limit: number;
  offset: number;
}
type PageShape = Pick<HistoryFilter, 'notes' | 'order'> & {
  readonly after: boolean;
  readonly before: boolean;
};

const both = [false, true];
/** A query for each shape that a page can have: one that is built anew would be planned anew each time. */
const pages = new Map(
  both.flatMap((notes) =>
    both.flatMap((after) =>
      both.flatMap((before) =>
        (['asc', 'desc'] as const).map((order) => {
          const shape: PageShape = { notes, order, after, before };
          return [nameOf(shape), preparePage(shape)] as const;
        }),
      ),
    ),
  ),
);

function nameOf({ notes, order, after, before }: PageShape): string {
  return [notes, order, after, before].join();
}

function preparePage({ notes, order, after, before }: PageShape) {
  return prepare<PageValues>()((db, p) => {
    let query = withSender(db, 'ordered_messages')
      .where('m.conversation_id', '=', p.conversation_id)
      .where('m.deleted_at', 'is', null);
    if (!notes) query = query.where('m.internal', '=', 0);
    if (after) query = query.where('m.seq', '>', p.after);
    if (before) query = query.where('m.seq', '<', p.before);
    return query.orderBy('m.seq', order).limit(p.limit).offset(p.offset);
  });
}

function readPage(runner: Runner, filter: HistoryFilter): Promise<MessageWithSender[]> {
  const { conversationId, notes, order, afterSeq, beforeSeq, limit, offset } = filter;
  const shape = { notes, order, after: afterSeq !== undefined, before: beforeSeq !== undefined };
  const query = pages.get(nameOf(shape));
  if (query === undefined) throw new Error('A page of a shape that there is not was asked for.');
  const bounds = { after: afterSeq ?? 0, before: beforeSeq ?? 0 };
  return all(runner, query, { conversation_id: conversationId, ...bounds, limit, offset });
}

/** Where the database is asked over a connection: three questions, one after another. */
async function appendLater(
  runner: Runner,
  row: NewMessage,
  by: ConversationStep,
): Promise<ConversationWithVisitor | undefined> {
  const conversation = await loadConversation(runner, row.conversation_id);
  if (conversation === undefined) throw new Error(`No conversation ${row.conversation_id}.`);
  const step = stepOn(conversation, by, row.created_at);
  const placed = { ...row, seq: step.last_seq, changed_seq: step.last_seq };
  if ((await run(runner, insertMessage, placed)) === 0) return undefined;
  await run(runner, writeStep, { id: conversation.id, ...step });
  return { ...conversation, ...step };
}

/**
 * @param known the rows that the connection knows, for the one that writes
 * @param log numbers the messages; left out where the database is asked over a connection
 */
export function createMessagesRepository(
  runner: Runner,
  known?: KnownConversations,
  log?: LogEnd,
): MessagesRepository {
  return {
    byId: (id: string): Promise<MessageWithSender | undefined> => first(runner, byId, { id }),
    byClientId: (conversationId: string, senderId: string, clientMessageId: string) =>
      first(runner, byClientId, {
        conversation_id: conversationId,
        sender_id: senderId,
        client_message_id: clientMessageId,
      }),
    append: (row: NewMessage, by: ConversationStep) => {
      if (!isImmediate(runner) || log === undefined) return appendLater(runner, row, by);
      const conversation = readConversation(runner, known, row.conversation_id);
      if (conversation === undefined) throw new Error(`No conversation ${row.conversation_id}.`);
      const step = stepOn(conversation.row, by, row.created_at);
      const number = log.takeMessage();
      if (!insertAt(runner, row, number, step.last_seq)) return undefined;
      log.noteMessage({ id: row.id, number, conversation: conversation.number, seq: step.last_seq });
      return takeStep(runner, conversation, step);
    },
    edit: (values: Edit) => run(runner, edit, values),
    remove: async (id: string, changedSeq: number, now: number) => {
      const changed = await run(runner, remove, { id, changed_seq: changedSeq, deleted_at: now });
      await run(runner, followRemoved, { id });
      return changed;
    },
    setVia: (id, via, mailId) => run(runner, setVia, { id, via, mail_id: mailId }),
    setEmailed: (id, state, at) => run(runner, setEmailed, { id, emailed: state, emailed_at: at }),
    page: (filter: HistoryFilter) => readPage(runner, filter),
    unmailedAnswers: (conversationId: string, afterSeq: number, limit: number) =>
      all(runner, unmailedAnswers, { conversation_id: conversationId, seq: afterSeq, limit }),
    count: async ({ conversationId, notes, afterSeq, beforeSeq }: HistoryStretch) => {
      const stretch = { conversation_id: conversationId, after: afterSeq, before: beforeSeq };
      return (await first(runner, countMessages, { ...stretch, internal: notes ? 1 : 0 }))?.n ?? 0;
    },
    countOfStaff: async ({ conversationId, afterSeq, beforeSeq }) => {
      const stretch = { conversation_id: conversationId, after: afterSeq, before: beforeSeq };
      return (await first(runner, countOfStaff, stretch))?.n ?? 0;
    },
    changedSince: (
      conversationId: string,
      seq: number,
      notes: boolean,
      page: { readonly after: number; readonly limit: number },
    ) =>
      all(runner, notes ? changedForStaff : changedForVisitor, {
        conversation_id: conversationId,
        seq,
        ...page,
      }),
  };
}
