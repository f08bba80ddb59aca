// Owns what is written in the settings and not saved: leaving it behind is asked about, by the dashboard where one goes on
// within it, by the browser where one goes away.
import { signal } from '@preact/signals';
import type { JSX } from 'preact';
import { useLayoutEffect } from 'preact/hooks';
import { session } from '../api.ts';
import { go, leaving } from '../router.ts';
import { Button } from '../ui/button.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { s } from './words.ts';

/** Each stands for a form with something that was not saved. */
const unsaved = new Set<object>();

/** What goes on as soon as the question is answered; null: nothing is asked. */
const asked = signal<(() => void) | null>(null);

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
  asked.value = () => {
    if (!goToStep(key)) go(hash === '' ? '#/' : hash);
  };
}

function hold(form: object): void {
  unsaved.add(form);
  if (unsaved.size > 1) return;
  here = { hash: location.hash, key: keyOfStep() };
  leaving.ask = (then) => {
    if (then === undefined) askAtStep();
    else asked.value = then;
  };
  addEventListener('beforeunload', askBrowser);
  addEventListener('click', askAtLink, { capture: true });
}

function letGo(): void {
  unsaved.clear();
  leaving.ask = null;
  removeEventListener('beforeunload', askBrowser);
  removeEventListener('click', askAtLink, { capture: true });
  const then = asked.value;
  asked.value = null;
  then?.();
}

/** Has it asked before the page is left with something unsaved. */
export function useUnsavedGuard(isUnsaved: boolean): void {
  // At once: what loads the page anew after saving must not be asked about.
  useLayoutEffect(() => {
    if (!isUnsaved) return undefined;
    const form = {};
    hold(form);
    return () => {
      // What was saved while the question stood needs no answer.
      if (unsaved.delete(form) && unsaved.size === 0) letGo();
    };
  }, [isUnsaved]);
}

/** Goes to another page from one whose subject is gone, and with it what was written about it. */
export function leaveUnasked(href: string): void {
  asked.value = null;
  letGo();
  go(href);
}

/** The question, where one is asked. It waits behind the sign-in, as what was written does. */
export function LeaveQuestion(): JSX.Element | null {
  if (asked.value === null || !session.value) return null;
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
          <Button kind="danger" onClick={letGo}>
            {s('leaveIt')}
          </Button>
        </>
      }
    >
      {s('leaveAbout')}
    </Dialog>
  );
}
