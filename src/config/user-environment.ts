// What the environment tells of the person and the terminal: where their files lie, what the terminal can show; and what
// of it another process of this program gets.
import { homedir } from 'node:os';
import { isAbsolute, join, resolve } from 'node:path';
import { emptyToUndefined } from './secrets.ts';

/** Where a person's own files lie, on whatever machine they sit: sign-ins in one, drafts in the other. */
export interface UserFolders {
  readonly config: string;
  readonly state: string;
}

/**
 * DESKBELL_CONFIG holds both when it is set; else the platform's habit: %APPDATA% on Windows, and elsewhere the XDG base
 * directories, of which a relative one must be ignored.
 */
export function userFolders(
  environment: Readonly<Record<string, string | undefined>> = process.env,
  platform: NodeJS.Platform = process.platform,
): UserFolders {
  const own = emptyToUndefined(environment['DESKBELL_CONFIG']);
  if (own !== undefined) return { config: resolve(own), state: resolve(own) };
  if (platform === 'win32') {
    const folder = join(
      emptyToUndefined(environment['APPDATA']) ?? join(homedir(), 'AppData', 'Roaming'),
      'deskbell',
    );
    return { config: folder, state: folder };
  }
  const home = emptyToUndefined(environment['HOME']) ?? homedir();
  const base = (variable: string, fallback: string): string => {
    const value = emptyToUndefined(environment[variable]);
    return join(value !== undefined && isAbsolute(value) ? value : join(home, fallback), 'deskbell');
  };
  return { config: base('XDG_CONFIG_HOME', '.config'), state: base('XDG_STATE_HOME', '.local/state') };
}

/** What the console may know of the terminal it runs in; nothing else of the environment reaches it. */
const terminalVariables = [
  'ALACRITTY_SOCKET',
  'ALACRITTY_WINDOW_ID',
  'COLORTERM',
  'ConEmuANSI',
  'ConEmuPID',
  'DESKBELL_NOTIFY',
  'EDITOR',
  'ITERM_SESSION_ID',
  'LANG',
  'LC_ALL',
  'LC_CTYPE',
  'LC_TERMINAL',
  'NO_COLOR',
  'STY',
  'TERM',
  'TERM_PROGRAM',
  'TERM_PROGRAM_VERSION',
  'TMUX',
  'VISUAL',
  'VSCODE_PID',
  'WT_SESSION',
] as const;

/** The variables that describe the terminal and the editor, as far as they are set. */
export function terminalEnvironment(
  environment: Readonly<Record<string, string | undefined>> = process.env,
): Readonly<Record<string, string | undefined>> {
  return Object.fromEntries(terminalVariables.map((name) => [name, environment[name]]));
}

/** Where programs and libraries are found, where what is passing may lie, how Node and its memory are set. No secret. */
const helperVariables = [
  'LD_LIBRARY_PATH',
  'LD_PRELOAD',
  'MALLOC_ARENA_MAX',
  'NODE_OPTIONS',
  'PATH',
  'SQLITE_TMPDIR',
  'TMPDIR',
] as const;

/** The environment of a process that this program starts to help it, which is told all else by messages. */
export function helperEnvironment(
  environment: Readonly<Record<string, string | undefined>> = process.env,
): Record<string, string> {
  const kept: Record<string, string> = {};
  for (const name of helperVariables) {
    const value = environment[name];
    if (value !== undefined) kept[name] = value;
  }
  return kept;
}

/**
 * Turns colours off for what reads only FORCE_COLOR, as Ink does, where NO_COLOR asks for it or the terminal can't show
 * them. Must come before such a library is loaded.
 * @returns whether they are off
 */
export function disableColors(environment: Record<string, string | undefined> = process.env): boolean {
  const off = emptyToUndefined(environment['NO_COLOR']) !== undefined || environment['TERM'] === 'dumb';
  if (off) environment['FORCE_COLOR'] = '0';
  return off;
}
