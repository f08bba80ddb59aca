// The rules of an application's knowledge: documents in, passages and their index made
// from them, synonyms, and a look at what a search finds. Answers no question itself.
import type { KnowledgeDocument } from '../../../protocol/assistant.ts';
import type { Input, Output } from '../../../protocol/operations.ts';
import type {
  ApplicationRow,
  KnowledgeDocumentRow,
  KnowledgeQuestionRow,
  ListedDocument,
} from '../../../engine/rows.ts';
import { safeHref } from '../../../text/links.ts';
import { accessApplication, accessKnowledgeDocument, accessOrganization } from '../../core/access.ts';
import { assertPlanHasAi } from '../../tenants/applications.ts';
import { audit } from '../../core/audit.ts';
import { chunkerVersion, HtmlDepthError } from './chunking/blocks.ts';
import { throwFirst } from '../../core/each.ts';
import { badField, ServiceError } from '../../core/errors.ts';
import type { DocumentChunks } from './chunking/chunker.ts';
import { chunkInTurn } from './chunking/chunk-in-turn.ts';
import { FileRefusedError } from './files/file-kinds.ts';
import { fileKinds } from '../../../protocol/codes.ts';
import { isoTime } from '../../core/serializers.ts';
import {
  computeSlice,
  removedRows,
  removeInSlices,
  sliceBudget,
  writeSlice,
  type SliceOwner,
  type SliceBudget,
  type SliceKind,
} from '../../core/slices.ts';
import { retrieve, thresholds } from './retrieval/retrieval.ts';
import { limitAiQuestion } from '../../auth/rate-limits.ts';
import { whileAllowed, writeAs } from '../../auth/standing.ts';
import type { OwnerCall, ReadTx, Service, Tx } from '../../service.ts';
import { parseSynonyms } from './retrieval/synonyms.ts';
import { indexTerms, terms } from './retrieval/terms.ts';

/** The edition of a document whose passages are being made. */
const filling = -chunkerVersion;
/** Removed by one statement: each takes its words out of three indexes. */
const removedPassages = 10;
/** What finding the terms of a passage counts in a slice. */
const indexRows = 10;

/** A document's passages with the terms of each, made before the transaction. */
export interface ChunkedDocument {
  readonly title: string;
  readonly passages: readonly (DocumentChunks['passages'][number] & {
    readonly headingTerms: readonly string[];
    readonly terms: readonly string[];
  })[];
}

/**
 * Reads a file, once it is known that the application may have documents.
 * @throws ServiceError not_found, plan_limit; bad_request: it can't be read, and why
 */
export async function readDocumentFile(
  { service, actor }: OwnerCall,
  { mediaType, file, ...input }: Input<'knowledge.addFile'>,
): Promise<Input<'knowledge.add'>> {
  const organizationId = await service.engine.store.read(async (tx) => {
    const { organization_id: id } = await accessApplication(tx, actor, input.applicationId);
    await assertPlanHasAi(tx, id);
    return id;
  });
  // The thread's starter is loaded by the first file and not by every start.
  const { readFile } = await import('./files/read-file.ts');
  try {
    return { ...input, ...(await readFile(fileKinds[mediaType], file, organizationId)) };
  } catch (error) {
    if (error instanceof FileRefusedError) throw badField('file', `can't be read: ${error.message}`);
    throw error;
  }
}

/** @throws ServiceError bad_request: nothing to read in it */
export function prepareDocument(
  { service, actor }: OwnerCall,
  input: Input<'knowledge.add'>,
): Promise<ChunkedDocument> {
  if (input.url !== undefined && input.url !== null && !isWebAddress(input.url))
    throw badField('url', 'must be an address like https://…');
  return prepareContent(service, actor.kind === 'member' ? actor.organizationId : input.applicationId, input);
}

/**
 * A document cut into passages.
 * @param turnOf in whose turn
 * @throws ServiceError bad_request: nothing to read in it, or it is nested too deep
 */
export async function prepareContent(
  service: Service,
  turnOf: string,
  input: NewDocument,
): Promise<ChunkedDocument> {
  const prepared = await chunkAndIndex(service, turnOf, input);
  if (prepared.passages.length === 0) throw badField('content', 'holds no text to be found');
  return prepared;
}

/** Whether an address may be shown as where a document can be read. */
export function isWebAddress(address: string): boolean {
  return /^https?:/i.test(address) && safeHref(address) !== null;
}

/** What a document is made of. */
type NewDocument = Pick<KnowledgeDocumentRow, 'content' | 'format' | 'source'> & {
  readonly title?: string | undefined;
  readonly url?: string | null | undefined;
};

