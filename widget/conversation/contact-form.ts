// Owns the form for name and e-mail address: its fields, what is wrong with them in words, and its two buttons.
// Sends nothing before the visitor submits; what to do with the answers is the engine's business.
import type { Identity, SdkApi } from '../../src/sdk/types.ts';
import type { I18n } from '../panel/i18n.ts';
import { h } from '../shared/dom.ts';
import type { Contact } from './contact.ts';

export interface ContactForm {
  readonly element: HTMLElement;
  /** Shows or hides it, and says whether a message waits for it. */
  update(shown: boolean): void;
  /** Focus on the first field. */
  focus(): void;
}

export interface ContactFormOptions {
  readonly api: SdkApi;
  readonly speech: I18n;
  readonly contact: Contact;
}

/** As long as the service takes (visitor.update). */
const maxLength = { name: 100, email: 254 };
/** Catches slips of the finger; the service decides. */
const emailPattern = /^[^\s@]+@[^\s@]+\.[^\s@]+$/;

type Field = 'name' | 'email';

export function createContactForm({ api, speech, contact }: ContactFormOptions): ContactForm {
  const { words } = speech;
  const { required } = contact;
  const fields = { name: field('name', 'text'), email: field('email', 'email') };
  const waits = h('p', { class: 'waits', role: 'status' });
  const trouble = h('p', { class: 'error', role: 'alert' });
  const proceed = h('button', { type: 'submit', class: 'primary' }, words.proceed);
  const element = h(
    'form',
    { class: 'contact', novalidate: true, hidden: true, 'aria-labelledby': 'contact', submit },
    h('h3', { id: 'contact' }, words.who),
    fields.name.element,
    fields.email.element,
    h('div', {}, waits, trouble),
    h(
      'div',
      { class: 'choices' },
      proceed,
      !required &&
        h('button', { type: 'button', class: 'plain', click: () => contact.complete() }, words.skip),
    ),
  );
  let busy = false;

  function field(
    name: Field,
    type: string,
  ): { readonly element: HTMLElement; readonly input: HTMLInputElement; say(problem: string): void } {
    const error = h('p', { class: 'error', id: `${name}-error` });
    const input = h('input', {
      id: name,
      name,
      type,
      autocomplete: name,
      maxlength: maxLength[name],
      required,
      dir: 'auto',
      input: () => {
        contact[name] = input.value;
      },
    });
    input.value = contact[name];
    return {
      element: h(
        'div',
        {},
        h('label', { for: name }, words[name], !required && h('small', {}, ` (${words.optional})`)),
        input,
        error,
      ),
      input,
      say: (problem) => {
        error.textContent = problem;
        if (problem === '')
          for (const attribute of ['aria-invalid', 'aria-describedby']) input.removeAttribute(attribute);
        else {
          input.setAttribute('aria-invalid', 'true');
          input.setAttribute('aria-describedby', error.id);
        }
      },
    };
  }

  /** Says what is wrong with the fields and goes to the first of them; false when nothing is. */
  function complain(problems: Readonly<Record<Field, string>>): boolean {
    fields.name.say(problems.name);
    fields.email.say(problems.email);
    const wrong = (['name', 'email'] as const).find((name) => problems[name] !== '');
    if (wrong !== undefined) fields[wrong].input.focus();
    return wrong !== undefined;
  }

  function submit(event: Event): void {
    event.preventDefault();
    if (busy) return;
    const name = contact.name.trim();
    const email = contact.email.trim();
    trouble.textContent = '';
    const missing = (value: string): boolean => value === '' && required;
    if (
      complain({
        name: missing(name) ? words.nameMissing : '',
        email: missing(email) || (email !== '' && !emailPattern.test(email)) ? words.emailWrong : '',
      })
    )
      return;
    if (name + email === '') contact.complete();
    else void send({ ...(name !== '' && { name }), ...(email !== '' && { email }) });
  }

  async function send(identity: Identity): Promise<void> {
    busy = true;
    proceed.setAttribute('aria-disabled', 'true');
    try {
      await api.identify(identity);
      contact.complete();
    } catch (error) {
      const refused = (error as { readonly code?: string }).code === 'bad_request';
      if (!refused || identity.email === undefined) trouble.textContent = words.wrong;
      else complain({ name: '', email: words.emailWrong });
    } finally {
      busy = false;
      proceed.removeAttribute('aria-disabled');
    }
  }

  return {
    element,
    focus: () => fields.name.input.focus(),
    update: (shown) => {
      element.hidden = !shown;
      const text = contact.pending.length === 0 ? '' : words.held;
      if (waits.textContent !== text) waits.textContent = text;
    },
  };
}
