// Owns the short sentences at the edge of the page that go away by themselves, and are read out.
import { signal } from '@preact/signals';
import type { JSX } from 'preact';
import { t } from '../words.ts';
import { IconButton } from './button.tsx';

export type Tone = 'info' | 'good' | 'bad';

interface ToastState {
  readonly id: number;
  readonly text: string;
  readonly tone: Tone;
}

const toasts = signal<readonly ToastState[]>([]);
let nextId = 1;
const shownMs = 6_000;
/** On a phone it lies over what is worked with: that something was done is read in less. */
const doneMs = 3_000;
/** On a phone two are as much as one reads beside the conversation. */
const narrow = matchMedia('(max-width: 49.99rem)');
const maxShown = (): number => (narrow.matches ? 2 : 4);

/** Says a sentence. */
export function toast(text: string, tone: Tone = 'info'): void {
  const id = nextId;
  nextId += 1;
  toasts.value = [...toasts.value.filter((one) => one.text !== text), { id, text, tone }].slice(-maxShown());
  setTimeout(() => dismiss(id), tone === 'good' && narrow.matches ? doneMs : shownMs);
}

function dismiss(id: number): void {
  toasts.value = toasts.value.filter((one) => one.id !== id);
}

/** Where they are shown: once in a page. */
export function Toasts(): JSX.Element {
  return (
    <div class="toasts" role="status" aria-live="polite">
      {toasts.value.map(({ id, text, tone }) => (
        <div key={id} class={`toast ${tone}`}>
          <span dir="auto">{text}</span>
          <IconButton icon="close" label={t('close')} onClick={() => dismiss(id)} />
        </div>
      ))}
    </div>
  );
}