/** @throws ServiceError bad_request when it is nested too deep */
async function chunkAndIndex(service: Service, turnOf: string, input: NewDocument): Promise<ChunkedDocument> {
  try {
    const { title, passages } = await chunkInTurn(service, turnOf, input);
    const ofTitle = indexTerms(title);
    const indexed: ChunkedDocument['passages'][number][] = [];
    while (indexed.length < passages.length)
      await computeSlice(service, turnOf, (full) => {
        for (const one of passages.slice(indexed.length)) {
          const headingTerms = [...ofTitle, ...indexTerms(one.heading ?? '')];
          indexed.push({ ...one, headingTerms, terms: indexTerms(one.text) });
          if (full(indexRows)) return;
        }
      });
    return { title, passages: indexed };
  } catch (error) {
    if (error instanceof HtmlDepthError) throw badField('content', error.message);
    throw error;
  }
}

/**
 * Adds a document, or updates the one that was made from the same source.
 * @returns the answer, and the row where some of its passages are still to be made
 * @throws ServiceError not_found, plan_limit, bad_request
 */
export async function addDocument(
  tx: Tx,
  call: OwnerCall,
  input: Input<'knowledge.add'>,
  prepared: ChunkedDocument,
): Promise<{ added: Output<'knowledge.add'>; unfinished: DocumentPassages | null }> {
  const application = await accessApplication(tx, call.actor, input.applicationId);
  await assertPlanHasAi(tx, application.organization_id);
  const stored = await storeDocument(tx, call.service, application, input, prepared);
  const { change, id } = stored.added;
  if (change !== 'unchanged')
    await audit(tx, call, {
      organizationId: application.organization_id,
      action: 'knowledge.add',
      subject: `application:${application.id}`,
      detail: { document: id, source: input.source.slice(0, 200), change },
    });
  return stored;
}

/**
 * Stores a document of an application, or the new text of the one from the same source. Whether it may have one is the
 * caller's to check.
 * @returns the answer, and the row where some of its passages are still to be made
 */
export async function storeDocument(
  tx: Tx,
  service: Service,
  application: Pick<ApplicationRow, 'id' | 'organization_id'>,
  input: NewDocument,
  prepared: ChunkedDocument,
): Promise<{ added: Output<'knowledge.add'>; unfinished: DocumentPassages | null }> {
  const { knowledge } = tx.repositories;
  const { clock } = service.engine;
  const before = await knowledge.bySource(application.id, input.source);
  const now = clock.now();
  const row: KnowledgeDocumentRow = {
    id: before?.id ?? clock.newId(),
    organization_id: application.organization_id,
    application_id: application.id,
    source: input.source,
    title: prepared.title,
    url: input.url === undefined ? (before?.url ?? null) : input.url,
    format: input.format,
    content: input.content,
    // Until all its passages are there.
    edition: before === undefined ? filling : 0,
    created_at: before?.created_at ?? now,
    updated_at: before === undefined ? now : Math.max(now, before.updated_at + 1),
  };
  if (before !== undefined && isUnchanged(before, { ...row, edition: chunkerVersion }))
    return {
      added: {
        ...serializeDocument(before, await knowledge.passagesOfDocument(row.id)),
        change: 'unchanged',
      },
      unfinished: null,
    };
  const change = before === undefined ? 'added' : 'updated';
  await (before === undefined ? knowledge.insert(row) : knowledge.update(row));
  // A short document is whole at once.
  const left = await replaceSomePassages(tx, service, row, prepared, sliceBudget(service));
  return {
    added: { ...serializeDocument(row, prepared.passages.length), change },
    unfinished: left ? row : null,
  };
}

function isUnchanged(before: KnowledgeDocumentRow, row: KnowledgeDocumentRow): boolean {
  return (['title', 'url', 'format', 'content', 'edition'] as const).every(
    (column) => before[column] === row[column],
  );
}

/**
 * Puts a document's passages in place of those it had, in slices. Cut off in the middle, the background job goes on:
 * how far it came is in the rows. A question asked in between finds the passages that are there.
 * @param stopped ends it between two slices
 * @param kind whether the one who gave the document waits for it
 */
export async function replacePassages(
  service: Service,
  document: DocumentPassages,
  prepared: ChunkedDocument,
  stopped: () => boolean = () => false,
  kind: SliceKind = 'awaited',
): Promise<void> {
  const replaceSome = (tx: Tx, full: SliceBudget): Promise<boolean> =>
    replaceSomePassages(tx, service, document, prepared, full);
  while (!stopped())
    if (!(await writeSlice(service, { organization: document.organization_id }, replaceSome, kind))) return;
}

type DocumentPassages = Pick<
  KnowledgeDocumentRow,
  'id' | 'organization_id' | 'application_id' | 'updated_at'
>;

