// Runs in a thread of its own: the file of a mail → what is looked at of it. A mail may be hostile, so read-mail.ts,
// which starts this, bounds its time and its memory. Reads nothing but this file, and writes those of its parts beside it.
import { parentPort, workerData } from 'node:worker_threads';
import { lightenMail } from './light-mail.ts';
import { parseMail } from './parse-mail.ts';
import type { MailWorkerReply } from './parsed-mail.ts';

const path: unknown = workerData;
if (typeof path === 'string') {
  parentPort?.postMessage({ started: true } satisfies MailWorkerReply);
  const reply: MailWorkerReply = await lightenMail(path)
    .then((light) => parseMail(light.raw, light))
    .then(
      (mail) => ({ mail }),
      (error: unknown) => ({ problem: error instanceof Error ? error.message : 'unknown' }),
    );
  parentPort?.postMessage(reply);
}
