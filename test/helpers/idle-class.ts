// Owns a program in the place of `chrt`, which a backup is started by with `ionice` behind it, and folders of programs to look it up in;
// and commands that don't give way to others. Must not know what a backup is.
import { accessSync, constants } from 'node:fs';
import { chmod, mkdir, symlink, writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';

/** A program of the machine's own; null: it has none of that name. */
function findProgram(name: string): string | null {
  const files = (process.env['PATH'] ?? '').split(delimiter).map((folder) => join(folder, name));
  const isThere = (file: string): boolean => {
    try {
      accessSync(file, constants.X_OK);
      return true;
    } catch {
      return false;
    }
  };
  return files.find(isThere) ?? null;
}

export const ownChrt = findProgram('chrt');
const ownIonice = findProgram('ionice');

/**
 * Makes a folder with a `chrt` in it, and with an `ionice` that does nothing where the machine has none.
 * @param lines of a shell; "$@" is the command that it is to start in the idle class, and `own` is the machine's way to do so
 * @returns a PATH that begins with it
 */
export async function pathWithChrt(folder: string, ...lines: readonly string[]): Promise<string> {
  await mkdir(folder, { recursive: true });
  const own = ownChrt === null ? 'own() { exec "$@"; }' : `own() { exec '${ownChrt}' -i 0 "$@"; }`;
  await writeProgram(join(folder, 'chrt'), own, '[ "$1 $2" = "-i 0" ] || exit 2', 'shift 2', ...lines);
  if (ownIonice === null) await writeProgram(join(folder, 'ionice'), 'shift 4', 'exec "$@"');
  return [folder, process.env['PATH'] ?? ''].join(delimiter);
}

async function writeProgram(file: string, ...lines: readonly string[]): Promise<void> {
  await writeFile(file, `${['#!/bin/sh', ...lines].join('\n')}\n`);
  await chmod(file, 0o755);
}

/** A PATH on which there is Node, and no `chrt`. */
export async function pathWithoutChrt(folder: string): Promise<string> {
  await mkdir(folder, { recursive: true });
  await symlink(process.execPath, join(folder, 'node'));
  return folder;
}

/** Instead of giving way, nothing. */
const keepPriority = 'import os from "node:os"; os.setPriority = () => undefined;';

/**
 * For a command whose giving way a test is not about: on a busy machine it would wait for minutes.
 * @param folder is made
 * @returns the environment in which it runs at the usual priority, and in no idle class
 */
export async function usualPriority(folder: string): Promise<{ PATH: string; NODE_OPTIONS: string }> {
  return {
    PATH: await pathWithoutChrt(folder),
    NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(keepPriority)}`,
  };
}