/** First the old passages go, then the new ones come in their order. @returns whether anything is left to do */
async function replaceSomePassages(
  tx: Tx,
  service: Service,
  document: DocumentPassages,
  { passages }: ChunkedDocument,
  full: SliceBudget,
): Promise<boolean> {
  const { knowledge } = tx.repositories;
  const state = await knowledge.state(document.id);
  // Removed, updated or finished by another since.
  if (state === undefined || state.updated_at !== document.updated_at || state.edition === chunkerVersion)
    return false;
  if (state.edition !== filling) {
    for (let removed = removedPassages; removed === removedPassages;) {
      removed = await knowledge.removePassages(document.id, removedPassages);
      if (full(removed)) return true;
    }
    await knowledge.setEdition(document.id, filling);
  }
  const kept = await knowledge.questions([document.id]);
  for (let at = await knowledge.passagesOfDocument(document.id); ; at += 1) {
    const passage = passages[at];
    if (passage === undefined) break;
    await insertPassage(tx, service, document, passage, at, kept);
    if (full(1)) return true;
  }
  await knowledge.setEdition(document.id, chunkerVersion);
  return false;
}

async function insertPassage(
  { repositories: { knowledge } }: Tx,
  { engine: { clock } }: Service,
  document: DocumentPassages,
  { heading, anchor, text, headingTerms, terms: words }: ChunkedDocument['passages'][number],
  position: number,
  kept: readonly KnowledgeQuestionRow[],
): Promise<void> {
  const { id: document_id, application_id } = document;
  const scope = await knowledge.ensureScope(application_id);
  // A kept question is found as a heading is.
  const asked = kept.filter((other) => other.heading === heading);
  await knowledge.insertPassage(
    { id: clock.newId(), document_id, application_id, position, heading, anchor, text },
    scope,
    { heading: [...headingTerms, ...asked.flatMap(({ question }) => indexTerms(question))], text: words },
  );
}

export async function listDocuments(
  tx: ReadTx,
  call: OwnerCall,
  input: Input<'knowledge.list'>,
): Promise<Output<'knowledge.list'>> {
  const { limit, offset } = input;
  const organizationId =
    input.applicationId === undefined
      ? (await accessOrganization(tx, call.actor, input.organization)).id
      : (await accessApplication(tx, call.actor, input.applicationId)).organization_id;
  const applicationId = input.applicationId ?? null;
  const rows = await tx.repositories.knowledge.list(organizationId, applicationId, limit, offset);
  const total = await tx.repositories.knowledge.count(organizationId, applicationId);
  return { documents: rows.map((row) => serializeDocument(row, row.passages)), total, limit, offset };
}

/** @throws ServiceError not_found */
export async function getDocument(
  tx: ReadTx,
  call: OwnerCall,
  input: Input<'knowledge.get'>,
): Promise<Output<'knowledge.get'>> {
  const row = await accessKnowledgeDocument(tx, call.actor, input.documentId);
  return {
    ...serializeDocument(row, await tx.repositories.knowledge.passagesOfDocument(row.id)),
    content: row.content,
  };
}

/**
 * Removes a document's passages, before the document itself goes. Cut off in the middle, the same call goes on, and the
 * audit log says who began.
 * @throws ServiceError not_found; unauthorized, forbidden when the right was withdrawn
 */
export async function removePassages(call: OwnerCall, input: Input<'knowledge.remove'>): Promise<void> {
  const { store } = call.service.engine;
  const row = await store.read((tx) => accessKnowledgeDocument(tx, call.actor, input.documentId));
  // The right to remove it is read before anything goes, in each slice, and once more at the end.
  await writeAs(call, { organization: row.organization_id }, async (tx, current) => {
    const found = await accessKnowledgeDocument(tx, current.actor, input.documentId);
    const removed = await tx.repositories.knowledge.removePassages(found.id, removedRows);
    // What this leaves may be cut off.
    if (removed === removedRows) await auditRemoval(tx, current, found, 'knowledge.removeBegun');
  });
  await removeDocumentPassages(whileAllowed(call), row);
}

/** Removes a document's passages in slices. */
export function removeDocumentPassages(
  service: SliceOwner,
  { id, organization_id: organization }: Pick<KnowledgeDocumentRow, 'id' | 'organization_id'>,
): Promise<void> {
  return removeInSlices(service, { organization }, ({ repositories }, most) =>
    repositories.knowledge.removePassages(id, most),
  );
}

/** Removes a document. On every plan: what was put in may always be taken out. @throws ServiceError not_found */
export async function removeDocument(
  tx: Tx,
  call: OwnerCall,
  input: Input<'knowledge.remove'>,
): Promise<{ success: true }> {
  const row = await accessKnowledgeDocument(tx, call.actor, input.documentId);
  await tx.repositories.knowledge.remove(row.id);
  await auditRemoval(tx, call, row, 'knowledge.remove');
  return { success: true };
}

