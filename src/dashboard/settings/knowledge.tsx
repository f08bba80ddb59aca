// Owns what the assistant answers from: documents, trying a question, questions without an answer, words of one meaning,
// and the log.
import type { JSX } from 'preact';
import { useReducer, useRef, useState } from 'preact/hooks';
import type {
  AiAnswer,
  AiLogEntry,
  KeptQuestion,
  KnowledgeDocument,
  KnowledgeGap,
  Synonyms,
} from '../../protocol/assistant.ts';
import type { fileKinds } from '../../protocol/codes.ts';
import type { Application } from '../../protocol/entities.ts';
import { hrefOf } from '../router.ts';
import { Select } from '../ui/field.tsx';
import { Table } from '../ui/table.tsx';
import { toast } from '../ui/toast.tsx';
import { Websites } from './crawl.tsx';
import { Form } from './form.tsx';
import type { SettingsPageProps } from './pages.ts';
import { Act, Await, ListEnd, Section, useRest } from './parts.tsx';
import { problemOf, rest, sendFile } from './rest.ts';
import { askFirst, leaveUnasked } from './unsaved.tsx';
import { s, when } from './words.ts';

export function Page({ rest: [id] }: SettingsPageProps): JSX.Element {
  const applications = useRest<{ applications: Application[] }>('/admin/applications');
  const [chosen, setChosen] = useState<string | null>(null);
  const [, drawAgain] = useReducer((times: number) => times + 1, 0);
  const choose = (application: string): void => {
    askFirst(null, () => setChosen(application));
    // While it is asked, the list shows what is on the page.
    drawAgain(undefined);
  };
  if (id !== undefined) return <OneDocument key={id} id={id} />;
  return (
    <Await of={applications}>
      {({ applications: all }) => {
        const application = chosen ?? all[0]?.id;
        if (application === undefined)
          return (
            <p>
              <a href={hrefOf('settings', 'applications')}>{s('noApplication')}</a>
            </p>
          );
        return (
          <>
            <Select
              label={s('application')}
              value={application}
              options={all.map((one) => ({ value: one.id, label: one.name }))}
              onChange={choose}
            />
            <Documents key={`d${application}`} application={application} />
            <Ask key={`a${application}`} application={application} />
            <Gaps key={`g${application}`} application={application} />
            <SynonymLines key={`s${application}`} application={application} />
            <Log key={`l${application}`} application={application} />
          </>
        );
      }}
    </Await>
  );
}

interface OfApplication {
  readonly application: string;
}

/** By the end of a file's name: what the browser would guess differs by system. */
const mediaTypes: Readonly<Record<string, keyof typeof fileKinds>> = {
  pdf: 'application/pdf',
  docx: 'application/vnd.openxmlformats-officedocument.wordprocessingml.document',
  md: 'text/markdown',
  markdown: 'text/markdown',
  html: 'text/html',
  htm: 'text/html',
};

function mediaTypeOf(name: string): keyof typeof fileKinds {
  return mediaTypes[name.split('.').at(-1)?.toLowerCase() ?? ''] ?? 'text/plain';
}

function Documents({ application }: OfApplication): JSX.Element {
  const documents = useRest<{ documents: KnowledgeDocument[] }>(
    `/admin/knowledge?applicationId=${application}`,
  );
  const [progress, setProgress] = useState('');
  const addFiles = async (files: readonly File[]): Promise<void> => {
    for (const [index, file] of files.entries()) {
      setProgress(s('fileOf', { n: index + 1, most: files.length, name: file.name }));
      try {
        const query = new URLSearchParams({ applicationId: application, source: file.name }).toString();
        await sendFile(`/admin/knowledge/files?${query}`, file, mediaTypeOf(file.name));
      } catch (error) {
        toast(`${file.name}: ${problemOf(error)}`, 'bad');
      }
    }
    setProgress('');
    await documents.reload();
  };
  return (
    <>
      <Section title="documents" about="documentsAbout">
        <Await of={documents}>
          {(data) => (
            <Table
              caption={s('documents')}
              rows={data.documents}
              rowKey={({ id }) => id}
              empty={s('none')}
              columns={[
                {
                  key: 'title',
                  title: s('name'),
                  cell: ({ id, title }) => <a href={hrefOf('settings', 'knowledge', id)}>{title}</a>,
                },
                { key: 'source', title: s('source'), cell: ({ source }) => <span dir="ltr">{source}</span> },
                { key: 'changed', title: s('changed'), cell: ({ updatedAt }) => when(updatedAt) },
              ]}
            />
          )}
        </Await>
        <label
          class="drop"
          onDragOver={(event) => event.preventDefault()}
          onDrop={(event) => {
            event.preventDefault();
            void addFiles([...(event.dataTransfer?.files ?? [])]);
          }}
        >
          <span>{s('dropFiles')}</span>
          <input
            type="file"
            multiple
            accept=".pdf,.docx,.md,.markdown,.txt,.html,.htm"
            onChange={({ currentTarget }) => {
              void addFiles([...(currentTarget.files ?? [])]);
              // The same file, mended, can be chosen again.
              currentTarget.value = '';
            }}
          />
        </label>
        <p class="hint" role="status">
          {progress}
        </p>
        <Form
          fields={[
            { path: 'source', label: 'source', hint: 'sourceHint', required: true },
            { path: 'content', label: 'text', hint: 'markdownHint', kind: 'area', required: true },
          ]}
          submit="addDocument"
          clears
          onSubmit={async (body) => {
            await rest('POST', '/admin/knowledge', { ...body, applicationId: application });
            await documents.reload();
          }}
        />
      </Section>
      <Websites application={application} onRead={() => void documents.reload()} />
    </>
  );
}

