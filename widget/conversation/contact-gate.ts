// Owns when a visitor is asked who they are, and what waits until they have said it: messages and files.
import type { SdkApi, SdkState } from '../../src/sdk/types.ts';
import type { I18n } from '../panel/i18n.ts';
import type { ComposedContent } from '../panel/serialize.ts';
import { createContactForm } from './contact-form.ts';
import type { Contact } from './contact.ts';

export interface ContactGate {
  readonly element: HTMLElement;
  /** The form is in the composer's place. */
  isAsking(): boolean;
  /** @param idle nothing is being written: then the form may come */
  update(state: SdkState, idle: boolean): void;
  /** Sends what waited, once nothing is asked any more. */
  release(state: SdkState): void;
  /** Keeps a message until the visitor may send it. */
  hold(written: readonly ComposedContent[]): void;
  /** Resolves when files may go. */
  pass(): Promise<void>;
  focus(): void;
}

export interface ContactGateOptions {
  readonly api: SdkApi;
  readonly speech: I18n;
  readonly contact: Contact;
  send(written: ComposedContent): void;
  /** Something waits: the form is due. */
  onWait(): void;
}

export function createContactGate({ api, speech, contact, send, onWait }: ContactGateOptions): ContactGate {
  const form = createContactForm({ api, speech, contact });
  const uploads: (() => void)[] = [];
  let asking = false;
  return {
    element: form.element,
    isAsking: () => asking,
    update: (state, idle) => {
      // No visitor is interrupted in the middle of a sentence: then the form comes when it is to be sent.
      asking =
        contact.shouldAsk(state) && (asking || contact.pending.length > 0 || uploads.length > 0 || idle);
      form.update(asking);
    },
    release: (state) => {
      if (contact.shouldAsk(state)) return;
      for (const go of uploads.splice(0)) go();
      for (const written of contact.pending.splice(0)) send(written);
    },
    hold: (written) => void contact.pending.push(...written),
    pass: () =>
      new Promise((resolve) => {
        uploads.push(resolve);
        onWait();
      }),
    focus: () => form.focus(),
  };
}