function auditRemoval(
  tx: Tx,
  call: OwnerCall,
  row: Pick<KnowledgeDocumentRow, 'id' | 'organization_id' | 'application_id' | 'source'>,
  action: string,
): Promise<void> {
  return audit(tx, call, {
    organizationId: row.organization_id,
    action,
    subject: `application:${row.application_id}`,
    detail: { document: row.id, source: row.source.slice(0, 200) },
  });
}

/** What a question finds, with how well. @throws ServiceError not_found, plan_limit, rate_limit_exceeded */
export async function searchKnowledge(
  call: OwnerCall,
  input: Input<'knowledge.search'>,
): Promise<Output<'knowledge.search'>> {
  const { service, actor } = call;
  const organizationId = await service.engine.store.read(async (tx) => {
    const { organization_id } = await accessApplication(tx, actor, input.applicationId);
    await assertPlanHasAi(tx, organization_id);
    return organization_id;
  });
  // It asks the model for a vector, as a question does.
  if (actor.kind === 'member') await limitAiQuestion(service, organizationId, `m:${actor.memberId}`);
  const { passages, coverage, confidence } = await retrieve(
    service,
    input.applicationId,
    input.query,
    input.limit,
  );
  return { passages: [...passages], coverage, confidence, thresholds };
}

/** @throws ServiceError not_found */
export async function getSynonyms(
  tx: ReadTx,
  call: OwnerCall,
  input: Input<'knowledge.synonyms'>,
): Promise<Output<'knowledge.synonyms'>> {
  const application = await accessApplication(tx, call.actor, input.applicationId);
  return { synonyms: parseSynonyms(await tx.repositories.knowledge.synonyms(application.id)) };
}

/** @throws ServiceError not_found, plan_limit, bad_request */
export async function setSynonyms(
  tx: Tx,
  call: OwnerCall,
  input: Input<'knowledge.setSynonyms'>,
): Promise<Output<'knowledge.setSynonyms'>> {
  const application = await accessApplication(tx, call.actor, input.applicationId);
  await assertPlanHasAi(tx, application.organization_id);
  for (const [line, words] of input.synonyms.entries())
    for (const [index, word] of words.entries())
      if (terms(word).length === 0) throw badField(`synonyms.${line}.${index}`, 'holds no word');
  await tx.repositories.knowledge.setSynonyms(application.id, JSON.stringify(input.synonyms));
  await audit(tx, call, {
    organizationId: application.organization_id,
    action: 'knowledge.setSynonyms',
    subject: `application:${application.id}`,
    detail: { lines: input.synonyms.length },
  });
  return { synonyms: input.synonyms };
}

/**
 * Makes the passages anew of documents that were cut by another edition of the program, or came by an import.
 * A document that can't be read any more keeps what it has; one that could not be cut now is left for the next run.
 * @param stopped ends it between two documents
 * @throws what the first document that is left was not cut for, once all others are done
 */
export async function rechunkStaleDocuments(
  service: Service,
  stopped: () => boolean = () => false,
): Promise<void> {
  const { store } = service.engine;
  const problems: unknown[] = [];
  /** Up to here, by id, lie those that are left. */
  let after = '';
  while (!stopped()) {
    const from = after;
    const [id] = await store.read(({ repositories }) =>
      repositories.knowledge.stale(chunkerVersion, from, 1),
    );
    if (id === undefined) break;
    const before = await store.read(({ repositories }) => repositories.knowledge.byId(id));
    if (before === undefined) continue;
    let prepared: ChunkedDocument | null;
    try {
      // The title may have been given by hand: it stays.
      prepared = await chunkIfReadable(service, before);
    } catch (error) {
      problems.push(error);
      after = id;
      continue;
    }
    if (prepared !== null) await replacePassages(service, before, prepared, stopped, 'background');
    else
      await writeSlice(
        service,
        { organization: before.organization_id },
        ({ repositories }) => repositories.knowledge.setEdition(id, chunkerVersion),
        'background',
      );
  }
  throwFirst(problems);
}

/** @returns null: what is wrong is in the document, and stays. A full queue or a thread without memory is another time's. */
async function chunkIfReadable(service: Service, row: KnowledgeDocumentRow): Promise<ChunkedDocument | null> {
  try {
    return await chunkAndIndex(service, row.organization_id, row);
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'bad_request') return null;
    throw error;
  }
}

function serializeDocument(row: Omit<ListedDocument, 'passages'>, passages: number): KnowledgeDocument {
  return {
    id: row.id,
    applicationId: row.application_id,
    source: row.source,
    title: row.title,
    url: row.url,
    format: row.format,
    passages,
    createdAt: isoTime(row.created_at),
    updatedAt: isoTime(row.updated_at),
  };
}
