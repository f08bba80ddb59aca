// Owns asking for a conversation by mail: the button below one that has ended, and what became of it. The service knows the
// address, and sends to no other.
import { visitorApiPrefix } from '../../src/protocol/codes.ts';
import type { SdkApi } from '../../src/sdk/types.ts';
import type { VisibleHost } from '../launcher/host.ts';
import { h } from '../shared/dom.ts';
import { mailWords } from './mail-words.ts';

export interface TranscriptRequestOptions {
  readonly api: SdkApi;
  readonly shell: VisibleHost;
  /** The language that is spoken. */
  readonly tag: string;
  readonly announce: (text: string) => void;
  readonly onError: (error: unknown) => void;
}

/** A button, in whose place its answer stands until another conversation is shown. */
export function createTranscriptRequest({ api, shell, tag, announce, onError }: TranscriptRequestOptions): {
  readonly element: HTMLElement;
  update(conversationId: string | null): void;
} {
  const words = mailWords(tag);
  const answer = h('p', { hidden: true, tabindex: -1 });
  let busy = false;
  let shown: string | null = null;
  const button = h('button', { type: 'button', class: 'plain', click: () => void ask().catch(onError) });
  button.textContent = words.mailMe;

  async function ask(): Promise<void> {
    if (busy) return;
    busy = true;
    const { conversationId, visitorId } = api.getState();
    const { apiBaseUrl = '', appId } = shell.options;
    const { ok, status } = await fetch(
      `${apiBaseUrl}${visitorApiPrefix}/conversations/${conversationId ?? ''}/transcript`,
      { method: 'POST', headers: { 'X-App-Id': appId, 'X-Visitor-Id': visitorId ?? '' } },
    ).finally(() => {
      busy = false;
    });
    if (!ok && status !== 409) throw new Error(`transcript: ${status}`);
    // Another conversation may be shown by now, which has its own button.
    if (shown !== conversationId) return;
    answer.textContent = ok ? words.onItsWay : words.refused;
    answer.hidden = false;
    // One who pressed it by keyboard stays there.
    if (shell.root.activeElement === button) answer.focus();
    button.hidden = true;
    announce(answer.textContent);
  }

  return {
    element: h('div', {}, button, answer),
    update: (conversationId) => {
      if (shown === conversationId) return;
      shown = conversationId;
      answer.hidden = true;
      button.hidden = false;
    },
  };
}