function OneDocument({ id }: { readonly id: string }): JSX.Element {
  const path = `/admin/knowledge/${id}`;
  const document = useRest<{ document: KnowledgeDocument & { content: string } }>(path);
  const questions = useRest<{ questions: KeptQuestion[] }>(`${path}/questions`);
  return (
    <>
      <p>
        <a href={hrefOf('settings', 'knowledge')}>{s('documents')}</a>
      </p>
      <Await of={document}>
        {({ document: data }) => (
          <Section title="document">
            <h3 dir="auto">{data.title}</h3>
            <pre class="document" dir="auto" tabIndex={0}>
              {data.content}
            </pre>
            <Act
              label="remove"
              question={s('removeQuestion', { name: data.title })}
              act={async () => {
                await rest('DELETE', path);
                leaveUnasked(hrefOf('settings', 'knowledge'));
              }}
            />
          </Section>
        )}
      </Await>
      <Section title="keptQuestions">
        <Await of={questions}>
          {(data) => (
            <Table
              caption={s('keptQuestions')}
              rows={data.questions}
              rowKey={(one) => one.id}
              empty={s('none')}
              columns={[
                {
                  key: 'question',
                  title: s('question'),
                  cell: ({ question }) => <span dir="auto">{question}</span>,
                },
                {
                  key: 'act',
                  title: s('act'),
                  end: true,
                  cell: (one) => (
                    <Act
                      label="remove"
                      act={async () => {
                        await rest('DELETE', `${path}/questions/${one.id}`);
                        await questions.reload();
                      }}
                    />
                  ),
                },
              ]}
            />
          )}
        </Await>
      </Section>
    </>
  );
}

interface Passage {
  readonly id: string;
  readonly title: string;
  readonly text: string;
}

function Ask({ application }: OfApplication): JSX.Element {
  const [answer, setAnswer] = useState<(AiAnswer & { passages: readonly Passage[] }) | null>(null);
  const [question, setQuestion] = useState('');
  return (
    <Section title="tryQuestion" about="tryQuestionAbout">
      <Form
        fields={[{ path: 'question', label: 'question', required: true }]}
        submit="ask"
        onSubmit={async (body) => {
          const { question: asked = '' }: { question?: string } = body;
          setQuestion(asked);
          setAnswer(
            await rest('POST', '/admin/knowledge/ask', { applicationId: application, question: asked }),
          );
        }}
      />
      <Form
        fields={[{ path: 'query', label: 'question', required: true }]}
        submit="findPassages"
        onSubmit={async (body) => {
          const { query = '' }: { query?: string } = body;
          setQuestion(query);
          const { passages } = await rest<{ passages: readonly Passage[] }>(
            'POST',
            '/admin/knowledge/search',
            {
              applicationId: application,
              query,
            },
          );
          setAnswer({ text: '', sources: [], answered: passages.length > 0, passages });
        }}
      />
      {answer === null ? null : (
        <div class="callout" role="status">
          <p dir="auto">{answer.answered ? answer.text : s('noAnswer')}</p>
          <ul>
            {answer.passages.map((passage) => (
              <li key={passage.id}>
                <strong dir="auto">{passage.title}</strong>{' '}
                <span dir="auto">{passage.text.slice(0, 160)}</span>{' '}
                <Act
                  label="keepQuestion"
                  act={() =>
                    rest('POST', `/admin/applications/${application}/questions`, {
                      passageId: passage.id,
                      question,
                      reviewed: true,
                    })
                  }
                />
              </li>
            ))}
          </ul>
        </div>
      )}
    </Section>
  );
}

