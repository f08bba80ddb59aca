// Owns what the settings' pages are made of: something that is loaded, sections, acts with a question before, and texts
// that are shown once.
import type { ComponentChildren, JSX } from 'preact';
import { useCallback, useEffect, useState } from 'preact/hooks';
import { Button } from '../ui/button.tsx';
import { Confirm } from '../ui/dialog.tsx';
import { toast } from '../ui/toast.tsx';
import { problemOf, rest } from './rest.ts';
import { s, type SettingsWord } from './words.ts';

export interface Loaded<T> {
  /** null: not there yet, or it could not be loaded. */
  readonly data: T | null;
  readonly problem: string;
  readonly reload: () => Promise<void>;
}

/** What a path answers, asked again when the path changes or `reload` is called. */
export function useRest<T>(path: string): Loaded<T> {
  const [data, setData] = useState<T | null>(null);
  const [problem, setProblem] = useState('');
  const reload = useCallback(async () => {
    try {
      setData(await rest<T>('GET', path));
      setProblem('');
    } catch (error) {
      setProblem(problemOf(error));
    }
  }, [path]);
  useEffect(() => void reload(), [reload]);
  return { data, problem, reload };
}

/** Draws what was loaded; until then, that it is on its way or what went wrong. */
export function Await<T>({
  of,
  children,
}: {
  readonly of: Loaded<T>;
  readonly children: (data: T) => ComponentChildren;
}): JSX.Element {
  if (of.data !== null) return <>{children(of.data)}</>;
  if (of.problem === '') return <p class="loading">{s('loading')}</p>;
  return (
    <p class="callout bad" role="alert">
      {of.problem} <Button onClick={() => void of.reload()}>{s('retry')}</Button>
    </p>
  );
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
  /** What is said afterwards; null: what the page then shows. */
  readonly done?: SettingsWord | null;
}

/** A button that asks the server for something, and says how it went. */
export function Act({ label, question, act, done = 'saved' }: ActProps): JSX.Element {
  const [asking, setAsking] = useState(false);
  const [busy, setBusy] = useState(false);
  const run = async (): Promise<void> => {
    setAsking(false);
    setBusy(true);
    try {
      await act();
      if (done !== null) toast(s(done), 'good');
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

/** A secret or an address to be copied now. */
export function Shown({ title, text }: { readonly title: SettingsWord; readonly text: string }): JSX.Element {
  return (
    <div class="callout" role="status">
      <p>{s(title)}</p>
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
