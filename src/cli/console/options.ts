// What the console is started with. Owns the type only: who reads flags, the
// environment and the saved session is the command, never the console itself.
import type { Environment } from '../../sdk/types.ts';

/** The streams that the console draws to and reads from; the process's own unless told. */
export interface ConsoleStreams {
  readonly stdin: NodeJS.ReadStream;
  readonly stdout: NodeJS.WriteStream;
}

/** Which ways of calling for attention are on. */
export interface NotificationOptions {
  readonly bell: boolean;
  /** OSC 9 or OSC 777, whichever the terminal knows. */
  readonly desktop: boolean;
  /** The window's title with the count. */
  readonly title: boolean;
}

export interface ConsoleOptions {
  /** The service's address, without a path. */
  readonly baseUrl: string;
  /** A saved session token; `null`: there is none, so `onSignedOut` is called first. */
  readonly token: string | null;
  /** The organization's slug; drafts are kept apart by it. */
  readonly organization: string;
  /** Where drafts and the like are kept; it exists and is private (0700). */
  readonly stateFolder: string;
  /** A JSON file of own keys; `null`: none. */
  readonly keysFile: string | null;
  readonly mode: 'live' | 'test' | 'all';
  readonly notifications: NotificationOptions;
  /** One column of plain lines, announced as they come. */
  readonly screenReader: boolean;
  /** The environment as the command read it: TERM, TMUX, STY, NO_COLOR, EDITOR, VISUAL … */
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** What the client of the server takes from elsewhere than Node itself. */
  readonly clientEnvironment?: Partial<Environment>;
  readonly streams?: ConsoleStreams;
  /**
   * The session is over: asks to sign in again, with the terminal handed over to it.
   * @returns a new token, or `null` when the operator cancels; the console then ends, drafts saved
   */
  readonly onSignedOut?: () => Promise<string | null>;
}
