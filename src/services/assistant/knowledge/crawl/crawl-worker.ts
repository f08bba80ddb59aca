// Runs in a thread of its own: the crawl of one site. Its pages, links and robots.txt come from anywhere, and what they
// cost to read must not be the server's time. Hands over one page and waits until it is asked for the next.
import { parentPort, workerData } from 'node:worker_threads';
import { setTimeout as sleep } from 'node:timers/promises';
import { crawlSite } from './crawler.ts';
import type { CrawlTask, CrawlWord, CrawlWorkerReply } from './crawl-thread.ts';

function isTask(value: unknown): value is CrawlTask {
  return typeof value === 'object' && value !== null && 'start' in value && 'userAgent' in value;
}

let isOver = false;
let ask = (): void => undefined;
parentPort?.on('message', (word: CrawlWord) => {
  if (word === 'end') isOver = true;
  else ask();
});

/** Resolves when the next page is asked for. */
function asked(): Promise<void> {
  return new Promise((resolve) => (ask = resolve));
}

const task: unknown = workerData;
if (isTask(task)) {
  const pages = crawlSite({
    ...task,
    start: new URL(task.start),
    clock: {
      after: (ms, run) => {
        const timer = setTimeout(run, ms);
        return () => clearTimeout(timer);
      },
    },
    sleep: async (ms) => {
      await sleep(ms);
    },
    signal: new AbortController().signal,
    isOver: () => isOver,
  });
  for await (const page of pages) {
    const reply: CrawlWorkerReply = { page };
    const next = asked();
    parentPort?.postMessage(reply);
    await next;
  }
  const end: CrawlWorkerReply = { page: null };
  parentPort?.postMessage(end);
}
