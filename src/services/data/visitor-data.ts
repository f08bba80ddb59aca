// The rules of a visitor's own data: which visitor is meant, and handing out everything that is kept about one person.
import type { Message } from '../../protocol/entities.ts';
import type { Input, Output } from '../../protocol/operations.ts';
import { beforeAll, type PlaceInTime } from '../../engine/repositories/time-order.ts';
import type { AiLogRow, VisitorRow } from '../../engine/rows.ts';
import { serializeAiLogEntry } from '../assistant/log.ts';
import { assertStillAllowed, writeAs } from '../auth/standing.ts';
import { audit } from '../core/audit.ts';
import { badField, notFound } from '../core/errors.ts';
import type { InParts } from '../core/parts.ts';
import { readSlice } from '../core/slices.ts';
import { isoTime, serializeConversation, serializeMessage, serializeVisitor } from '../core/serializers.ts';
import type { OwnerCall, ReadTx, Service } from '../service.ts';

/** Rows of one part. */
const pageSize = 200;

/**
 * The one visitor that is meant. The same UUID under another application or mode is another person, so
 * where several have it, the caller must say which.
 * @throws ServiceError not_found; bad_request when it names more than one
 */
export async function accessVisitorData(
  tx: ReadTx,
  { actor }: OwnerCall,
  input: Input<'visitors.export'>,
): Promise<VisitorRow> {
  const found = await tx.repositories.visitorData.find({
    visitorId: input.visitorId,
    organizationId: actor.kind === 'member' ? actor.organizationId : null,
    applicationId: input.applicationId,
    mode: input.mode,
  });
  const [visitor, ...others] = found;
  if (visitor === undefined) throw notFound('visitor');
  if (others.length === 0) return visitor;
  const [field, names] = found.some((one) => one.application_id !== visitor.application_id)
    ? ['applicationId', found.map((one) => one.application_id)]
    : ['mode', found.map((one) => one.mode)];
  throw badField(
    field,
    `is needed: this id is a different visitor in each of ${[...new Set(names)].join(', ')}`,
  );
}

/** In the audit log a visitor is named by its internal key, which says nothing once its row is removed. */
export const auditSubject = (visitor: VisitorRow): string => `visitor:${visitor.id}`;

/**
 * Everything kept about a visitor: who they are, their conversations with all answers to them, how far they have read,
 * who has asked for this before. Not the internal notes: they are staff's working papers, may speak of other people,
 * and no visitor has ever been shown one; their number is given, so that an admin can answer for them by hand.
 *
 * A visitor has any number of conversations, and a conversation any number of messages: each part is read in a slice of its
 * own, as the answer is taken. So the audit log says that it was handed out before anything is.
 * @returns throws while it is taken what `readSlice` throws, and unauthorized or forbidden once the right is withdrawn
 * @throws ServiceError not_found, bad_request
 */
export async function exportVisitor(
  call: OwnerCall,
  input: Input<'visitors.export'>,
): Promise<InParts<Output<'visitors.export'>>> {
  const { store, clock } = call.service.engine;
  const visitor = await store.read((tx) => accessVisitorData(tx, call, input));
  const subject = auditSubject(visitor);
  const readPart: ReadPart = (work) =>
    readSlice(call, visitor.organization_id, async (tx) => {
      await assertStillAllowed(tx, call);
      return work(tx);
    });
  const access: Output<'visitors.export'>['access'] = [];
  for await (const one of inOrder(readPart, ({ visitorData }, place) =>
    visitorData.access(subject, place, pageSize),
  ))
    access.push({
      action: one.action,
      actor: one.actor,
      address: one.address,
      createdAt: isoTime(one.created_at),
    });
  await writeAs(call, { organization: visitor.organization_id }, (tx) =>
    audit(tx, call, { organizationId: visitor.organization_id, action: 'visitors.export', subject }),
  );
  const notes = { count: 0 };
  return {
    visitor: {
      ...serializeVisitor(visitor),
      organizationId: visitor.organization_id,
      applicationId: visitor.application_id,
      mode: visitor.mode,
    },
    conversations: conversationsOf(call.service, readPart, visitor, notes),
    internalNotes: () => notes.count,
    assistant: questionsOf(readPart, visitor),
    access,
    exportedAt: isoTime(clock.now()),
  };
}

/** Reads a part of what a visitor has, in a slice of its own. */
type ReadPart = <T>(work: (tx: ReadTx) => Promise<T>) => Promise<T>;

/**
 * Rows in an order by time, a page at a time.
 * @param readPage reads those behind a place
 */
async function* inOrder<Row extends PlaceInTime>(
  readPart: ReadPart,
  readPage: (repositories: ReadTx['repositories'], place: PlaceInTime) => Promise<Row[]>,
): AsyncGenerator<Row, void> {
  for (let place: PlaceInTime | undefined = beforeAll; place !== undefined;) {
    const from: PlaceInTime = place;
    const rows = await readPart(({ repositories }) => readPage(repositories, from));
    yield* rows;
    place = rows.length < pageSize ? undefined : rows.at(-1);
  }
}

/** @param notes counts the internal notes that it passes over */
async function* conversationsOf(
  service: Service,
  readPart: ReadPart,
  visitor: VisitorRow,
  notes: { count: number },
): AsyncGenerator<InParts<Output<'visitors.export'>['conversations'][number]>, void> {
  for await (const conversation of inOrder(readPart, ({ visitorData }, place) =>
    visitorData.conversations(visitor.id, place, pageSize),
  )) {
    const { reading, present } = await readPart(async ({ repositories: { participants } }) => ({
      reading: await participants.get(conversation.id, visitor.visitor_id),
      present: await participants.present(conversation.id),
    }));
    yield {
      ...serializeConversation(conversation, present),
      resolvedAt: conversation.resolved_at === null ? null : isoTime(conversation.resolved_at),
      lastReadMessageId: reading?.last_read_message_id ?? null,
      messages: messagesOf(service, readPart, conversation.id, notes),
    };
  }
}

async function* messagesOf(
  service: Service,
  readPart: ReadPart,
  conversationId: string,
  notes: { count: number },
): AsyncGenerator<Message, void> {
  for (let afterSeq: number | undefined = 0; afterSeq !== undefined;) {
    const from: number = afterSeq;
    const rows = await readPart(({ repositories }) =>
      repositories.messages.page({
        conversationId,
        notes: true,
        order: 'asc',
        afterSeq: from,
        limit: pageSize,
        offset: 0,
      }),
    );
    for (const row of rows)
      if (row.internal === 0) yield serializeMessage(row, service, false);
      else if (row.deleted_at === null) notes.count += 1;
    afterSeq = rows.length < pageSize ? undefined : rows.at(-1)?.seq;
  }
}

async function* questionsOf(
  readPart: ReadPart,
  visitor: VisitorRow,
): AsyncGenerator<Output<'visitors.export'>['assistant'][number], void> {
  for await (const entry of inOrder(readPart, ({ aiLog }, place) =>
    aiLog.ofVisitor(visitor.id, place, pageSize),
  ))
    if (entry.door !== 'reply') yield serializeAssistantQuestion(entry);
}

/** A draft for an operator is a paper of staff's, as notes are; what the visitor asked and was told is theirs. */
function serializeAssistantQuestion(row: AiLogRow): Output<'visitors.export'>['assistant'][number] {
  const { question, answer, outcome, sources, createdAt, conversationId } = serializeAiLogEntry(row);
  return { conversationId, question, answer, outcome, sources, createdAt };
}
