// Has a mail parsed in a thread of its own, which is ended when it takes too long or too much memory.
import { Worker } from 'node:worker_threads';
import { createFairLimit } from '../../../net/fair-limit.ts';
import { errorCode } from '../../../net/network-errors.ts';
import { ServiceError } from '../../core/errors.ts';
import type { MailWorkerReply, ParsedMail } from './parsed-mail.ts';

const timeoutMs = 20_000;
const maxHeapMb = 96;
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
 * Reads a mail from its file; the larger of its own files come to lie beside it.
 * @param organizationId whose turn it takes
 * @param worker what runs in the thread
 * @throws MailRefusedError; QueueFullError when too many wait already; ServiceError unavailable where this machine could
 * not read it: it should come again
 */
export function readMail(path: string, organizationId: string, worker = workerUrl): Promise<ParsedMail> {
  return inTurn(organizationId, () => readInThread(path, worker));
}

async function readInThread(path: string, program: URL): Promise<ParsedMail> {
  const worker = new Worker(program, {
    workerData: path,
    resourceLimits: { maxOldGenerationSizeMb: maxHeapMb, maxYoungGenerationSizeMb: 4 },
    // What libraries print is for no one.
    stdout: true,
    stderr: true,
    env: {},
  });
  const ended = Promise.withResolvers<ParsedMail>();
  let started = false;
  // Before it has begun, nothing is known of the mail: it may be fine, and comes again.
  const fail = (problem: string): void =>
    ended.reject(started ? new MailRefusedError(problem) : notReadNow(problem));
  const late = setTimeout(() => fail('reading it takes too long'), timeoutMs);
  worker.on('message', (reply: MailWorkerReply) => {
    if ('started' in reply) {
      started = true;
      late.refresh();
    } else if ('mail' in reply) ended.resolve(reply.mail);
    else fail(reply.problem);
  });
  let crash: Error | null = null;
  worker.once('error', (error) => {
    crash = error instanceof Error ? error : new Error('the thread threw no error');
  });
  // An error may overtake what the thread had said before it. At its exit all of that has been heard.
  worker.once('exit', () => {
    if (errorCode(crash) === 'ERR_WORKER_OUT_OF_MEMORY') fail('reading it takes too much memory');
    else fail(started || crash === null ? 'it may be damaged' : String(crash));
  });
  try {
    return await ended.promise;
  } finally {
    clearTimeout(late);
    await worker.terminate();
  }
}

const notReadNow = (cause: string): ServiceError =>
  Object.assign(new ServiceError('unavailable', 'The mail can’t be read now. Hand it in again later.'), {
    cause,
  });
