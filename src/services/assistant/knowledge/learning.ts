// What the assistant learns from the team, and only from it: questions that had no answer, replies kept as passages, and
// further questions kept with a passage. A visitor's words teach nothing before a person has confirmed them.
import type { KeptQuestion, KnowledgeGap } from '../../../protocol/assistant.ts';
import { assistantLimits } from '../../../protocol/codes.ts';
import type { Input, Output } from '../../../protocol/operations.ts';
import type { AiLogRow, KnowledgeQuestionRow } from '../../../engine/rows.ts';
import { accessApplication, accessKnowledgeDocument } from '../../core/access.ts';
import { audit } from '../../core/audit.ts';
import { badField, notFound, ServiceError } from '../../core/errors.ts';
import { computeSlice } from '../../core/slices.ts';
import { isoTime } from '../../core/serializers.ts';
import type { OwnerCall, ReadTx, Service, Tx } from '../../service.ts';
import { assertPlanHasAi } from '../../tenants/applications.ts';
import { passageTitle } from '../extractive-answer.ts';
import { addDocument, prepareDocument, type ChunkedDocument } from './documents.ts';
import { groupAlike } from './retrieval/ngrams.ts';
import { replyPrefix } from './retrieval/retrieval.ts';
import { indexTerms } from './retrieval/terms.ts';

/**
 * The questions that the documents did not answer, of the newest few hundred.
 * @throws ServiceError not_found
 */
export async function listGaps(
  call: OwnerCall,
  { applicationId, limit, offset }: Input<'knowledge.gaps'>,
): Promise<Output<'knowledge.gaps'>> {
  const { service, actor } = call;
  const { store } = service.engine;
  const { application, rows } = await store.read(async (tx) => ({
    application: await accessApplication(tx, actor, applicationId),
    rows: await tx.repositories.aiLog.gaps(applicationId, assistantLimits.gapEntries),
  }));
  const alike = groupAlike(rows.map(({ question }) => question));
  const found = await inSlices(call, application.organization_id, alike);
  const groups = found
    .map((members) => members.flatMap((at) => rows[at] ?? []))
    .toSorted((one, other) => other.length - one.length);
  const page = groups.slice(offset, offset + limit);
  const gaps = await store.read(async (tx) => {
    await accessApplication(tx, actor, applicationId);
    const serialized: KnowledgeGap[] = [];
    for (const group of page) serialized.push(await serializeGap(tx, application.id, group));
    return serialized;
  });
  return { gaps, total: groups.length, limit, offset };
}

/** Runs what goes step by step in its organization's turn, and lets others in. */
async function inSlices<T>(
  { service, gone }: OwnerCall,
  organizationId: string,
  steps: Generator<void, T, void>,
): Promise<T> {
  for (;;) {
    gone?.().throwIfAborted();
    const step = await computeSlice(service, organizationId, (full) => {
      for (;;) {
        const next = steps.next();
        if (next.done === true || full(1)) return next;
      }
    });
    if (step.done === true) return step.value;
  }
}

/** @param group newest first */
async function serializeGap(
  { repositories: { knowledge } }: ReadTx,
  applicationId: string,
  group: readonly AiLogRow[],
): Promise<KnowledgeGap> {
  const votes = new Map<string, number>();
  for (const { chosen } of group) if (chosen !== null) votes.set(chosen, (votes.get(chosen) ?? 0) + 1);
  const [favourite] = [...votes].toSorted(([, one], [, other]) => other - one);
  const scope = await knowledge.scope(applicationId);
  const row = favourite === undefined ? undefined : await knowledge.rowOf(applicationId, favourite[0]);
  const passage =
    row === undefined || scope === undefined
      ? undefined
      : await knowledge.candidate(scope, applicationId, row);
  return {
    question: group[0]?.question ?? '',
    count: group.length,
    entries: group.map(({ id }) => id),
    lastAskedAt: isoTime(group[0]?.created_at ?? 0),
    chosen: passage === undefined ? null : { id: passage.id, title: passageTitle(passage) },
  };
}

/** @throws ServiceError bad_request: it names something that may be of a person, or holds no text */
export function prepareReply(call: OwnerCall, input: Input<'knowledge.keepReply'>): Promise<ChunkedDocument> {
  assertReviewed({ question: input.question, reply: input.reply }, input.reviewed);
  return prepareDocument(call, toDocument(call.service, input));
}

/**
 * Keeps a reply as a document of one passage.
 * @throws ServiceError not_found, plan_limit
 */
export async function keepReply(
  tx: Tx,
  call: OwnerCall,
  input: Input<'knowledge.keepReply'>,
  prepared: ChunkedDocument,
): Promise<Output<'knowledge.keepReply'>> {
  const { added } = await addDocument(tx, call, toDocument(call.service, input), prepared);
  const { change: _added, ...document } = added;
  await settle(tx, call, document.applicationId, input.settles);
  return document;
}

/** Each reply is a document of its own, also one to the same question. */
function toDocument(
  { engine: { clock } }: Service,
  { applicationId, question, reply }: Input<'knowledge.keepReply'>,
): Input<'knowledge.add'> {
  const source = `${replyPrefix}${clock.newId()}`;
  return { applicationId, source, title: question, url: null, format: 'text', content: reply };
}

