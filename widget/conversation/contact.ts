// Owns what is known of "who are we talking to" beside the engine: whether the visitor still has to be asked, and
// what they wrote before it. Outlives a change of language; keeps nothing in the browser.
import type { SdkState } from '../../src/sdk/types.ts';
import type { VisibleHost } from '../launcher/host.ts';
import type { ComposedContent } from '../panel/serialize.ts';

export interface Contact {
  /** Whether the application wants the form at all, and whether it can't be skipped. */
  readonly enabled: boolean;
  readonly required: boolean;
  /** Written, and not sent before the visitor has been asked. */
  readonly pending: ComposedContent[];
  /** What stands in the form. */
  name: string;
  email: string;
  /** Whether the visitor is to be asked now: before the first conversation, and while they have no name. */
  shouldAsk(state: SdkState): boolean;
  /** Answered or skipped. */
  complete(): void;
  /** This browser has an id, but neither a conversation nor a name belongs to it. */
  reopen(): void;
  /** Another visitor from here on. */
  clear(): void;
  /** Called when the visitor need no longer be asked, or must be after all. */
  onChange(): void;
}

/** @param known whether this browser has kept a visitor's id: they have been asked, or have written, before */
export function createContact({ config, options }: VisibleHost, known: boolean): Contact {
  const mode = config?.behavior.contactForm ?? 'off';
  const named = options.user?.name !== undefined;
  let settled = named || known;
  const contact: Contact = {
    enabled: mode !== 'off',
    required: mode === 'required',
    pending: [],
    name: '',
    email: options.user?.email ?? '',
    shouldAsk: ({ conversations, conversationId, visitor }) =>
      contact.enabled &&
      !settled &&
      conversations.length === 0 &&
      conversationId === null &&
      (visitor?.name ?? null) === null,
    complete: () => {
      settled = true;
      contact.onChange();
    },
    reopen: () => {
      settled = false;
      contact.onChange();
    },
    clear: () => {
      settled = named;
      contact.pending.length = 0;
      contact.name = '';
      contact.email = '';
    },
    onChange: () => undefined,
  };
  return contact;
}
