// Has a mail parsed in a thread of its own, which is ended when it takes too long or too much memory.
import { Worker } from 'node:worker_threads';
import { createFairLimit } from '../../../net/fair-limit.ts';
import { errorCode } from '../../../net/network-errors.ts';
import type { MailWorkerReply, ParsedMail } from './parsed-mail.ts';

const timeoutMs = 20_000;
const maxHeapMb = 192;
/** Mails that are parsed at once. One organization's leave room for another's, however long they take. */
const inTurn = createFairLimit({
  maxRunning: 2,
  maxRunningPerKey: 1,
  maxWaiting: 200,
  maxWaitingPerKey: 50,
});

/** A mail that can't be read, now or later: damaged, or made to stop its reader. */
export class MailRefusedError extends Error {
  override readonly name = 'MailRefusedError';
}

/** Where it is built the worker lies beside this file's chunk; in the sources it is a file of them. */
const workerUrl = new URL(
  import.meta.url.endsWith('.ts') ? './mail-worker.ts' : './mail-worker.mjs',
  import.meta.url,
);

/**
 * Reads a mail; its bytes are handed over, and gone afterwards.
 * @param organizationId whose turn it takes
 * @throws MailRefusedError; QueueFullError when too many wait already
 */
export function readMail(raw: Uint8Array, organizationId: string): Promise<ParsedMail> {
  return inTurn(organizationId, () => readInThread(raw));
}

async function readInThread(raw: Uint8Array): Promise<ParsedMail> {
  // Handed over, not copied. What shares its memory with others is small, and is copied.
  const own = raw.byteLength === raw.buffer.byteLength ? raw : new Uint8Array(raw);
  const worker = new Worker(workerUrl, {
    workerData: own,
    transferList: own.buffer instanceof ArrayBuffer ? [own.buffer] : [],
    resourceLimits: { maxOldGenerationSizeMb: maxHeapMb, maxYoungGenerationSizeMb: 32 },
    // What libraries print is for no one.
    stdout: true,
    stderr: true,
    env: {},
  });
  const ended = Promise.withResolvers<ParsedMail>();
  const fail = (problem: string): void => ended.reject(new MailRefusedError(problem));
  const late = setTimeout(() => fail('reading it takes too long'), timeoutMs);
  worker.once('message', (reply: MailWorkerReply) => {
    if ('mail' in reply) ended.resolve(reply.mail);
    else fail(reply.problem);
  });
  worker.once('error', (error) => {
    // Any other is this machine's: the mail may be fine, and comes again.
    if (errorCode(error) === 'ERR_WORKER_OUT_OF_MEMORY') fail('reading it takes too much memory');
    else ended.reject(error);
  });
  worker.once('exit', () => fail('it may be damaged'));
  try {
    return await ended.promise;
  } finally {
    clearTimeout(late);
    await worker.terminate();
  }
}
