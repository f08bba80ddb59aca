// Vectors of passages, where a model for them is configured: made in the background,
// compared in memory. They only add to what words find: without them nothing is missing.
import { ModelRefusalError, type Embeddings } from '../language-model.ts';
import { computeSlice } from '../../core/slices.ts';
import type { Service } from '../../service.ts';

/** How long a question waits for its own vector, ms: then words alone must do. */
const queryTimeoutMs = 1_500;
/** How long a batch of passages may take, ms. */
const batchTimeoutMs = 30_000;
/** How long no question waits for a model that did not answer a question in time, ms. */
const cooldownMs = 30_000;
/** By organization: its own slow questions must not cost others their vectors. */
const cooldownUntil = new WeakMap<Embeddings, Map<string, number>>();
/** Passages of all organizations get their vectors one batch after another, as one asker. */
const backgroundAsker = 'background';
const batchSize = 32;
const pageSize = 1_000;
/** A text that every model has a vector for, as long as it works. */
const plainText = 'text';
/** UTF-16 units of a text that a model is shown. */
const maxTextLength = 4_000;

/** A passage's row in the index, and the cosine of its vector and the question's. */
export interface NearRow {
  readonly row: number;
  readonly likeness: number;
}

/**
 * An application's passages whose vectors are nearest to a question's, nearest first.
 * @returns none where no model is configured, no passage has a vector yet, or the model does not answer in time
 */
export async function findNearestRows(
  service: Service,
  applicationId: string,
  question: string,
  most: number,
): Promise<NearRow[]> {
  const embeddings = service.model?.embeddings ?? null;
  if (embeddings === null) return [];
  const { store } = service.engine;
  const some = await store.read(({ repositories }) =>
    repositories.knowledge.embedded(applicationId, embeddings.name, 0, 1),
  );
  const application = some.length === 0 ? null : await service.configCache.application(applicationId);
  if (application === null) return [];
  const asked = await embedOne(service, embeddings, application.organization.id, question);
  if (asked === null) return [];
  const nearest: NearRow[] = [];
  let after = 0;
  const comparePage = async (): Promise<boolean> => {
    const rows = await store.read(({ repositories }) =>
      repositories.knowledge.embedded(applicationId, embeddings.name, after, pageSize),
    );
    for (const { row, embedding } of rows) {
      const likeness = embedding === null ? 0 : cosineSimilarity(asked, embedding);
      if (likeness > 0) nearest.push({ row, likeness });
    }
    nearest.sort((a, b) => b.likeness - a.likeness || a.row - b.row).splice(most);
    after = rows.at(-1)?.row ?? after;
    return rows.length < pageSize;
  };
  // A read by itself lets no one else in: SQLite answers within the turn.
  for (;;) {
    const isLast = await computeSlice(service, application.organization.id, async (full) => {
      for (;;) {
        if (await comparePage()) return true;
        if (full(1)) return false;
      }
    });
    if (isLast) return nearest;
  }
}

async function embedOne(
  service: Service,
  embeddings: Embeddings,
  organizationId: string,
  text: string,
): Promise<Float32Array | null> {
  const { clock } = service.engine;
  const until = cooldownUntil.get(embeddings) ?? new Map<string, number>();
  cooldownUntil.set(embeddings, until);
  if (clock.monotonic() < (until.get(organizationId) ?? 0)) return null;
  try {
    const [vector] = await withTimeout(service, queryTimeoutMs, (signal) =>
      embeddings.embed([text], { asker: organizationId, signal }),
    );
    return vector ?? null;
  } catch {
    until.set(organizationId, clock.monotonic() + cooldownMs);
    // Whatever it was: the question is answered by words, and the background job reports the fault.
    return null;
  }
}

/** Runs something that may hang: after `ms` it is told to stop, and waited for no longer. */
async function withTimeout<T>(
  { engine: { clock } }: Service,
  ms: number,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const late = new AbortController();
  let cancel = (): void => undefined;
  const timeout = new Promise<never>((_, reject) => {
    cancel = clock.after(ms, () => {
      const error = new Error('the embedding model did not answer in time');
      late.abort(error);
      reject(error);
    });
  });
  try {
    return await Promise.race([work(late.signal), timeout]);
  } finally {
    cancel();
  }
}

