// What every face says of files alike that are sent: which are not sent at all, the text of a message without one. Pure; what
// is sent is the faces' business, and what is said of files that are shown is in shown-files.ts.
import type { SdkAttachment } from './types.ts';

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

/** Unlike any other. Pages that are not encrypted have no randomUUID. */
export function newKey(): string {
  return Array.from(crypto.getRandomValues(new Uint32Array(4)), (part) => part.toString(36)).join('-');
}
