// What is known of files that must be converted before they are documents. Light: loaded with every command.

export type FileKind = 'pdf' | 'docx';

/** A file that can't be a document. The message ends a sentence that names the file. */
export class FileRefusedError extends Error {
  override readonly name = 'FileRefusedError';
}

/** What the worker answers. `problem` null: something else than the file's known faults. */
export type WorkerReply = { readonly html: string } | { readonly problem: string | null };

/** Bytes of a file. */
export const maxFileBytes = 20_000_000;

const endings: Readonly<Record<string, FileKind>> = { '.pdf': 'pdf', '.docx': 'docx' };

/** @param ending with its dot */
export const fileKindOf = (ending: string): FileKind | undefined => endings[ending.toLowerCase()];
