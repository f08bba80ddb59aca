// What every command gets: where to read and print, the settings, and how the
// command line is called, so that it can say what to type next.
import { basename, isAbsolute, relative } from 'node:path';
import type { Command } from 'commander';
import { folderFromEnvironment, readConfig, type Config, type Flags } from '../config.ts';
import type { Keyboard } from './ask.ts';
import { createPrint, type Print, type Screen } from './print.ts';

export interface Io {
  readonly input: Keyboard;
  readonly output: Screen;
  readonly errors: Screen;
  /** Nobody reads the output any more. */
  readonly readerGone: AbortSignal;
}

export interface Context {
  readonly io: Io;
  readonly print: Print;
  /** The checked settings. @throws ConfigError */
  config(flags?: Flags): Config;
  /** The data folder as typed with --data. */
  readonly data: string | undefined;
  /** A command as it should be typed next, on the same data folder. */
  command(text: string): string;
  /** A command that works with a sign-in, wherever it is typed. */
  remoteCommand(text: string): string;
}

export interface GlobalOptions {
  readonly data?: string;
  readonly json?: boolean;
}

/** A command's work: its options, then its arguments in order. */
export type Handler<O> = (context: Context, options: O, args: readonly string[]) => Promise<void>;

/** Fits a handler to commander's action. */
export type Act = <O>(handler: Handler<O>) => (...all: unknown[]) => Promise<void>;

export function createAct(io: Io): Act {
  return <O>(handler: Handler<O>) =>
    async (...all) => {
      const command = all.at(-1) as Command;
      const options = command.optsWithGlobals<O & GlobalOptions>();
      await handler(createContext(io, options), options, command.processedArgs as readonly string[]);
    };
}

export function createContext(io: Io, { data, json = false }: GlobalOptions): Context {
  return {
    io,
    print: createPrint(io.output, io.errors, io.readerGone, json),
    config: (flags = {}) => readConfig({ ...flags, data }),
    data,
    command: (text) => `${programName()} ${text}${folderWords(data)}`,
    remoteCommand: (text) => `${programName()} ${text}`,
  };
}

/** A folder that is not the usual one has to be named again, whether it came from the flag or from a variable. */
function folderWords(typed: string | undefined): string {
  const folder = typed ?? folderFromEnvironment();
  return folder === undefined ? '' : ` --data ${shellWord(folder)}`;
}

/** A word as a shell takes it whole. */
export function shellWord(text: string): string {
  return /^[\w./:@%+,=-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

/** How this program was started, so that the lines it suggests work when they are pasted. */
function programName(): string {
  const script = process.argv[1] ?? 'deskbell';
  if (/[\\/](_npx|node_modules)[\\/]/.test(script)) return 'npx deskbell';
  if (!script.endsWith('.js')) return basename(script);
  const near = relative(process.cwd(), script);
  return `node ${shellWord(near.startsWith('..') || isAbsolute(near) ? script : near)}`;
}
