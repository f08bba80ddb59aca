// How the tree of commands is built with commander: groups that name their
// commands when one is missing, and options made from the table of settings.
import { InvalidArgumentError, Option, type Command } from 'commander';
import { settings, type Flags, type SettingName } from '../config.ts';
import { UsageError } from './errors.ts';

/** The commands that a person may type below this one. */
function visibleNames(command: Command): string {
  return command
    .createHelp()
    .visibleCommands(command)
    .map((one) => one.name())
    .filter((one) => one !== 'help')
    .join(', ');
}

/** The words that call a command, as `deskbell org create`. */
export function commandPath(command: Command): string {
  return command.parent === null ? command.name() : `${commandPath(command.parent)} ${command.name()}`;
}

/** What is said of a word that is no command of this one. */
function unknownCommand(group: Command, typed: string): UsageError {
  return new UsageError(
    `${commandPath(group)} has no command ${JSON.stringify(typed)}. It has: ${visibleNames(group)}.`,
  );
}

/** Prints the help of the command that its words name, at any depth. Commander's own knows the first word alone. */
export function addHelpCommand(program: Command): void {
  program
    .command('help [command...]')
    .description('print the help of a command')
    .action((words: readonly string[]) => {
      let command = program;
      for (const word of words) {
        const next = command.commands.find((one) => one.name() === word);
        if (next === undefined) throw unknownCommand(command, word);
        command = next;
      }
      command.help();
    });
}

/** Says which commands there are when the one typed is missing or unknown. */
export function requireSubcommand(group: Command): Command {
  // Taken as an argument, without a description and so not in the help: excess arguments would be allowed below, too. Options
  // as well: of a command that there is not, its options are no mistake of their own.
  return group
    .argument('[command...]')
    .allowUnknownOption()
    .action(() => {
      const [typed] = group.args;
      if (typed === undefined)
        throw new UsageError(`${commandPath(group)} needs a command: ${visibleNames(group)}.`);
      if (!typed.startsWith('-')) throw unknownCommand(group, typed);
      throw new UsageError(`Unknown option '${typed}'. See: ${commandPath(group)} --help`);
    });
}

/** A command that only holds others. */
export function addCommandGroup(program: Command, name: string, about: string): Command {
  return requireSubcommand(
    program.command(name).description(about).helpCommand(false).usage('COMMAND [options]'),
  );
}

const placeholders: Partial<Record<SettingName, string>> = {
  baseUrl: 'URL',
  host: 'ADDRESS',
  durability: 'full|normal',
  logLevel: 'LEVEL',
  auditDays: 'N|unlimited',
  webhookPrivate: 'refuse|allow',
  crawlPrivate: 'refuse|allow',
  selfServicePlans: 'refuse|allow',
  aiUrl: 'URL',
  aiModel: 'NAME',
  aiEmbeddingModel: 'NAME',
  aiTimeout: 'SECONDS',
  files: 'PLACE',
  filesUrl: 'URL',
  clamd: 'ADDRESS',
  pushHosts: 'HOSTS',
  mailAddress: 'ADDRESS',
  mailListen: 'ADDRESS',
  mailTlsKey: 'FILE',
  mailTlsCertificate: 'FILE',
};

/** Adds a flag for each of the settings; the data folder's is a global one. */
export function addSettings(command: Command, names: readonly SettingName[] = serverSettings): Command {
  for (const name of names) {
    const { flag, variable, fallback, about } = settings[name];
    const placeholder = placeholders[name] ?? (name.startsWith('limit') ? 'WINDOWS' : 'N');
    command.addOption(
      new Option(
        `--${flag} <${placeholder}>`,
        `${about} (${variable}${fallback === null ? '' : `, default ${fallback}`})`,
      ),
    );
  }
  return command;
}

const serverSettings = Object.keys(settings).filter(
  (name): name is SettingName => name in settings && name !== 'data',
);

/** The settings among a command's options. */
export function settingFlags(options: Flags): Flags {
  return Object.fromEntries(serverSettings.map((name) => [name, options[name]]));
}

/** For options given several times. */
export function appendValue(value: string, before: readonly string[] | undefined): readonly string[] {
  return [...(before ?? []), value];
}

/** A whole number of at least 1, or one of some words. */
export function wholeNumberOr<W extends string>(...words: readonly W[]): (text: string) => number | W {
  return (text) => {
    const word = words.find((one) => one === text);
    if (word !== undefined) return word;
    if (!/^[1-9][0-9]{0,8}$/.test(text))
      throw new InvalidArgumentError(
        `It must be a whole number of at least 1${words.map((one) => ` or ${one}`).join('')}.`,
      );
    return Number(text);
  };
}

const secondsPer: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400 };

/** `24h`, `30m`, `7d`, `90s` or `0` → seconds. */
export function parseDuration(text: string): number {
  const match = /^(?:0|([1-9][0-9]{0,5})([smhd]))$/.exec(text);
  if (match === null) throw new InvalidArgumentError('Write for example 24h, 30m or 7d.');
  const [, count = '0', unit = 's'] = match;
  return Number(count) * (secondsPer[unit] ?? 1);
}

/**
 * A word as one of the choices.
 * @throws UsageError when it is none of them
 */
export function oneOf<T extends string>(choices: readonly T[], word: string | undefined): T {
  const found = choices.find((one) => one === word);
  if (found === undefined) throw new UsageError(`It must be one of: ${choices.join(', ')}.`);
  return found;
}

/** @throws UsageError unless --yes was given */
export function requireConfirmation(yes: boolean | undefined, what: string): void {
  if (yes !== true) throw new UsageError(`This removes ${what} permanently. Add --yes to confirm.`);
}
