// What every face says of files alike that are shown: their kinds and sizes, which are pictures, and how an address that is
// over is asked for anew. Pure.
import { endingOf } from './attachments.ts';
import type { SdkAttachment, SdkMessage } from './types.ts';

/** A file's kind in a word: its name's ending, else what its type says. */
export function kindOf({ name, type }: Pick<SdkAttachment, 'name' | 'type'>): string {
  const ending = endingOf(name);
  const kind = ending !== '' ? ending : (/\/(?:x-)?([\w.+-]{1,12})/.exec(type)?.[1] ?? '');
  return kind === 'octet-stream' ? '' : kind.toUpperCase();
}

const binaryUnits = ['KiB', 'MiB', 'GiB'];

/** How much a file holds, by the names of the powers of 1024 that every face counts in: "340 KiB". @param tag the language */
export function sizeText(bytes: number, tag: string): string {
  const power = bytes < 1_000 ? 0 : bytes < 1_000_000 ? 1 : bytes < 1_000_000_000 ? 2 : 3;
  const value = Math.max(bytes && 1, bytes / 1_024 ** power);
  const format = (options: Intl.NumberFormatOptions): string =>
    new Intl.NumberFormat(tag, { maximumFractionDigits: value < 10 && power > 1 ? 1 : 0, ...options }).format(
      value,
    );
  if (power === 0) return format({ style: 'unit', unit: 'byte', unitDisplay: 'short' });
  const unit = binaryUnits[power - 1] ?? '';
  return `${format({})} ${tag.startsWith('fr') ? unit.replace('B', 'o') : unit}`;
}

/** As `inlineFileTypes` of the protocol, which would bring its other tables along; a test compares them. */
export const pictureTypes: readonly string[] = [
  'image/png',
  'image/jpeg',
  'image/gif',
  'image/webp',
  'image/avif',
];

/** Whether a file is shown in its place: a picture of a safe kind whose size is known, so that nothing jumps. */
export function isPicture(
  file: SdkAttachment,
): file is SdkAttachment & { readonly width: number; readonly height: number } {
  return pictureTypes.includes(file.type) && (file.width ?? 0) > 0 && (file.height ?? 0) > 0;
}

/** Whether the address of a file is over, or nearly. @param now ms since the epoch */
export function isOver(url: string, now: number): boolean {
  const expires = Number(/[?&]expires=(\d+)/.exec(url)?.[1] ?? 0);
  // Seconds or milliseconds since the epoch.
  return expires > 0 && (expires < 1e11 ? expires * 1_000 : expires) < now + 5_000;
}

/** Below a caller's own prefix: the page of history that has a message, with new addresses for its files. */
export function newestPage(
  conversationId: string,
  messages: readonly { readonly id: string; readonly state: string }[],
  messageId: string,
): string {
  const next = messages[messages.findIndex(({ id }) => id === messageId) + 1];
  const behind = next === undefined || next.state !== 'sent' ? 'limit=20' : `limit=1&before=${next.id}`;
  return `/conversations/${conversationId}/messages?order=desc&${behind}`;
}

/** A file of a message in a page of history; null: it is not there. */
export function attachmentIn(page: unknown, messageId: string, fileId: string): SdkAttachment | null {
  if (!isPage(page)) return null;
  const message = page.messages.find(({ id }) => id === messageId);
  return message?.attachments?.find(({ id }) => id === fileId) ?? null;
}

/** The service's own answer; anything else is none. */
function isPage(
  value: unknown,
): value is { readonly messages: readonly Pick<SdkMessage, 'id' | 'attachments'>[] } {
  return typeof value === 'object' && value !== null && 'messages' in value && Array.isArray(value.messages);
}
