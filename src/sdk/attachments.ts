// What every face says of files alike: which are not sent at all, the text of a message without one, kinds and sizes.
// Pure; what is shown and sent is the faces' business.
import type { SdkAttachment, SdkMessage } from './types.ts';

/** What is known of a file before it is uploaded. */
export interface FileFacts {
  readonly name: string;
  readonly size: number;
}

/** What is asked of a file before it is uploaded; the service asks all of it again. */
export interface FileRules {
  readonly maxBytes: number;
  readonly maxFiles: number;
  /** Endings of names, in small letters and without a dot. */
  readonly blockedEndings: readonly string[];
}

/** Why a file is not uploaded. */
export type FileRefusal = 'tooLarge' | 'tooMany' | 'blockedKind' | 'empty';

/** Why a file can't be uploaded, as far as that is plain from here. @param already how many there are; null: nothing speaks against it */
export function refusalOf(file: FileFacts, already: number, rules: FileRules): FileRefusal | null {
  if (already >= rules.maxFiles) return 'tooMany';
  if (file.size === 0) return 'empty';
  if (rules.blockedEndings.includes(endingOf(file.name))) return 'blockedKind';
  return file.size > rules.maxBytes ? 'tooLarge' : null;
}

/** What of a name stands behind its last dot, in small letters; empty: nothing does. */
export function endingOf(name: string): string {
  return /\.([^.\s/\\]{1,12})$/.exec(name)?.[1]?.toLowerCase() ?? '';
}

/** A file's kind in a word: its name's ending, else what its type says. */
export function kindOf({ name, type }: Pick<SdkAttachment, 'name' | 'type'>): string {
  const ending = endingOf(name);
  const kind = ending !== '' ? ending : (/\/(?:x-)?([\w.+-]{1,12})/.exec(type)?.[1] ?? '');
  return kind === 'octet-stream' ? '' : kind.toUpperCase();
}

/** How much a file holds, in a language's own way: "340 kB". @param tag the language */
export function sizeText(bytes: number, tag: string): string {
  const [unit, divisor] =
    bytes < 1_000
      ? (['byte', 1] as const)
      : bytes < 1_000_000
        ? (['kilobyte', 1_024] as const)
        : (['megabyte', 1_048_576] as const);
  const value = bytes / divisor;
  return new Intl.NumberFormat(tag, {
    style: 'unit',
    unit,
    unitDisplay: 'short',
    maximumFractionDigits: value < 10 && unit === 'megabyte' ? 1 : 0,
  }).format(unit === 'kilobyte' ? Math.max(1, value) : value);
}

/** The `content` of a message that is files alone: every message has one. Never longer than a short text. */
export function textOfNames(names: readonly string[]): string {
  const [first = '', ...others] = names.map((name) => name.trim());
  let text = first.slice(0, 255);
  for (const name of others) {
    if (text.length + name.length > 500) return `${text}, …`;
    text += `, ${name}`;
  }
  return text;
}

/** Whether a message says nothing but the names of its files, which stand beside it anyway. */
export function isOnlyNames(
  content: string,
  contentFormat: string,
  attachments: readonly Pick<SdkAttachment, 'name'>[] | undefined,
): boolean {
  return (
    contentFormat === 'plain' &&
    attachments !== undefined &&
    attachments.length > 0 &&
    content.trim() === textOfNames(attachments.map(({ name }) => name)).trim()
  );
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

/** Unlike any other. Pages that are not encrypted have no randomUUID. */
export function newKey(): string {
  return Array.from(crypto.getRandomValues(new Uint32Array(4)), (part) => part.toString(36)).join('-');
}
