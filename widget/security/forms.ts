// Owns how the page asks: a form with its fields, its button and a line for what went wrong; in the page or in a dialog.
import { h, type Child } from '../shared/dom.ts';
import { PasskeyError } from './browser-passkeys.ts';
import { say } from './words.ts';

export interface Field {
  readonly name: string;
  readonly label: string;
  readonly type?: 'text' | 'email' | 'password';
  readonly autocomplete?: string;
  readonly value?: string;
  readonly inputmode?: string;
  readonly maxlength?: number;
}

export type Values = Readonly<Record<string, string>>;

interface FormParts {
  readonly fields?: readonly Field[];
  readonly button: string;
  /** What stands above the fields. */
  readonly more?: readonly Child[];
  /** Done when it resolves; what it throws is shown, and the form stays. */
  readonly work: (values: Values) => Promise<void>;
}

/** A form that waits while its work is under way, and shows what went wrong. */
export function makeForm({ fields = [], button, more = [], work }: FormParts): HTMLFormElement {
  const inputs = fields.map(makeInput);
  const problem = h('p', { class: 'problem', role: 'alert' });
  const submit = h('button', { class: 'main' }, button);
  const run = async (): Promise<void> => {
    submit.disabled = true;
    problem.textContent = '';
    try {
      await work(Object.fromEntries(inputs.map(({ input }) => [input.name, input.value])));
    } catch (error) {
      problem.textContent = problemText(error);
    } finally {
      submit.disabled = false;
    }
  };
  return h(
    'form',
    {
      submit: (event: SubmitEvent) => {
        event.preventDefault();
        void run();
      },
    },
    ...more,
    ...inputs.map(({ line }) => line),
    problem,
    h('div', { class: 'buttons' }, submit),
  );
}

function problemText(error: unknown): string {
  if (error instanceof PasskeyError) return say(error.reason, { id: error.id });
  return error instanceof Error ? error.message : String(error);
}

function makeInput({ name, label, type = 'text', ...attributes }: Field): {
  readonly line: HTMLElement;
  readonly input: HTMLInputElement;
} {
  const input = h('input', { name, type, required: true, ...attributes });
  return { input, line: h('label', {}, label, input) };
}

/**
 * Asks in a dialog over the page, which closes when its work is done or the member thinks better of it.
 * @param title what is about to happen
 * @param lead why something is asked
 */
export function openDialog(title: string, lead: string, parts: FormParts): void {
  const heading = h('h2', { id: 'dialog-title' }, title);
  const form = makeForm({
    ...parts,
    work: async (values) => {
      await parts.work(values);
      dialog.close();
    },
  });
  const cancel = h('button', { type: 'button', click: () => dialog.close() }, say('cancel'));
  form.lastElementChild?.append(cancel);
  const dialog = h(
    'dialog',
    { 'aria-labelledby': 'dialog-title', close: () => dialog.remove() },
    heading,
    h('p', { class: 'soft' }, lead),
    form,
  );
  document.body.append(dialog);
  dialog.showModal();
}
