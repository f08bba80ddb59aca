// The rules of an application's knowledge: documents in, passages and their index made
// from them, synonyms, and a look at what a search finds. Answers no question itself.
import type { KnowledgeDocument } from '../../../protocol/assistant.ts';
import type { Input, Output } from '../../../protocol/operations.ts';
import type { KnowledgeDocumentRow, ListedDocument } from '../../../engine/rows.ts';
import { safeHref } from '../../../text/links.ts';
import { accessApplication, accessKnowledgeDocument, accessOrganization } from '../../core/access.ts';
import { assertPlanHasAi } from '../../tenants/applications.ts';
import { audit } from '../../core/audit.ts';
import { chunkerVersion, HtmlDepthError } from './chunking/blocks.ts';
import { badField } from '../../core/errors.ts';
import type { DocumentChunks } from './chunking/chunker.ts';
import { isoTime } from '../../core/serializers.ts';
import { retrieve, thresholds } from './retrieval/retrieval.ts';
import type { OwnerCall, ReadTx, Service, Tx } from '../../service.ts';
import { parseSynonyms } from './retrieval/synonyms.ts';
import { indexTerms, terms } from './retrieval/terms.ts';

/** A document's passages with the terms of each, made before the transaction. */
export interface ChunkedDocument {
  readonly title: string;
  readonly passages: readonly (DocumentChunks['passages'][number] & {
    readonly headingTerms: readonly string[];
    readonly terms: readonly string[];
  })[];
}

/** @throws ServiceError bad_request: nothing to read in it */
export async function prepareDocument(
  _call: OwnerCall,
  input: Input<'knowledge.add'>,
): Promise<ChunkedDocument> {
  if (input.url !== undefined && input.url !== null && !isWebAddress(input.url))
    throw badField('url', 'must be an address like https://…');
  const prepared = await chunkAndIndex(input);
  if (prepared.passages.length === 0) throw badField('content', 'holds no text to be found');
  return prepared;
}

/** Whether an address may be shown as where a document can be read. */
export function isWebAddress(address: string): boolean {
  return /^https?:/i.test(address) && safeHref(address) !== null;
}

/** @throws ServiceError bad_request when it is nested too deep */
async function chunkAndIndex(
  input: Pick<KnowledgeDocumentRow, 'content' | 'format' | 'source'> & {
    readonly title?: string | undefined;
  },
): Promise<ChunkedDocument> {
  // The parser of HTML is loaded by the first document and not by every start.
  const { chunkDocument: cutDocument } = await import('./chunking/chunker.ts');
  try {
    const { title, passages } = cutDocument(input.content, input.format, input.source, input.title ?? null);
    const ofTitle = indexTerms(title);
    return {
      title,
      passages: passages.map((one) => ({
        ...one,
        headingTerms: [...ofTitle, ...indexTerms(one.heading ?? '')],
        terms: indexTerms(one.text),
      })),
    };
  } catch (error) {
    if (error instanceof HtmlDepthError) throw badField('content', error.message);
    throw error;
  }
}

/**
 * Adds a document, or updates the one that was made from the same source.
 * @throws ServiceError not_found, plan_limit, bad_request
 */
export async function addDocument(
  tx: Tx,
  call: OwnerCall,
  input: Input<'knowledge.add'>,
  prepared: ChunkedDocument,
): Promise<Output<'knowledge.add'>> {
  const application = await accessApplication(tx, call.actor, input.applicationId);
  await assertPlanHasAi(tx, application.organization_id);
  const { knowledge } = tx.repositories;
  const { clock } = call.service.engine;
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
    edition: chunkerVersion,
    created_at: before?.created_at ?? now,
    updated_at: now,
  };
  if (before !== undefined && isUnchanged(before, row))
    return { ...serializeDocument(before, await knowledge.passagesOfDocument(row.id)), change: 'unchanged' };
  const change = before === undefined ? 'added' : 'updated';
  await (before === undefined ? knowledge.insert(row) : knowledge.update(row));
  await replacePassages(tx, call.service, row, prepared);
  await audit(tx, call, {
    organizationId: row.organization_id,
    action: 'knowledge.add',
    subject: `application:${application.id}`,
    detail: { document: row.id, source: input.source.slice(0, 200), change },
  });
  return { ...serializeDocument(row, prepared.passages.length), change };
}

