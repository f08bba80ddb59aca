// Owns what the settings' pages are made of: something that is loaded, sections, acts with a question before, and texts
// that are shown once.
import type { ComponentChildren, JSX } from 'preact';
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { Button } from '../ui/button.tsx';
import { Confirm } from '../ui/dialog.tsx';
import { toast } from '../ui/toast.tsx';
import { problemOf, rest } from './rest.ts';
import { s, type SettingsWord } from './words.ts';

/** What is said after an act, where it is not that something was saved; null: what the page then shows says enough. */
const doneWords: Readonly<Partial<Record<SettingsWord, SettingsWord | null>>> = {
  ask: null,
  findPassages: null,
  crawlBegin: null,
  makeKey: null,
  makeToken: null,
  rotate: null,
  // A word of success would stand above ways that failed.
  notifyTest: null,
  reveal: 'shown',
  sendSample: 'sent',
  replay: 'sent',
  mailTest: 'sent',
  export: 'downloaded',
  erase: 'erased',
  crawlStop: 'crawlStopping',
  invite: 'doneInvited',
  remove: 'doneRemoved',
  removeMember: 'doneRemoved',
  resetSecondFactor: 'doneRemoved',
  settle: 'doneRemoved',
  revoke: 'doneRevoked',
  endSession: 'doneSignedOut',
  signOutMember: 'doneSignedOut',
  blockAddress: 'doneBlocked',
  lift: 'doneLifted',
  endOverlap: 'doneEnded',
};

/** Says that an act was done. @param label what its button says */
export function sayDone(label: SettingsWord): void {
  const done = doneWords[label];
  if (done !== null) toast(s(done ?? 'saved'), 'good');
}

export interface Loaded<T> {
  /** null: not there yet, or it could not be loaded. */
  readonly data: T | null;
  readonly problem: string;
  readonly reload: () => Promise<void>;
}

/** What a path answers, asked again when the path changes or `reload` is called. */
export function useRest<T>(path: string): Loaded<T> {
  return useLoaded(useCallback(() => rest<T>('GET', path), [path]));
}

/** What is loaded, again when `reload` is called. @param load another function loads anew */
export function useLoaded<T>(load: () => Promise<T>): Loaded<T> {
  const [data, setData] = useState<T | null>(null);
  const [problem, setProblem] = useState('');
  const newest = useRef(0);
  const reload = useCallback(async () => {
    newest.current += 1;
    const mine = newest.current;
    try {
      const loaded = await load();
      // What was asked for before may come behind what was asked for since.
      if (mine !== newest.current) return;
      setData(loaded);
      setProblem('');
    } catch (error) {
      if (mine === newest.current) setProblem(problemOf(error));
    }
  }, [load]);
  useEffect(() => void reload(), [reload]);
  return { data, problem, reload };
}

/** Draws what was loaded, and what went wrong since; until then, that it is on its way. */
export function Await<T>({
  of,
  children,
}: {
  readonly of: Loaded<T>;
  readonly children: (data: T) => ComponentChildren;
}): JSX.Element {
  if (of.data === null && of.problem === '') return <p class="loading">{s('loading')}</p>;
  return (
    <>
      {of.problem === '' ? null : (
        <p class="callout bad" role="alert">
          {of.problem} <Button onClick={() => void of.reload()}>{s('retry')}</Button>
        </p>
      )}
      {of.data === null ? null : children(of.data)}
    </>
  );
}

/** Says that a list goes on, where it does. */
export function ListEnd({
  shown,
  total,
  word = 'newestOf',
}: {
  readonly shown: number;
  readonly total: number;
  /** Which ones are shown. */
  readonly word?: 'newestOf' | 'oftenOf';
}): JSX.Element | null {
  return shown < total ? <p class="hint">{s(word, { n: shown, total })}</p> : null;
}

export function Section({
  title,
  about,
  wide = false,
  children,
}: {
  readonly title: SettingsWord;
  readonly about?: SettingsWord;
  /** For tables with much in a line. */
  readonly wide?: boolean;
  readonly children: ComponentChildren;
}): JSX.Element {
  return (
    <section class={wide ? 'settings-section wide' : 'settings-section'}>
      <h2>{s(title)}</h2>
      {about === undefined ? null : <p class="hint">{s(about)}</p>}
      {children}
    </section>
  );
}

export interface ActProps {
  readonly label: SettingsWord;
  /** For what can't be undone: asked before. */
  readonly question?: string;
  readonly act: () => Promise<unknown>;
}

/** A button that asks the server for something, and says how it went. */
export function Act({ label, question, act }: ActProps): JSX.Element {
  const [asking, setAsking] = useState(false);
  const [busy, setBusy] = useState(false);
  const run = async (): Promise<void> => {
    setAsking(false);
    setBusy(true);
    try {
      await act();
      sayDone(label);
    } catch (error) {
      toast(problemOf(error), 'bad');
    } finally {
      setBusy(false);
    }
  };
  return (
    <>
      <Button
        kind={question === undefined ? 'plain' : 'danger'}
        busy={busy}
        onClick={() => (question === undefined ? void run() : setAsking(true))}
      >
        {s(label)}
      </Button>
      {asking && question !== undefined ? (
        <Confirm
          question={question}
          yes={s(label)}
          danger
          onYes={() => void run()}
          onNo={() => setAsking(false)}
        />
      ) : null}
    </>
  );
}

interface ShownProps {
  readonly title: SettingsWord;
  /** What the title is filled in with. */
  readonly values?: Readonly<Record<string, string>>;
  readonly text: string;
}

/** A secret or an address to be copied now. */
export function Shown({ title, values, text }: ShownProps): JSX.Element {
  return (
    <div class="callout" role="status">
      <p>{s(title, values)}</p>
      <p>
        <code dir="ltr" class="shown">
          {text}
        </code>
      </p>
      <Button
        icon="copy"
        onClick={() => {
          navigator.clipboard.writeText(text).then(
            () => toast(s('copied'), 'good'),
            () => toast(s('notCopied'), 'bad'),
          );
        }}
      >
        {s('copy')}
      </Button>
    </div>
  );
}
