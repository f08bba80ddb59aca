// Owns what is half written, conversation by conversation, so that it is there on the visitor's next page. Must not send, nor
// know where it stays in the browser.
import type { SdkState } from '../../src/sdk/types.ts';
import type { WidgetOptions } from '../launcher/host.ts';
import type { Composer } from '../panel/composer.ts';
import type { ComposedContent } from '../panel/serialize.ts';
import { createDraftStorage } from './draft-storage.ts';
import { renderContent } from './rich-text.ts';

export interface Drafts {
  /** What stands in the composer now; null: nothing. */
  keep(written: ComposedContent | null): void;
  /** Brings the composer the draft of the conversation that is shown. */
  follow(state: SdkState, composer: Composer): void;
  /** Another of the tab's pages may have gone on with them, while this one slept in the back-forward cache. */
  wake(composer: Composer): void;
  /** The conversation that was written in last; empty: one that is still to begin. */
  latest(): string | undefined;
  /** What follows is another visitor's; the composer is emptied. */
  forget(composer: Composer): void;
}

export interface DraftsOptions extends Pick<WidgetOptions, 'appId' | 'visitorId' | 'storage'> {
  /** False: nothing may stay in the browser before the visitor has answered who they are. */
  mayStore(state: SdkState): boolean;
}

/** Outlives a change of language, as what is written does. */
export function createDrafts(options: DraftsOptions, first: SdkState): Drafts {
  const storage = createDraftStorage(options);
  let state = first;
  let drafts = storage.load(owner());
  /** The conversation that the composer's content is of. */
  let shown = '';
  /** Conversations that were there, and are not any more. */
  const gone = new Set<string>();
  let begun = false;
  let forgetting = false;

  /** The visitor whom they belong to; empty: one who has no id yet. */
  function owner(): string {
    return state.visitorId ?? options.visitorId?.toLowerCase() ?? '';
  }

  function isOver(id: string): boolean {
    return gone.has(id) || state.conversations.some((one) => one.id === id && one.status === 'closed');
  }

  function store(): void {
    const kept = drafts.filter(({ conversationId }) => !isOver(conversationId));
    storage.save(owner(), options.mayStore(state) ? kept : []);
  }

  function without(id: string): typeof drafts {
    return drafts.filter(({ conversationId }) => conversationId !== id);
  }

  function draftOf(id: string): Node[] {
    const found = drafts.find(({ conversationId }) => conversationId === id);
    if (found === undefined) return [];
    const { content, contentFormat } = found;
    // An address in a plain text stays text, as it was written.
    return contentFormat === 'plain'
      ? [document.createTextNode(content)]
      : renderContent(content, contentFormat);
  }

  function keep(written: ComposedContent | null): void {
    if (forgetting) return;
    if (storage.isChanged()) drafts = storage.load(owner());
    drafts = without(shown);
    if (written !== null) {
      const { content, contentFormat } = written;
      drafts = [...drafts, { conversationId: shown, content, contentFormat }];
    }
    store();
  }

  /** The first look: what was typed before the engine came stands behind what was kept. */
  function begin(composer: Composer): void {
    begun = true;
    const typed = composer.draft();
    const draft = drafts.at(-1)?.conversationId === '' ? draftOf('') : [];
    const between = draft.length > 0 && typed.length > 0 ? [document.createElement('br')] : [];
    if (draft.length > 0 || typed.length > 0) composer.fill([...draft, ...between, ...typed]);
  }

  /** What was written goes along: the conversation has grown out of the one before, or that one is over. */
  function goesAlong(before: SdkState, next: string): boolean {
    return shown === '' ? !before.conversations.some(({ id }) => id === next) : isOver(shown);
  }

  function show(next: string, before: SdkState, composer: Composer): void {
    const own = draftOf(next);
    // With the files that were chosen for it, which are not kept for each conversation, a text stays in its place.
    const carried =
      composer.written() !== null &&
      (composer.files().length > 0 || (own.length === 0 && goesAlong(before, next)));
    const content = carried ? composer.draft() : own;
    if (carried) drafts = without(shown);
    shown = next;
    composer.fill(content);
  }

  // Another visitor's are not only not shown.
  if (drafts.length === 0) store();

  return {
    keep,
    follow: (next, composer) => {
      const before = state;
      state = next;
      for (const { id } of before.conversations)
        if (!next.conversations.some((one) => one.id === id)) gone.add(id);
      if (!begun) begin(composer);
      const id = next.conversationId ?? '';
      if (id !== shown) show(id, before, composer);
      else if (next.conversations !== before.conversations) store();
    },
    wake: (composer) => {
      if (!storage.isChanged()) return;
      drafts = storage.load(owner());
      composer.fill(draftOf(shown));
    },
    latest: () => drafts.at(-1)?.conversationId,
    forget: (composer) => {
      drafts = [];
      // By now another page of this tab may have begun anew there.
      if (storage.isChanged()) storage.load(owner());
      else store();
      forgetting = true;
      composer.clear();
      forgetting = false;
    },
  };
}