function isUnchanged(before: KnowledgeDocumentRow, row: KnowledgeDocumentRow): boolean {
  return (['title', 'url', 'format', 'content', 'edition'] as const).every(
    (column) => before[column] === row[column],
  );
}

/** A document's passages and their words, in place of those it had. */
async function replacePassages(
  { repositories: { knowledge } }: Tx,
  { engine: { clock } }: Service,
  document: Pick<KnowledgeDocumentRow, 'id' | 'application_id'>,
  { passages }: ChunkedDocument,
): Promise<void> {
  await knowledge.removePassages(document.id);
  const scope = await knowledge.ensureScope(document.application_id);
  const kept = await knowledge.questions([document.id]);
  for (const [position, one] of passages.entries()) {
    const { heading, anchor, text } = one;
    await knowledge.insertPassage(
      {
        id: clock.newId(),
        document_id: document.id,
        application_id: document.application_id,
        position,
        heading,
        anchor,
        text,
      },
      scope,
      {
        // A kept question is found as a heading is.
        heading: [
          ...one.headingTerms,
          ...kept
            .filter((other) => other.heading === heading)
            .flatMap(({ question }) => indexTerms(question)),
        ],
        text: one.terms,
      },
    );
  }
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

/** Removes a document with its passages. On every plan: what was put in may always be taken out. @throws ServiceError not_found */
export async function removeDocument(
  tx: Tx,
  call: OwnerCall,
  input: Input<'knowledge.remove'>,
): Promise<{ success: true }> {
  const row = await accessKnowledgeDocument(tx, call.actor, input.documentId);
  await tx.repositories.knowledge.remove(row.id);
  await audit(tx, call, {
    organizationId: row.organization_id,
    action: 'knowledge.remove',
    subject: `application:${row.application_id}`,
    detail: { document: row.id, source: row.source.slice(0, 200) },
  });
  return { success: true };
}

/** What a question finds, with how well. @throws ServiceError not_found, plan_limit */
export async function searchKnowledge(
  call: OwnerCall,
  input: Input<'knowledge.search'>,
): Promise<Output<'knowledge.search'>> {
  await call.service.engine.store.read(async (tx) =>
    assertPlanHasAi(tx, (await accessApplication(tx, call.actor, input.applicationId)).organization_id),
  );
  const { passages, coverage, confidence } = await retrieve(
    call.service,
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
 * A document that can't be read any more keeps what it has.
 * @param stopped ends it between two documents
 */
export async function rechunkStaleDocuments(
  service: Service,
  stopped: () => boolean = () => false,
): Promise<void> {
  const { store } = service.engine;
  while (!stopped()) {
    const [id] = await store.read(({ repositories }) => repositories.knowledge.stale(chunkerVersion, 1));
    if (id === undefined) return;
    const before = await store.read(({ repositories }) => repositories.knowledge.byId(id));
    if (before === undefined) continue;
    // The title may have been given by hand: it stays.
    const prepared = await tryChunk(before);
    await store.write({ organization: before.organization_id }, async (tx) => {
      const now = await tx.repositories.knowledge.byId(id);
      // Updated in between: then it has new passages already.
      if (now === undefined || now.edition === chunkerVersion || now.updated_at !== before.updated_at) return;
      await tx.repositories.knowledge.update({ ...now, edition: chunkerVersion });
      if (prepared !== null) await replacePassages(tx, service, now, prepared);
    });
  }
}

async function tryChunk(row: KnowledgeDocumentRow): Promise<ChunkedDocument | null> {
  try {
    return await chunkAndIndex(row);
  } catch {
    return null;
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
