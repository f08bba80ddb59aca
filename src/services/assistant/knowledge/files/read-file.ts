// The bytes of a file → a document. PDF and DOCX are converted in a thread of their own, which is ended when it takes too
// long or too much: such a file comes from anywhere, and may be made to stop the process that opens it.
import { Worker } from 'node:worker_threads';
import { createFairLimit } from '../../../../net/fair-limit.ts';
import { errorCode } from '../../../../net/network-errors.ts';
import type { KnowledgeFormat } from '../../../../protocol/assistant.ts';
import { assistantLimits, type FileKind } from '../../../../protocol/codes.ts';
import {
  contentTooLong,
  fileTooLarge,
  FileRefusedError,
  type ConvertedKind,
  type WorkerReply,
} from './file-kinds.ts';

export interface FileBounds {
  readonly timeoutMs: number;
  /** Bytes by which the process may grow. What the thread unpacks is not on its heap. */
  readonly maxGrowth: number;
}

const usual: FileBounds = { timeoutMs: 30_000, maxGrowth: 600_000_000 };
const maxHeapMb = 256;
const lookEveryMs = 20;

/** One at a time: by how much the process grows can be said of one thread only. */
const inTurn = createFairLimit({ maxRunning: 1, maxRunningPerKey: 1, maxWaiting: 64, maxWaitingPerKey: 8 });
/** Bytes of a text: a character has at most three in UTF-8, and a pair of UTF-16 units four. */
const maxTextBytes = 3 * assistantLimits.content;

/** A file as a document. */
export interface FileDocument {
  readonly format: KnowledgeFormat;
  readonly content: string;
}

/**
 * Reads a file.
 * @param turnOf files that must be converted wait their turn: an organization's
 * @throws FileRefusedError encrypted, damaged, too large, without text, not in UTF-8
 * @throws QueueFullError when too many wait already
 */
export async function readFile(kind: FileKind, bytes: Uint8Array, turnOf: string): Promise<FileDocument> {
  if (kind === 'pdf' || kind === 'docx')
    return { format: 'html', content: await inTurn(turnOf, () => fileToHtml(kind, bytes)) };
  return { format: kind, content: decodeText(bytes) };
}

function decodeText(bytes: Uint8Array): string {
  if (bytes.byteLength > maxTextBytes) throw new FileRefusedError(contentTooLong);
  if (bytes.includes(0)) throw new FileRefusedError('it is binary, or text in UTF-16: save it as UTF-8');
  let content: string;
  try {
    content = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new FileRefusedError('it is not UTF-8: save it as UTF-8');
  }
  if (content.trim() === '') throw new FileRefusedError('it is empty');
  if (content.length > assistantLimits.content) throw new FileRefusedError(contentTooLong);
  return content;
}

/** Where it is built the worker lies beside this file's chunk; in the sources it is a file of them. */
const workerUrl = new URL(
  import.meta.url.endsWith('.ts') ? './document-worker.ts' : './document-worker.mjs',
  import.meta.url,
);

/**
 * The text of a PDF or DOCX file as HTML with its headings.
 * @throws FileRefusedError encrypted, damaged, too large, without text
 */
export async function fileToHtml(
  kind: ConvertedKind,
  bytes: Uint8Array,
  { timeoutMs, maxGrowth }: FileBounds = usual,
): Promise<string> {
  if (bytes.byteLength > assistantLimits.fileBytes) throw new FileRefusedError(fileTooLarge);
  const worker = new Worker(workerUrl, {
    workerData: { kind, bytes, maxLength: assistantLimits.content },
    resourceLimits: { maxOldGenerationSizeMb: maxHeapMb, maxYoungGenerationSizeMb: 32 },
    // What libraries print is for no one.
    stdout: true,
    stderr: true,
    env: {},
  });
  const begun = process.memoryUsage.rss();
  const ended = Promise.withResolvers<string>();
  const fail = (problem: string): void => ended.reject(new FileRefusedError(problem));
  const late = setTimeout(() => fail('reading it takes too long: split it'), timeoutMs);
  const watch = setInterval(() => {
    if (process.memoryUsage.rss() - begun > maxGrowth) fail('reading it takes too much memory: split it');
  }, lookEveryMs);
  worker.once('message', (reply: WorkerReply) => {
    // U+0000 can't be stored, and shows nothing.
    if ('html' in reply) ended.resolve(reply.html.replaceAll('\0', ''));
    else fail(reply.problem ?? 'it can’t be read: it may be damaged');
  });
  worker.once('error', (error) =>
    fail(
      errorCode(error) === 'ERR_WORKER_OUT_OF_MEMORY'
        ? 'reading it takes too much memory: split it'
        : 'it can’t be read: it may be damaged',
    ),
  );
  worker.once('exit', () => fail('it can’t be read: it may be damaged'));
  try {
    return await ended.promise;
  } finally {
    clearTimeout(late);
    clearInterval(watch);
    await worker.terminate();
  }
}
