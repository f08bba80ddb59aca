// Owns the requests about a visitor's files that are not uploads: where they go, and a file's address anew.
import { visitorApiPrefix } from '../../src/protocol/codes.ts';
import { attachmentIn, newestPage } from '../../src/sdk/shown-files.ts';
import type { SdkApi, SdkAttachment, SdkMessage, SdkState } from '../../src/sdk/types.ts';
import type { VisibleHost } from '../launcher/host.ts';
import type { PanelHandlers } from '../panel/panel.ts';

/** Where files go. The first file makes a visitor, as the first message does. */
export async function uploadTarget(
  api: SdkApi,
  { options }: VisibleHost,
): ReturnType<PanelHandlers['target']> {
  const visitorId = api.getState().visitorId ?? (await api.identify(options.user ?? {})).id;
  return {
    address: `${options.apiBaseUrl ?? ''}${visitorApiPrefix}/files`,
    headers: { 'X-App-Id': options.appId, 'X-Visitor-Id': visitorId },
  };
}

/** A file with an address that holds for another while, as the history has it now; null: it is not there any more. */
export async function renewFile(
  { options }: VisibleHost,
  { visitorId, messages }: SdkState,
  message: SdkMessage,
  { id }: SdkAttachment,
): Promise<SdkAttachment | null> {
  const path = newestPage(message.conversationId, messages, message.id);
  const answer = await fetch(`${options.apiBaseUrl ?? ''}${visitorApiPrefix}${path}`, {
    headers: { 'X-App-Id': options.appId, 'X-Visitor-Id': visitorId ?? '' },
  }).catch(() => null);
  return answer?.ok === true ? attachmentIn(await answer.json(), message.id, id) : null;
}
