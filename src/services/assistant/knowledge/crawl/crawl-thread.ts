// A crawl in a thread of its own, as its pages come. Ends the thread when no more of them are wanted.
import { Worker } from 'node:worker_threads';
import type { CrawledPage, CrawlOptions, CrawlTruncated } from './crawler.ts';

/** What the thread is told: the crawl's options that are plain data. */
export type CrawlTask = Pick<
  CrawlOptions,
  'maxPages' | 'depth' | 'withinFolder' | 'allowPrivate' | 'userAgent' | 'knownUrls' | 'delayMs'
> & { readonly start: string };

/** What the thread is told while it reads: to go on with the next page, or to end before it. */
export type CrawlWord = 'next' | 'end';

/** What the thread says; null: there is no further page. */
export interface CrawlWorkerReply {
  readonly page: CrawledPage | CrawlTruncated | null;
}

const maxHeapMb = 256;
/** Beside this file as a source, and as a bundle. */
const workerFile = import.meta.url.endsWith('.ts') ? './crawl-worker.ts' : './crawl-worker.mjs';

/**
 * Reads a site's pages, one at a time.
 * @param signal ends it, also in the middle of a page
 * @param over has it end before the next page, and say how many addresses were left
 * @throws Error when the thread could not go on: a site took too much memory
 */
export async function* crawlInThread(
  task: CrawlTask,
  signal: AbortSignal,
  over: AbortSignal,
): AsyncGenerator<CrawledPage | CrawlTruncated> {
  const worker = new Worker(new URL(workerFile, import.meta.url), {
    workerData: task,
    resourceLimits: { maxOldGenerationSizeMb: maxHeapMb, maxYoungGenerationSizeMb: 32 },
    // What libraries print is for no one.
    stdout: true,
    stderr: true,
    env: {},
  });
  const tell = (word: CrawlWord): void => worker.postMessage(word);
  const end = (): void => tell('end');
  over.addEventListener('abort', end);
  try {
    if (over.aborted) end();
    for (;;) {
      const page = await nextPage(worker, signal);
      if (page === null) return;
      yield page;
      tell('next');
    }
  } finally {
    over.removeEventListener('abort', end);
    await worker.terminate();
  }
}

async function nextPage(worker: Worker, signal: AbortSignal): Promise<CrawlWorkerReply['page']> {
  const came = Promise.withResolvers<CrawlWorkerReply['page']>();
  const hear = ({ page }: CrawlWorkerReply): void => came.resolve(page);
  const fail = (): void => came.reject(new Error('The thread of a crawl ended.'));
  const stop = (): void => came.resolve(null);
  worker.once('message', hear);
  worker.once('error', fail);
  worker.once('exit', fail);
  signal.addEventListener('abort', stop);
  if (signal.aborted) stop();
  try {
    return await came.promise;
  } finally {
    worker.off('message', hear);
    worker.off('error', fail);
    worker.off('exit', fail);
    signal.removeEventListener('abort', stop);
  }
}
