// Owns reading a website into the knowledge: beginning, following its progress, stopping it, and what earlier ones found.
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { Table } from '../ui/table.tsx';
import { Form, type FieldSpec } from './form.tsx';
import { Act, Await, Section, useRest } from './parts.tsx';
import { rest } from './rest.ts';
import { figure, s, when } from './words.ts';
import type { Crawl } from '../../protocol/assistant.ts';

const pollMs = 1_500;

const fields: readonly FieldSpec[] = [
  { path: 'url', label: 'crawlUrl', hint: 'crawlUrlHint', kind: 'url', required: true },
  { path: 'maxPages', label: 'crawlMost', kind: 'number' },
  { path: 'below', label: 'crawlBelow', kind: 'check' },
  { path: 'prune', label: 'crawlPrune', kind: 'check' },
];

const stateWords = {
  waiting: 'crawlWaiting',
  running: 'crawlRunning',
  done: 'crawlDone',
  cancelled: 'crawlCancelled',
  failed: 'crawlFailed',
  interrupted: 'crawlInterrupted',
} as const;

function isUnderWay({ status }: Crawl): boolean {
  return status === 'waiting' || status === 'running';
}

export interface WebsitesProps {
  readonly application: string;
  /** Called when pages were read, so that the documents are listed anew. */
  readonly onRead: () => void;
}

export function Websites({ application, onRead }: WebsitesProps): JSX.Element {
  const path = `/admin/knowledge/crawls?applicationId=${application}&limit=5`;
  const crawls = useRest<{ crawls: Crawl[] }>(path);
  const newest = crawls.data?.crawls[0];
  const under = newest !== undefined && isUnderWay(newest) ? newest.id : null;
  return (
    <Section title="crawl" about="crawlAbout">
      {under === null ? (
        <Form
          fields={fields}
          initial={{ maxPages: 100 }}
          submit="crawlBegin"
          clears
          onSubmit={async (body) => {
            await rest('POST', '/admin/knowledge/crawls', { ...body, applicationId: application });
            await crawls.reload();
          }}
        />
      ) : (
        <Progress
          key={under}
          id={under}
          onEnd={() => {
            void crawls.reload();
            onRead();
          }}
        />
      )}
      <Await of={crawls}>
        {(data) => (
          <Table
            caption={s('crawl')}
            rows={data.crawls.filter((one) => !isUnderWay(one))}
            rowKey={({ id }) => id}
            columns={[
              { key: 'time', title: s('time'), cell: ({ createdAt }) => when(createdAt) },
              { key: 'url', title: s('url'), cell: ({ url }) => <bdi dir="ltr">{url}</bdi> },
              { key: 'state', title: s('state'), cell: (one) => <Outcome crawl={one} /> },
              { key: 'pages', title: s('crawlPages'), end: true, cell: ({ pages }) => figure(pages) },
            ]}
            empty=""
          />
        )}
      </Await>
    </Section>
  );
}

/** One that is under way: asked for until it ends. */
function Progress({ id, onEnd }: { readonly id: string; readonly onEnd: () => void }): JSX.Element {
  const path = `/admin/knowledge/crawls/${id}`;
  const [crawl, setCrawl] = useState<Crawl | null>(null);
  useEffect(() => {
    let gone = false;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const look = async (): Promise<void> => {
      // Where the server can't be reached now, it is asked again.
      const next = await rest<{ crawl: Crawl }>('GET', path).catch(() => null);
      if (gone) return;
      if (next !== null) setCrawl(next.crawl);
      if (next !== null && !isUnderWay(next.crawl)) return onEnd();
      timer = setTimeout(() => void look(), pollMs);
    };
    void look();
    return () => {
      gone = true;
      clearTimeout(timer);
    };
  }, [path]);
  return (
    <div class="callout">
      <p>
        <bdi dir="ltr">{crawl?.url ?? ''}</bdi>
      </p>
      <progress
        aria-label={s('crawlRunning')}
        {...(crawl?.status === 'running' && { value: crawl.pages, max: crawl.maxPages })}
      />
      <p role="status">
        {crawl?.status === 'running'
          ? s('crawlProgress', { n: figure(crawl.pages), most: figure(crawl.maxPages) })
          : s(crawl === null ? 'loading' : 'crawlWaiting')}
      </p>
      <Act label="crawlStop" act={() => rest('POST', `${path}/cancel`)} />
    </div>
  );
}

/** How one ended, and what could not be read. */
function Outcome({ crawl }: { readonly crawl: Crawl }): JSX.Element {
  const { status, added, updated, removed, left, problem, problems } = crawl;
  return (
    <>
      {s(stateWords[status])}{' '}
      <span class="hint">
        {s('crawlFound', { added: figure(added), updated: figure(updated), removed: figure(removed) })}
      </span>
      {/* Where its time was over, the problem says how many are left: a higher number would not help. */}
      {left === null || problem !== null ? null : <p class="hint">{s('crawlMore', { n: left })}</p>}
      {problem === null ? null : (
        <p class="problem" dir="auto">
          {problem}
        </p>
      )}
      {problems.length === 0 ? null : (
        <details>
          <summary>{s('crawlProblems')}</summary>
          <ul>
            {problems.map((one) => (
              <li key={one.url}>
                <bdi dir="ltr">{one.url}</bdi>: <span dir="auto">{one.problem}</span>
              </li>
            ))}
          </ul>
        </details>
      )}
    </>
  );
}