function Gaps({ application }: OfApplication): JSX.Element {
  const path = `/admin/applications/${application}`;
  const gaps = useRest<{ gaps: KnowledgeGap[]; total: number }>(`${path}/gaps?limit=50`);
  const [open, setOpen] = useState<KnowledgeGap | null>(null);
  const guard = useRef({}).current;
  const answer = (gap: KnowledgeGap): void => {
    if (gap.question !== open?.question) askFirst(guard, () => setOpen(gap));
  };
  return (
    <Section title="gaps" about="gapsAbout">
      <Await of={gaps}>
        {(data) => (
          <>
            <Table
              caption={s('gaps')}
              rows={data.gaps}
              rowKey={({ entries }) => entries[0] ?? ''}
              empty={s('none')}
              columns={[
                {
                  key: 'question',
                  title: s('question'),
                  cell: (gap) => <span dir="auto">{gap.question}</span>,
                },
                { key: 'count', title: s('howOften'), end: true, cell: ({ count }) => count },
                {
                  key: 'act',
                  title: s('act'),
                  end: true,
                  cell: (gap) => (
                    <div class="row-acts">
                      <button type="button" class="button plain" onClick={() => answer(gap)}>
                        <span>{s('answerIt')}</span>
                      </button>
                      <Act
                        label="settle"
                        act={async () => {
                          await rest('POST', `${path}/gaps/settle`, { settles: gap.entries });
                          await gaps.reload();
                        }}
                      />
                    </div>
                  ),
                },
              ]}
            />
            <ListEnd shown={data.gaps.length} total={data.total} word="oftenOf" />
          </>
        )}
      </Await>
      {open === null ? null : (
        <Form
          key={open.question}
          fields={[
            { path: 'question', label: 'question', required: true },
            { path: 'reply', label: 'reply', hint: 'replyHint', kind: 'area', required: true },
            { path: 'reviewed', label: 'reviewed', kind: 'check' },
          ]}
          initial={open}
          submit="keepReply"
          guard={guard}
          onSubmit={async (body) => {
            await rest('POST', `${path}/replies`, { ...body, settles: open.entries });
            setOpen(null);
            await gaps.reload();
          }}
        />
      )}
    </Section>
  );
}

function SynonymLines({ application }: OfApplication): JSX.Element {
  const path = `/admin/applications/${application}/synonyms`;
  const loaded = useRest<{ synonyms: Synonyms }>(path);
  return (
    <Section title="synonyms">
      <Await of={loaded}>
        {({ synonyms }) => (
          <Form
            fields={[
              { path: 'lines', sentAs: 'synonyms', label: 'synonyms', hint: 'synonymsHint', kind: 'area' },
            ]}
            initial={{ lines: synonyms.map((line) => line.join(', ')).join('\n') }}
            onSubmit={(body) => {
              const { lines = '' }: { lines?: string } = body;
              const given = lines
                .split('\n')
                .map((line) => line.split(',').map((word) => word.trim()))
                .filter((line) => line.some((word) => word !== ''));
              return rest('PUT', path, { synonyms: given });
            }}
          />
        )}
      </Await>
    </Section>
  );
}

function Log({ application }: OfApplication): JSX.Element {
  const log = useRest<{ entries: AiLogEntry[]; total: number }>(
    `/admin/ai-log?applicationId=${application}&limit=50`,
  );
  return (
    <Section title="aiLog">
      <Await of={log}>
        {(data) => (
          <>
            <Table
              caption={s('aiLog')}
              rows={data.entries}
              rowKey={({ id }) => id}
              empty={s('none')}
              columns={[
                { key: 'time', title: s('time'), cell: (entry) => when(entry.createdAt) },
                {
                  key: 'question',
                  title: s('question'),
                  cell: (one) => <span dir="auto">{one.question}</span>,
                },
                {
                  key: 'answer',
                  title: s('answer'),
                  cell: (one) => <span dir="auto">{one.answer ?? '–'}</span>,
                },
                { key: 'outcome', title: s('state'), cell: ({ outcome }) => s(`outcome_${outcome}`) },
              ]}
            />
            <ListEnd shown={data.entries.length} total={data.total} />
          </>
        )}
      </Await>
    </Section>
  );
}
