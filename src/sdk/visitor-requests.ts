// What a visitor's page asks for over REST besides messages: the configuration, the visitor's conversations, a new one.
import { isoTime, type RawConversation } from './context.ts';
import { updateConversation } from './conversation-list.ts';
import { backoff } from './connection.ts';
import type { Core } from './core.ts';
import { isRetryable } from './error.ts';
import { setOnline } from './room-events.ts';
import { keepEntry } from './outbox-entries.ts';
import { forgetRoom, loadRoom, publish } from './rooms.ts';
import type { SdkApi, SdkConfig, SdkVisitor } from './types.ts';

/** Rooms to listen to besides the open conversation: each costs two requests when the page opens. */
const maxRooms = 3;
export const pageDefault = 20;

/** @param key opens it once, however often it is asked for */
export async function createConversation(
  core: Core,
  key: string,
  subject?: string,
): Promise<RawConversation> {
  const request = await introduce(core);
  const { conversation } = await request<{ conversation: RawConversation }>('POST', '/conversations', {
    body: { subject },
    headers_: { 'Idempotency-Key': key },
    retries_: 0,
  });
  return conversation;
}

/** There is a conversation that the service does not know yet. @param at ms since the epoch */
export function addDraft(core: Core, id: string, at: number): void {
  const createdAt = isoTime(at);
  updateConversation(core, { id, createdAt, updatedAt: createdAt, draft: true });
}

/** A draft has become a conversation: its entries are of that from now on. */
export function onRenamed(core: Core, draft: string, conversation: RawConversation): void {
  for (const entry of core.entries_)
    if (entry.conversationId === draft)
      keepEntry(core, { ...entry, conversationId: conversation.id, draft: false });
  forgetRoom(core, draft);
  const { id } = updateConversation(core, conversation);
  if (core.openId_() === draft) core.set_({ conversationId: id });
  loadRoom(core, id, true).catch(core.report_);
  publish(core);
}

/** Opens a draft at the service, and tells the other tabs what it has become. */
export async function openDraft(core: Core, draft: string): Promise<void> {
  const conversation = await createConversation(core, draft);
  onRenamed(core, draft, conversation);
  core.broadcast_('rename', draft, conversation);
}

/** The configuration is there. */
export function onConfig(core: Core, config: SdkConfig): void {
  core.set_({ config });
  setOnline(core, config);
}

export async function loadConfig(core: Core): Promise<void> {
  const { application } = await core.load_<{ application: SdkConfig }>('GET', '/widget/config', {
    fetch_: { cache: 'no-cache' },
  });
  onConfig(core, application);
}

/** One page of the visitor's conversations; the newest are listened to. */
export async function refreshList(
  core: Core,
  { limit = pageDefault, offset = 0 }: Parameters<SdkApi['listConversations']>[0] = {},
): ReturnType<SdkApi['listConversations']> {
  const request = await introduce(core);
  const { conversations: raw, total } = await request<{
    conversations: RawConversation[];
    total: number;
  }>('GET', `/conversations?limit=${limit}&offset=${offset}`);
  const conversations = raw.map((one) => updateConversation(core, one));
  if (!offset)
    for (const { id } of conversations.filter(({ status }) => status !== 'closed').slice(0, maxRooms))
      await loadRoom(core, id);
  return { conversations, total };
}

/** Refreshes the list in the background, as often as it takes. */
export function keepList(core: Core, attempt = 0): void {
  refreshList(core).catch((error: unknown) => {
    core.report_(error);
    if (isRetryable(error)) core.env_.after(backoff(attempt, core.env_), () => keepList(core, attempt + 1));
  });
}

/** Says who the visitor is, as far as the page knows. */
export async function identify(core: Core, identity: Parameters<SdkApi['identify']>[0]): Promise<SdkVisitor> {
  const { visitor } = await core.request_<{ visitor: SdkVisitor }>('PUT', '/visitor', { body: identity });
  core.set_({ visitor });
  return visitor;
}

/**
 * Says who the visitor is, as the page told at its start, unless the service knows or has refused it. Answers by what to go
 * on asking for this visitor: `core` may be another's by then.
 */
export async function introduce(core: Core): Promise<Core['request_']> {
  const { options_: options, request_: request } = core;
  if (options.user && !core.state_().visitor)
    await (core.named_ ??= identify(core, options.user).catch((error: unknown) => {
      core.report_(error);
      if (isRetryable(error)) core.named_ = undefined;
    }));
  return request;
}
