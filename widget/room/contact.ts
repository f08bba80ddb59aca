// Owns what is known of "who are we talking to" beside the engine: whether the visitor still has to be asked, and
// what they wrote meanwhile. Outlives a change of language; keeps nothing in the browser.
import type { SdkState } from '../../src/sdk/types.ts';
import type { DrawnShell } from '../launcher/shell.ts';
import type { Written } from '../panel/serialise.ts';

export interface Contact {
  /** Whether the application wants the form at all, and whether it can't be skipped. */
  readonly wanted: boolean;
  readonly required: boolean;
  /** Written, and not sent before the visitor has been asked. */
  readonly held: Written[];
  /** What stands in the form. */
  name: string;
  email: string;
  /** Whether the visitor is to be asked now: before the first conversation, and while nobody has named them. */
  isDue(state: SdkState): boolean;
  /** Answered or skipped. */
  settle(): void;
  /** This browser has an id, but neither a conversation nor a name belongs to it. */
  isNew(): void;
  /** Another visitor from here on. */
  forget(): void;
  /** Called when the visitor need no longer be asked, or must be after all. */
  changed(): void;
}

/** @param known whether this browser has kept a visitor's id: they have been asked, or have written, before */
export function createContact({ config, options }: DrawnShell, known: boolean): Contact {
  const mode = config?.behavior.contactForm ?? 'off';
  const named = options.user?.name !== undefined;
  let settled = named || known;
  const contact: Contact = {
    wanted: mode !== 'off',
    required: mode === 'required',
    held: [],
    name: '',
    email: options.user?.email ?? '',
    isDue: ({ conversations, conversationId, visitor }) =>
      contact.wanted && !settled && conversations.length === 0 && conversationId === null && (visitor?.name ?? null) === null,
    settle: () => {
      settled = true;
      contact.changed();
    },
    isNew: () => {
      settled = false;
      contact.changed();
    },
    forget: () => {
      settled = named;
      contact.held.length = 0;
      contact.name = '';
      contact.email = '';
    },
    changed: () => undefined,
  };
  return contact;
}
