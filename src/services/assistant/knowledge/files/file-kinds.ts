// What is known of files that must be converted before they are documents. Light: loaded with every command.

import { assistantLimits, type FileKind } from '../../../../protocol/codes.ts';

/** Files that must be converted in a thread. */
export type ConvertedKind = Extract<FileKind, 'pdf' | 'docx'>;

/** A file that can't be a document. The message ends a sentence that names the file. */
export class FileRefusedError extends Error {
  override readonly name = 'FileRefusedError';
}

/** What is wrong with a document, and with a file, that is larger than one may be. */
export const contentTooLong = `it is larger than ${assistantLimits.content / 1_000_000} million characters: split it`;
export const fileTooLarge = `it is larger than ${assistantLimits.fileBytes / 1_000_000} MB: split it`;

/** What the worker answers. `problem` null: something else than the file's known faults. */
export type WorkerReply = { readonly html: string } | { readonly problem: string | null };

const endings: Readonly<Record<string, FileKind>> = {
  '.md': 'markdown',
  '.markdown': 'markdown',
  '.html': 'html',
  '.htm': 'html',
  '.txt': 'text',
  '.pdf': 'pdf',
  '.docx': 'docx',
};

/** The endings of files that can be documents. */
export const fileEndings = Object.keys(endings).join(', ');

/** @param ending with its dot */
export const fileKindOf = (ending: string): FileKind | undefined => endings[ending.toLowerCase()];
