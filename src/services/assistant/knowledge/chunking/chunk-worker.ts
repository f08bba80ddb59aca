// The thread in which a long document is cut: parsing can't be interrupted, and would hold the event loop.
import { parentPort } from 'node:worker_threads';
import { HtmlDepthError } from './blocks.ts';
import type { ChunkInput, ChunkReply } from './chunk-in-turn.ts';
import { chunkDocument } from './chunker.ts';

function cut({ content, format, source, title }: ChunkInput): ChunkReply {
  try {
    return { chunks: chunkDocument(content, format, source, title ?? null) };
  } catch (error) {
    if (error instanceof HtmlDepthError) return { tooDeep: error.message };
    throw error;
  }
}

parentPort?.once('message', (input: ChunkInput) => parentPort?.postMessage(cut(input)));