/** The cosine of two vectors; 0 where they can't be compared. Stored vectors have length 1 already. */
function cosineSimilarity(asked: Float32Array, stored: Uint8Array): number {
  if (stored.byteLength !== asked.byteLength) return 0;
  // An engine's bytes may be part of a larger buffer, and floats must lie at a multiple of four: hence the copy.
  const vector = new Float32Array(new Uint8Array(stored).buffer);
  let product = 0;
  let length = 0;
  for (let index = 0; index < asked.length; index += 1) {
    const one = asked[index] ?? 0;
    product += one * (vector[index] ?? 0);
    length += one * one;
  }
  const likeness = product / Math.sqrt(length);
  return Number.isFinite(likeness) ? likeness : 0;
}

/** A vector of length 1, as its bytes; null for one that has no direction. */
function normalizeVector(vector: Float32Array): Uint8Array | null {
  const length = Math.sqrt(vector.reduce((sum, one) => sum + one * one, 0));
  if (!(length > 0) || !Number.isFinite(length)) return null;
  return new Uint8Array(Float32Array.from(vector, (one) => one / length).buffer);
}

/**
 * Asks the configured model for the vector of every passage that it was not asked about yet, so it goes on where it stopped.
 * A passage that it refuses while it works stays without one, and holds up none of the others.
 * @param stop ends it
 * @throws ModelError, Error when the model answers something else than a vector for each text
 */
export async function embedMissing(service: Service, stop: AbortSignal): Promise<void> {
  const embeddings = service.model?.embeddings ?? null;
  if (embeddings === null) return;
  const { store } = service.engine;
  while (!stop.aborted) {
    const rows = await store.read(({ repositories }) =>
      repositories.knowledge.unembedded(embeddings.name, batchSize),
    );
    if (rows.length === 0) return;
    const texts = rows.map(({ title, heading, text }) =>
      [title, heading ?? '', text].join('\n').slice(0, maxTextLength).toWellFormed(),
    );
    const vectors = await embedBatch(service, embeddings, texts, stop);
    await store.write('server:embeddings', async ({ repositories }) => {
      for (const [index, { id }] of rows.entries()) {
        await repositories.knowledge.setEmbedding(
          id,
          normalizeVector(vectors[index] ?? noVector),
          embeddings.name,
        );
      }
    });
  }
}

/** Has no direction, so a passage is stored without one. */
const noVector = new Float32Array();

/** A vector for each text. Where the model refuses them together it is asked one by one, and those it refuses get none. */
async function embedBatch(
  service: Service,
  embeddings: Embeddings,
  texts: readonly string[],
  stop: AbortSignal,
): Promise<readonly Float32Array[]> {
  const embed = async (some: readonly string[]): Promise<readonly Float32Array[]> => {
    const vectors = await withTimeout(service, batchTimeoutMs, (signal) =>
      embeddings.embed(some, { asker: backgroundAsker, signal: AbortSignal.any([signal, stop]) }),
    );
    if (vectors.length !== some.length)
      throw new Error(`the embedding model answered ${vectors.length} vectors for ${some.length} texts`);
    return vectors;
  };
  const embedAlone = async (text: string): Promise<Float32Array> => {
    try {
      return (await embed([text]))[0] ?? noVector;
    } catch (error) {
      if (!(error instanceof ModelRefusalError)) throw error;
      // Where this is refused too, it is not the text, and the next run asks for it again.
      await embed([plainText]);
      return noVector;
    }
  };
  try {
    return await embed(texts);
  } catch (error) {
    if (!(error instanceof ModelRefusalError)) throw error;
  }
  const vectors: Float32Array[] = [];
  for (const text of texts) vectors.push(await embedAlone(text));
  return vectors;
}
