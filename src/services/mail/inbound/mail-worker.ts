// Runs in a thread of its own: the bytes of a mail → what is looked at of it. A mail may be hostile, so read-mail.ts,
// which starts this, bounds its time and its memory. Reads nothing but what it is given.
import { parentPort, workerData } from 'node:worker_threads';
import { parseMail } from './parse-mail.ts';
import type { MailWorkerReply } from './parsed-mail.ts';

const raw: unknown = workerData;
if (raw instanceof Uint8Array) {
  parentPort?.postMessage({ started: true } satisfies MailWorkerReply);
  const reply: MailWorkerReply = await parseMail(raw).then(
    (mail) => ({ mail }),
    (error: unknown) => ({ problem: error instanceof Error ? error.message : 'unknown' }),
  );
  // Handed over, not copied: the server's own thread does not wait for megabytes.
  const bytes = 'mail' in reply ? reply.mail.files.map((file) => file.bytes.buffer) : [];
  parentPort?.postMessage(
    reply,
    [...new Set(bytes)].filter((buffer) => buffer instanceof ArrayBuffer),
  );
}