/** What may be of a person: an address, or a number of six digits or more. */
const personalPatterns: readonly RegExp[] = [
  /[\p{L}\p{N}._%+-]+@[\p{L}\p{N}.-]+\.\p{L}{2,}/gu,
  /\+?\d(?:[ ./()-]{0,2}\d){5,}/g,
  // A greeting or a title is followed by a name.
  /(?:^|[\n.!?] *)(?:dear|hi|hello|hallo|liebe[r]?|bonjour|hola|ciao) +\p{Lu}\p{L}+/giu,
  /\b(?:mr|mrs|ms|dr|herr|frau|monsieur|madame|señora?|signora?)\.? +\p{Lu}\p{L}+/giu,
];

/** What of a text may be of a person, each once. */
export function findPersonal(text: string): string[] {
  return [...new Set(personalPatterns.flatMap((pattern) => text.match(pattern) ?? []))].map((one) =>
    one.trim(),
  );
}

function assertReviewed(fields: Readonly<Record<string, string>>, reviewed: boolean): void {
  if (reviewed) return;
  for (const [field, text] of Object.entries(fields)) {
    const found = findPersonal(text);
    if (found.length > 0)
      throw badField(
        field,
        `may name a person (${found.join(', ').slice(0, 200)}): remove that, or send reviewed: true`,
      );
  }
}

/** @throws ServiceError not_found, plan_limit, bad_request */
export async function keepQuestion(
  tx: Tx,
  call: OwnerCall,
  { applicationId, passageId, question, reviewed, settles }: Input<'knowledge.keepQuestion'>,
): Promise<Output<'knowledge.keepQuestion'>> {
  const application = await accessApplication(tx, call.actor, applicationId);
  await assertPlanHasAi(tx, application.organization_id);
  assertReviewed({ question }, reviewed);
  const { knowledge } = tx.repositories;
  const scope = await knowledge.scope(application.id);
  const place = await knowledge.rowOf(application.id, passageId);
  const passage =
    scope === undefined || place === undefined
      ? undefined
      : await knowledge.candidate(scope, application.id, place);
  if (passage === undefined) throw notFound('passage');
  const { document_id: documentId, heading } = passage;
  const kept = (await knowledge.questions([documentId])).filter((one) => one.heading === heading);
  if (kept.length >= assistantLimits.questionsPerHeading)
    throw new ServiceError(
      'conflict',
      `At most ${assistantLimits.questionsPerHeading} questions are kept with a heading: remove one first.`,
    );
  const { clock } = call.service.engine;
  const row: KnowledgeQuestionRow = {
    id: clock.newId(),
    application_id: application.id,
    document_id: documentId,
    heading,
    question,
    created_at: clock.now(),
  };
  await knowledge.insertQuestion(row);
  await reindexHeading(tx, application.id, passage.title, row);
  await settle(tx, call, application.id, settles);
  await audit(tx, call, {
    organizationId: application.organization_id,
    action: 'knowledge.keepQuestion',
    subject: `application:${application.id}`,
    detail: { document: documentId, question: row.id },
  });
  return serializeQuestion(row);
}

/** The words of a heading in the index: its own, the title's, and those of the questions kept with it. */
async function reindexHeading(
  { repositories: { knowledge } }: Tx,
  applicationId: string,
  title: string,
  { document_id: documentId, heading }: Pick<KnowledgeQuestionRow, 'document_id' | 'heading'>,
): Promise<void> {
  const scope = await knowledge.ensureScope(applicationId);
  const kept = (await knowledge.questions([documentId])).filter((one) => one.heading === heading);
  const terms = [title, heading ?? '', ...kept.map(({ question }) => question)].flatMap(indexTerms);
  for (const one of await knowledge.underHeading(scope, applicationId, documentId, heading))
    await knowledge.setHeadingTerms(one.row, scope, { heading: terms, text: one.terms.text });
}

/** @throws ServiceError not_found */
export async function listQuestions(
  tx: ReadTx,
  call: OwnerCall,
  { documentId }: Input<'knowledge.questions'>,
): Promise<Output<'knowledge.questions'>> {
  const document = await accessKnowledgeDocument(tx, call.actor, documentId);
  return { questions: (await tx.repositories.knowledge.questions([document.id])).map(serializeQuestion) };
}

/** @throws ServiceError not_found */
export async function forgetQuestion(
  tx: Tx,
  call: OwnerCall,
  { documentId, questionId }: Input<'knowledge.forgetQuestion'>,
): Promise<{ success: true }> {
  const document = await accessKnowledgeDocument(tx, call.actor, documentId);
  const { knowledge } = tx.repositories;
  const row = (await knowledge.questions([document.id])).find(({ id }) => id === questionId);
  if (row === undefined) throw notFound('question');
  await knowledge.removeQuestion(row.id);
  await reindexHeading(tx, document.application_id, document.title, row);
  await audit(tx, call, {
    organizationId: document.organization_id,
    action: 'knowledge.forgetQuestion',
    subject: `application:${document.application_id}`,
    detail: { document: document.id, question: row.id },
  });
  return { success: true };
}

/** @throws ServiceError not_found */
export async function settleGaps(
  tx: Tx,
  call: OwnerCall,
  { applicationId, settles }: Input<'knowledge.settleGaps'>,
): Promise<{ success: true }> {
  const application = await accessApplication(tx, call.actor, applicationId);
  await settle(tx, call, application.id, settles);
  return { success: true };
}

async function settle(
  { repositories: { aiLog } }: Tx,
  { service }: OwnerCall,
  applicationId: string,
  entries: readonly string[],
): Promise<void> {
  if (entries.length > 0) await aiLog.settle(applicationId, entries, service.engine.clock.now());
}

function serializeQuestion(row: KnowledgeQuestionRow): KeptQuestion {
  return {
    id: row.id,
    documentId: row.document_id,
    heading: row.heading,
    question: row.question,
    createdAt: isoTime(row.created_at),
  };
}
