// What every command gets: where to read and print, the settings, and how the
// command line is called, so that it can say what to type next.
import { basename, isAbsolute, relative } from 'node:path';
import { Command } from 'commander';
import { dataFolderFromEnvironment, readConfig, type Config, type Flags } from '../config.ts';
import { CommandError } from './errors.ts';
import type { InputStream } from './prompt.ts';
import { createPrinter, plainColumns, type Columns, type OutputStream, type Printer } from './print.ts';

export interface Io {
  readonly input: InputStream;
  readonly output: OutputStream;
  readonly errors: OutputStream;
  /** Aborted when the reader of the output has closed it. */
  readonly outputClosed: AbortSignal;
}

export interface Context {
  readonly io: Io;
  readonly print: Printer;
  /** The server whose answers a command works with; null: none. */
  readonly server: { url: string | null };
  /** The checked settings. @throws ConfigError */
  config(flags?: Flags): Config;
  /** The data folder as typed with --data. */
  readonly data: string | undefined;
  /** A command as it should be typed next. @param folder left out: the same data folder */
  command(text: string, folder?: string): string;
  /** A command that works with a saved session, wherever it is typed. */
  remoteCommand(text: string): string;
}

export interface GlobalOptions {
  readonly data?: string;
  readonly json?: boolean;
}

/** A command's work: its options, then its arguments in order. */
export type CommandHandler<O> = (context: Context, options: O, args: readonly string[]) => Promise<void>;

/**
 * Fits a handler to commander's action.
 * @param tables false: it prints no table of people's text, and need not wait until their widths can be told
 */
export type WrapHandler = <O>(
  handler: CommandHandler<O>,
  prints?: { readonly tables: false },
) => (...all: unknown[]) => Promise<void>;

export function createHandlerWrapper(io: Io): WrapHandler {
  return <O>(handler: CommandHandler<O>, prints?: { readonly tables: false }) =>
    async (...all) => {
      const command = all.at(-1);
      if (!(command instanceof Command))
        throw new TypeError('commander called a handler without its command');
      const options = command.optsWithGlobals<O & GlobalOptions>();
      const columns =
        prints?.tables === false || options.json === true ? plainColumns : await import('../text/width.ts');
      const context = createContext(io, options, columns);
      await handler(context, options, command.args).catch((error: unknown) => {
        throw ofAnswer(error, context);
      });
    };
}

/** Fields of an answer that are not as they should be: a fault of theirs, and none of ours. */
function ofAnswer(error: unknown, { server: { url } }: Context): unknown {
  const isOfField = error instanceof TypeError || error instanceof RangeError;
  if (url === null || !isOfField) return error;
  return new CommandError(
    `What answers at ${url} says something that this version of deskbell does not understand. Is it a Deskbell, and of the same version? (${error.message})`,
    { cause: error },
  );
}

export function createContext(io: Io, { data, json = false }: GlobalOptions, columns: Columns): Context {
  return {
    io,
    print: createPrinter(io.output, io.errors, io.outputClosed, json, columns),
    config: (flags = {}) => readConfig({ ...flags, data }),
    data,
    server: { url: null },
    command: (text, folder = data) => `${programName()} ${text}${folderWords(folder)}`,
    remoteCommand: (text) => `${programName()} ${text}`,
  };
}

/** A folder that is not the usual one has to be named again, whether it came from the flag or from a variable. */
function folderWords(typed: string | undefined): string {
  const folder = typed ?? dataFolderFromEnvironment();
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
