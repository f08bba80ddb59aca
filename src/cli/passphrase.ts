// The passphrase of a backup: from a prompt, standard input or a file. Never from an argument, which every user of the
// machine can read in the list of processes.
import { readFile, stat } from 'node:fs/promises';
import type { Command } from 'commander';
import type { Context } from './context.ts';
import { CommandError, messageOf, UsageError } from './errors.ts';
import { openPrompt, readSecret } from './prompt.ts';

export interface PassphraseOptions {
  readonly passphraseStdin?: boolean;
  readonly passphraseFile?: string;
}

const minLength = 12;
const maxFileBytes = 16_384;

/** Adds the two options by which a script gives a passphrase. */
export function addPassphraseOptions(command: Command): Command {
  return command
    .option('--passphrase-stdin', 'read the passphrase from standard input')
    .option('--passphrase-file <FILE>', 'read the passphrase from a file: its only line');
}

/**
 * The passphrase that the options name, or null where they name none.
 * @throws UsageError, CommandError
 */
export async function givenPassphrase(
  context: Context,
  { passphraseStdin = false, passphraseFile }: PassphraseOptions,
): Promise<string | null> {
  if (passphraseStdin && passphraseFile !== undefined)
    throw new UsageError('Give the passphrase once: by --passphrase-stdin or by --passphrase-file.');
  if (passphraseStdin)
    return readSecret(context.io.input, { noun: 'passphrase', option: '--passphrase-stdin' });
  return passphraseFile === undefined ? null : readPassphraseFile(passphraseFile);
}

async function readPassphraseFile(file: string): Promise<string> {
  let text: string;
  try {
    if ((await stat(file)).size > maxFileBytes)
      throw new UsageError(`${file} is too long for a passphrase: it is the only line of its file.`);
    text = new TextDecoder('utf-8', { fatal: true }).decode(await readFile(file));
  } catch (error) {
    if (error instanceof UsageError) throw error;
    throw new CommandError(`The passphrase in ${file} can't be read: ${messageOf(error)}.`, { cause: error });
  }
  const passphrase = text.replace(/\r?\n$/, '');
  if (passphrase === '' || /[\r\n]/.test(passphrase))
    throw new UsageError(`${file} must hold the passphrase as its only line.`);
  return passphrase;
}

/**
 * A passphrase for a new backup: the given one, or one that a person types twice.
 * @throws UsageError when it is too short, or there is no terminal; CommandError when the person leaves
 */
export async function newPassphrase(context: Context, options: PassphraseOptions): Promise<string> {
  const given = await givenPassphrase(context, options);
  if (given === null)
    return askOnTerminal(context, (prompt) =>
      prompt.newPassword(`Passphrase, at least ${minLength} characters (not shown): `, passphraseProblem),
    );
  const problem = passphraseProblem(given);
  if (problem !== null) throw new UsageError(problem);
  return given;
}

function passphraseProblem(passphrase: string): string | null {
  return passphrase.length < minLength
    ? `A passphrase has at least ${minLength} characters. Take several words.`
    : null;
}

/**
 * Asks for the passphrase of an encrypted backup.
 * @throws UsageError when there is no terminal; CommandError when the person leaves
 */
export function askPassphrase(context: Context): Promise<string> {
  return askOnTerminal(context, (prompt) => prompt.secret('Passphrase of the backup (not shown): '));
}

async function askOnTerminal(
  { io }: Context,
  ask: (prompt: ReturnType<typeof openPrompt>) => Promise<string>,
): Promise<string> {
  if (io.input.isTTY !== true)
    throw new UsageError(
      'There is no terminal to ask on. Give the passphrase by --passphrase-file FILE or --passphrase-stdin.',
    );
  const prompt = openPrompt(io.input, io.errors);
  try {
    return await ask(prompt);
  } finally {
    prompt.close();
  }
}
