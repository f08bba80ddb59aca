// Files of this machine, as the desk's model asks for them: read to be sent, saved beside others, opened by another
// program. Must not run a file, nor write over one.
import { spawn } from 'node:child_process';
import { existsSync, openAsBlob } from 'node:fs';
import { mkdir, open as openFile, stat, unlink } from 'node:fs/promises';
import { homedir } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';
import { fileLimits } from '../../protocol/codes.ts';
import type { DeskRuntime } from '../../desk/desk-context.ts';
import type { FileTarget } from '../../sdk/files.ts';
import { sanitizeLine } from './text/sanitize-line.ts';

type DeskFiles = NonNullable<DeskRuntime['files']>;

export interface FileAccessOptions {
  /** Where the member's files go. */
  readonly target: () => FileTarget;
  /** In the place of the person's own, for tests. */
  readonly home?: string;
  readonly platform?: NodeJS.Platform;
  /** Starts a program and does not wait for it; rejects where there is none. */
  readonly start?: (command: string, args: readonly string[]) => Promise<void>;
}

/** Longer ones are refused by file systems, and are no one's wish. */
const maxNameBytes = 200;
const maxTries = 1_000;

export function createFileAccess({
  target,
  home = homedir(),
  platform = process.platform,
  start = startProgram,
}: FileAccessOptions): DeskFiles {
  const whole = (path: string): string => resolve(path.replace(/^~(?=$|[/\\])/, home));
  return {
    read: async (path) => {
      const file = whole(path);
      const facts = await stat(file).catch(() => null);
      if (facts === null) throw new Error(`There is no file ${path}.`);
      // A device or a pipe has no end, and a folder is none.
      if (!facts.isFile()) throw new Error(`${path} is no file.`);
      return {
        name: basename(file),
        size: facts.size,
        upload: async (options) => {
          const { uploadFile } = await import('../../sdk/files.ts');
          const blob = await openAsBlob(file).catch(() => {
            throw new Error(`${path} can’t be read.`);
          });
          return uploadFile(target(), new File([blob], basename(file)), options);
        },
      };
    },
    suggestedPath: (name) => {
      const downloads = join(home, 'Downloads');
      const shown = existsSync(downloads) ? '~/Downloads' : '~';
      const folder = existsSync(downloads) ? downloads : home;
      const safe = safeFileName(name);
      const dot = safe.lastIndexOf('.');
      const [stem, ending] = dot > 0 ? [safe.slice(0, dot), safe.slice(dot)] : [safe, ''];
      for (let at = 1; at < maxTries; at++) {
        const found = at === 1 ? safe : `${stem} (${at})${ending}`;
        if (!existsSync(join(folder, found))) return `${shown}/${found}`;
      }
      return `${shown}/${safe}`;
    },
    save: async (url, path) => {
      const file = whole(path);
      await mkdir(dirname(file), { recursive: true });
      const handle = await openFile(file, 'wx', 0o600).catch((error: unknown) => {
        const code = error instanceof Error && 'code' in error ? error.code : '';
        throw new Error(
          code === 'EEXIST'
            ? `${path} is there already: choose another name.`
            : `${path} can’t be written (${String(code)}).`,
        );
      });
      try {
        const response = await fetch(webAddress(url));
        if (!response.ok || response.body === null)
          throw new Error(`The server did not hand out the file (HTTP ${response.status}).`);
        const pieces: AsyncIterable<Uint8Array> = response.body;
        let left = fileLimits.staffBytes;
        for await (const piece of pieces) {
          left -= piece.length;
          if (left < 0) throw new Error('The server hands out more than a file may have.');
          await handle.writeFile(piece);
        }
      } catch (error) {
        await handle.close().catch(() => undefined);
        // Half a file is none.
        await unlink(file).catch(() => undefined);
        throw error;
      }
      await handle.close();
      return file;
    },
    open: (url) => {
      const [command, ...args] = openerOf(platform);
      return start(command, [...args, webAddress(url)]);
    },
  };
}

/** A name that names a file in a folder and nothing else, whatever a stranger called it. */
export function safeFileName(name: string): string {
  const line = sanitizeLine(name)
    .replaceAll('\u200b', '')
    .replace(/[/\\:*?"<>|]/g, '_')
    .replace(/^[.\s-]+|[.\s]+$/g, '');
  const dot = line.lastIndexOf('.');
  const ending = dot > 0 && line.length - dot <= 12 ? line.slice(dot) : '';
  let stem = ending === '' ? line : line.slice(0, dot);
  while (Buffer.byteLength(stem + ending) > maxNameBytes) stem = Array.from(stem).slice(0, -1).join('');
  return stem + ending || 'file';
}

/** @throws Error where it is no address of the web: nothing else is handed to another program */
function webAddress(url: string): string {
  const { protocol, href, username, password } = new URL(url);
  if (!/^https?:$/.test(protocol) || username + password !== '')
    throw new Error('The file has no address of the web: it is not opened.');
  return href;
}

/** The program that opens addresses. None of these is a shell: what stands in an address is no command. */
function openerOf(platform: NodeJS.Platform): readonly [string, ...string[]] {
  if (platform === 'darwin') return ['open'];
  if (platform === 'win32') return ['rundll32', 'url.dll,FileProtocolHandler'];
  return ['xdg-open'];
}

function startProgram(command: string, args: readonly string[]): Promise<void> {
  return new Promise((done, failed) => {
    const child = spawn(command, args, { stdio: 'ignore', detached: true });
    child.on('error', () => failed(new Error(`There is no program to open it (${command}): save the file.`)));
    child.on('spawn', () => {
      child.unref();
      done();
    });
  });
}
