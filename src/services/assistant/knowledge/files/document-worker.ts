// Runs in a thread of its own: the bytes of a PDF or DOCX file → HTML with its headings. A file may be hostile, so
// read-file.ts, which starts it, bounds its time and its memory. Reads nothing but what it is given.
import { parentPort, workerData } from 'node:worker_threads';
import { FileRefusedError, type ConvertedKind, type WorkerReply } from './file-kinds.ts';

interface Task {
  readonly kind: ConvertedKind;
  readonly bytes: Uint8Array;
  readonly maxLength: number;
}

function isTask(value: unknown): value is Task {
  return typeof value === 'object' && value !== null && 'kind' in value && 'bytes' in value;
}

async function convert({ kind, bytes, maxLength }: Task): Promise<string> {
  if (kind === 'pdf') return (await import('./pdf.ts')).pdfToHtml(bytes, maxLength);
  return (await import('./docx.ts')).docxToHtml(bytes, maxLength);
}

const task: unknown = workerData;
if (isTask(task)) {
  const reply: WorkerReply = await convert(task).then(
    (html) => ({ html }),
    (error: unknown) => ({
      problem: error instanceof FileRefusedError ? error.message : null,
    }),
  );
  parentPort?.postMessage(reply);
}
