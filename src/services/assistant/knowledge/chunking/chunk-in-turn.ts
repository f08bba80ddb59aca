// Where documents are cut: short ones at once, in the turn of their organization; long ones in a thread, one at a time,
// those who ask in turn. The queue is bounded.
import { Worker } from 'node:worker_threads';
import { createFairLimit } from '../../../../net/fair-limit.ts';
import type { KnowledgeFormat } from '../../../../protocol/assistant.ts';
import { computeSlice } from '../../../core/slices.ts';
import type { Service } from '../../../service.ts';
import { HtmlDepthError } from './blocks.ts';
import type { DocumentChunks } from './chunker.ts';

export interface ChunkInput {
  readonly content: string;
  readonly format: KnowledgeFormat;
  readonly source: string;
  readonly title?: string | undefined;
}

/** What the thread answers. */
export type ChunkReply = { readonly chunks: DocumentChunks } | { readonly tooDeep: string };

/** UTF-16 units; up to here a document is cut within a few milliseconds, and a thread takes longer to start. */
const shortLength = 16_000;
const inTurn = createFairLimit({ maxRunning: 1, maxRunningPerKey: 1, maxWaiting: 32, maxWaitingPerKey: 8 });
/** Beside this file as a source, and as a bundle. */
const workerFile = import.meta.url.endsWith('.ts') ? './chunk-worker.ts' : './chunk-worker.mjs';

/**
 * Cuts a document without holding the event loop.
 * @param turnOf in whose turn: an organization's, or an application's
 * @throws HtmlDepthError
 * @throws QueueFullError when too many long documents wait already
 */
export async function chunkInTurn(
  service: Service,
  turnOf: string,
  input: ChunkInput,
): Promise<DocumentChunks> {
  if (input.content.length > shortLength) return inTurn(turnOf, () => chunkInThread(input));
  // The parser of HTML is loaded by the first document and not by every start.
  const { chunkDocument } = await import('./chunker.ts');
  const { content, format, source, title } = input;
  return computeSlice(service, turnOf, () => chunkDocument(content, format, source, title ?? null));
}

async function chunkInThread({ content, format, source, title }: ChunkInput): Promise<DocumentChunks> {
  const worker = new Worker(new URL(workerFile, import.meta.url));
  try {
    const reply = await new Promise<ChunkReply>((resolve, reject) => {
      worker.once('message', resolve);
      worker.once('error', reject);
      const input: ChunkInput = { content, format, source, title };
      worker.postMessage(input);
    });
    if ('tooDeep' in reply) throw new HtmlDepthError(reply.tooDeep);
    return reply.chunks;
  } finally {
    await worker.terminate();
  }
}
