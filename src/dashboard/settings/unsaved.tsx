// Owns what is written in the settings and not saved: leaving it behind is asked about, by the dashboard where one goes on
// within it or within a page, by the browser where one goes away.
import { signal } from '@preact/signals';
import type { JSX } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { session } from '../api.ts';
import { go, leaving } from '../router.ts';
import { Button } from '../ui/button.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { s } from './words.ts';

/** Each stands for a form with something that was not saved. */
const unsaved = new Set<object>();

interface Question {
  /** The form that would be left; null: all of them. */
  readonly form: object | null;
  /** Goes on as soon as it is answered. */
  readonly goOn: () => void;
}

/** Null: nothing is asked. */
const asked = signal<Question | null>(null);

/** The step of the browser's history that the page belongs to. */
let here = { hash: '', key: keyOfStep() };

/** Not every browser names its steps; null where it does not. */
function keyOfStep(): string | null {
  return globalThis.navigation?.currentEntry?.key ?? null;
}

/** Goes to a step of the history. @returns whether there are names for steps */
function goToStep(key: string | null): boolean {
  const steps = globalThis.navigation;
  if (steps === undefined || key === null) return false;
  // The member may be quicker and go elsewhere: then this ends, and what comes is looked at in its turn.
  const { committed, finished } = steps.traverseTo(key);
  for (const outcome of [committed, finished]) outcome?.catch(() => undefined);
  return true;
}

function askBrowser(event: BeforeUnloadEvent): void {
  // Taken away by who has asked already.
  if (leaving.ask !== null) event.preventDefault();
}

/** A link leads on when the question is answered, unless it opens elsewhere. */
function askAtLink(event: MouseEvent): void {
  const link = event.target instanceof Element ? event.target.closest('a') : null;
  const href = link?.getAttribute('href') ?? '';
  if (!href.startsWith('#') || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
  event.preventDefault();
  go(href);
}

/** The browser's Back, Forward and an address that was typed: it has gone already, and comes back for the question. */
function askAtStep(): void {
  const { hash } = location;
  // A link of a mail: it loads the page anew, which the browser asks about.
  if (/^#[\w-]+=/.test(hash)) return;
  if (hash === here.hash) return;
  const key = keyOfStep();
  if (!goToStep(here.key)) history.pushState(null, '', here.hash);
  askAbout(null, () => {
    if (!goToStep(key)) go(hash === '' ? '#/' : hash);
  });
}

function askAbout(form: object | null, goOn: () => void): void {
  asked.value = { form, goOn };
}

function hold(form: object): void {
  unsaved.add(form);
  if (unsaved.size > 1) return;
  here = { hash: location.hash, key: keyOfStep() };
  leaving.ask = (then) => {
    if (then === undefined) askAtStep();
    else askAbout(null, then);
  };
  addEventListener('beforeunload', askBrowser);
  addEventListener('click', askAtLink, { capture: true });
}

/** A form, or all of them (null), has nothing any more that would be lost. */
function letGo(form: object | null): void {
  if (form === null) unsaved.clear();
  else unsaved.delete(form);
  const question = asked.value;
  const isAnswered = question !== null && (unsaved.size === 0 || question.form === form);
  if (isAnswered) asked.value = null;
  if (unsaved.size === 0) {
    leaving.ask = null;
    removeEventListener('beforeunload', askBrowser);
    removeEventListener('click', askAtLink, { capture: true });
  }
  if (isAnswered) question.goOn();
}

/**
 * Has it asked before the page is left with something unsaved.
 * @param form stands for the form; one that {@link askFirst} is told too
 */
export function useUnsavedGuard(isUnsaved: boolean, form?: object): void {
  const own = useRef({});
  const held = form ?? own.current;
  // At once: what loads the page anew after saving must not be asked about.
  useLayoutEffect(() => {
    if (!isUnsaved) return undefined;
    hold(held);
    return () => {
      // What was saved while the question stood needs no answer.
      if (unsaved.has(held)) letGo(held);
    };
  }, [isUnsaved, held]);
}

/**
 * Goes on within a page, after a question where something would be lost by it.
 * @param form whose place another one takes; null: all forms of the page go
 */
export function askFirst(form: object | null, goOn: () => void): void {
  if (form === null ? unsaved.size > 0 : unsaved.has(form)) askAbout(form, goOn);
  else goOn();
}

/** Goes to another page from one whose subject is gone, and with it what was written about it. */
export function leaveUnasked(href: string): void {
  asked.value = null;
  letGo(null);
  go(href);
}

/** The question, where one is asked. It waits behind the sign-in, as what was written does. */
export function LeaveQuestion(): JSX.Element | null {
  const question = asked.value;
  if (question === null || !session.value) return null;
  const stay = (): void => {
    asked.value = null;
  };
  return (
    <Dialog
      title={s('leaveQuestion')}
      onClose={stay}
      class="confirm"
      footer={
        <>
          <Button autofocus onClick={stay}>
            {s('leaveNot')}
          </Button>
          <Button kind="danger" onClick={() => letGo(question.form)}>
            {s('leaveIt')}
          </Button>
        </>
      }
    >
      {s('leaveAbout')}
    </Dialog>
  );
}
