// Converts a PDF or DOCX file in a thread of its own, which is ended when it takes too long or too much: such a file comes
// from anywhere, and may be made to stop the process that opens it.
import { Worker } from 'node:worker_threads';
import { errorCode } from '../../../../net/network-errors.ts';
import { assistantLimits } from '../../../../protocol/codes.ts';
import { maxFileBytes, FileRefusedError, type FileKind, type WorkerReply } from './file-kinds.ts';

export interface FileBounds {
  readonly timeoutMs: number;
  /** Bytes by which the process may grow. What the thread unpacks is not on its heap. */
  readonly maxGrowth: number;
}

const usual: FileBounds = { timeoutMs: 30_000, maxGrowth: 600_000_000 };
const maxHeapMb = 256;
const lookEveryMs = 20;

/** Where it is built the worker lies beside this file's chunk; in the sources it is a file of them. */
const workerUrl = new URL(
  import.meta.url.endsWith('.ts') ? './document-worker.ts' : './document-worker.mjs',
  import.meta.url,
);

/**
 * The text of a file as HTML with its headings.
 * @throws FileRefusedError encrypted, damaged, too large, without text
 */
export async function fileToHtml(
  kind: FileKind,
  bytes: Uint8Array,
  { timeoutMs, maxGrowth }: FileBounds = usual,
): Promise<string> {
  if (bytes.byteLength > maxFileBytes)
    throw new FileRefusedError(`it is larger than ${maxFileBytes / 1_000_000} MB: split it`);
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
    if ('html' in reply) ended.resolve(reply.html);
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
