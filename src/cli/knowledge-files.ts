// Files and folders → documents of knowledge, with a reason for each that can't be
// read. Reads files only; what happens with a document is decided by the service.
import { readdir, readFile, stat } from 'node:fs/promises';
import { basename, dirname, extname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import type { KnowledgeFormat } from '../protocol/assistant.ts';
import { assistantLimits } from '../protocol/codes.ts';
import { fileEndings, fileKindOf, fileTooLarge } from '../services/assistant/knowledge/files/file-kinds.ts';
import { CommandError, messageOf } from './errors.ts';
import { errorCode } from '../net/network-errors.ts';

export type ReadDocument =
  | {
      readonly ok: true;
      readonly source: string;
      readonly format: KnowledgeFormat;
      readonly content: string;
      readonly url?: string;
    }
  | { readonly ok: false; readonly source: string; readonly problem: string };

export interface FileTree {
  /** Begins the sources of all documents of a folder; null for a single file. */
  readonly prefix: string | null;
  readonly files: readonly { readonly source: string; readonly path: string }[];
}

const maxFiles = 20_000;

/**
 * The documents below a path. A folder is walked without its hidden files, node_modules and symbolic links, so that
 * nothing outside of it gets in. Sources are paths as seen from the working folder, with slashes; of what lies
 * elsewhere they begin with its folder's name, so that they are the same from anywhere.
 * @throws CommandError when there is no such path, or nothing in it
 */
export async function findFiles(path: string): Promise<FileTree> {
  const root = resolve(path);
  const found = await stat(root).catch((error: unknown) => {
    throw readError(path, 'file or folder', error);
  });
  if (found.isFile())
    return {
      prefix: null,
      files: [{ source: near(root) ?? `${basename(dirname(root))}/${basename(root)}`, path: root }],
    };
  if (!found.isDirectory()) throw new CommandError(`${path} is neither a file nor a folder.`);
  const prefix = `${near(root) ?? basename(root)}/`;
  const files = (await walk(root)).map((file) => ({
    source: `${prefix}${slashes(relative(root, file))}`,
    path: file,
  }));
  if (files.length === 0)
    throw new CommandError(
      `There is nothing to read in ${path}. Files that can be read end in ${fileEndings}.`,
    );
  return { prefix, files };
}

/** What to say of a path that can't be read. */
export function readError(path: string, what: string, error: unknown): CommandError {
  return new CommandError(
    errorCode(error) === 'ENOENT'
      ? `There is no ${what} ${path}.`
      : `${path} can't be read: ${messageOf(error)}.`,
  );
}

/** A path as seen from the working folder; null when it does not lie below it. */
function near(path: string): string | null {
  const seen = relative(process.cwd(), path);
  return seen === '' || isAbsolute(seen) || seen.split(sep, 1)[0] === '..' ? null : slashes(seen);
}

async function walk(root: string): Promise<string[]> {
  const files: string[] = [];
  const folders = [root];
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    for (const entry of await readdir(folder, { withFileTypes: true })) {
      if (entry.name.startsWith('.') || entry.name === 'node_modules') continue;
      const path = join(folder, entry.name);
      if (entry.isDirectory()) folders.push(path);
      else if (entry.isFile() && isReadable(path)) files.push(path);
      if (files.length > maxFiles)
        throw new CommandError(
          `There are more than ${maxFiles} files in ${root}. Add its folders one by one.`,
        );
    }
  }
  return files.toSorted();
}

const slashes = (path: string): string => path.split(sep).join('/');
const isReadable = (path: string): boolean => fileKindOf(extname(path)) !== undefined;

/** Reads one file. What is wrong with it is part of the answer. */
export async function readDocument({ source, path }: FileTree['files'][number]): Promise<ReadDocument> {
  const failed = (problem: string): ReadDocument => ({ ok: false, source, problem });
  const kind = fileKindOf(extname(path));
  if (kind === undefined) return failed(`files that can be read end in ${fileEndings}`);
  try {
    const { size } = await stat(path);
    if (size > assistantLimits.fileBytes) return failed(fileTooLarge);
    const bytes = await readFile(path);
    const reader = await import('../services/assistant/knowledge/files/read-file.ts');
    return { ok: true, source, ...(await reader.readFile(kind, bytes, 'command line')) };
  } catch (error) {
    return failed(errorCode(error) === 'EACCES' ? 'it may not be read by this user' : messageOf(error));
  }
}
