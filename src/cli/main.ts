// The command line: the tree of commands, and what their endings become as exit codes.
// Loads nothing heavy itself: each command loads what it needs when it runs.
import { Command, CommanderError, Option } from 'commander';
import manifest from '../../package.json' with { type: 'json' };
import { addConversationCommands } from './commands/conversations.ts';
import { addAppCommands } from './commands/apps.ts';
import { addAuditCommand } from './commands/audit.ts';
import { addBlockCommands } from './commands/blocks.ts';
import { addBackupCommand } from './commands/backup.ts';
import { addCannedCommands } from './commands/canned.ts';
import { addDemoCommand } from './commands/demo.ts';
import { addDoctorCommand } from './commands/doctor.ts';
import { addDomainCommands } from './commands/domains.ts';
import { addExportCommand } from './commands/export.ts';
import { addHealthcheckCommand } from './commands/healthcheck.ts';
import { addImportCommand } from './commands/import.ts';
import { addInstallServiceCommand } from './commands/install-service.ts';
import { addKeyCommands } from './commands/keys.ts';
import { addAiLogCommand } from './commands/ai-log.ts';
import { addKnowledgeCommands } from './commands/knowledge.ts';
import { addNodeCommands } from './commands/nodes.ts';
import { addInboxCommands } from './commands/inbox.ts';
import { addLoginCommands } from './commands/login.ts';
import { addMemberCommands } from './commands/members.ts';
import { addOpenApiCommand } from './commands/openapi.ts';
import { addOrgCommands } from './commands/orgs.ts';
import { addPurgeCommand } from './commands/purge.ts';
import { addConsoleCommand } from './commands/open-console.ts';
import { addQueueOrderCommands } from './commands/queue-order.ts';
import { addReindexCommand } from './commands/reindex.ts';
import { addReplyCommands } from './commands/reply.ts';
import { addRestoreCommand } from './commands/restore.ts';
import { addServeCommands } from './commands/serve.ts';
import { addSecondFactorCommands } from './commands/second-factor.ts';
import { addSessionCommands } from './commands/sessions.ts';
import { addTagCommands, addViewCommands } from './commands/tags.ts';
import { addNotifyCommands } from './commands/notify.ts';
import { addTokenCommands } from './commands/tokens.ts';
import { addTranscriptCommand } from './commands/transcript.ts';
import { addSnippetCommand } from './commands/snippet.ts';
import { addStatsCommand } from './commands/stats.ts';
import { addTailCommand } from './commands/tail.ts';
import { addMailCommands } from './commands/mail.ts';
import { addWebhookCommands } from './commands/webhooks.ts';
import { createContext, createHandlerWrapper, type GlobalOptions, type Io } from './context.ts';
import { CommandError, explain, type ExitCode } from './errors.ts';
import { addHelpCommand, commandPath, requireSubcommand } from './command-builder.ts';
import { sanitizeCell, outputError, plainColumns, watchOutput, wholeOutput } from './print.ts';

/**
 * Runs one command line.
 * @param argv the words behind the program's name
 * @param io the streams; the process's own unless a test listens
 * @returns the exit code: 0 done, 1 failed, 2 wrong usage
 */
export async function main(argv: readonly string[], io: Io = processIo()): Promise<ExitCode> {
  const program = createProgram(io);
  try {
    await program.parseAsync(withDefaultCommand(argv), { from: 'user' }).catch(unlessHelp);
    // A stream tells of a failed write only a turn later.
    await new Promise((resolve) => setImmediate(resolve));
    const fault = outputError(io.outputClosed);
    if (fault !== null)
      throw new CommandError(`The output could not be written: ${fault.message}.`, { cause: fault });
    return 0;
  } catch (error) {
    if (error instanceof CommanderError) {
      io.errors.write(`${sanitizeCell(usageLine(error, commandOf(program, argv)))}\n`);
      return 2;
    }
    const { command } = createContext(io, program.opts<GlobalOptions>(), plainColumns);
    const { options } = commandOf(program, argv);
    const hasOption = (flag: string): boolean => options.some(({ long }) => long === flag);
    const { code, line } = explain(error, { command, hasOption });
    io.errors.write(`${sanitizeCell(line)}\n`);
    return code;
  }
}

/** What was asked for as --help and --version ends by an error of commander's that is none. */
function unlessHelp(error: unknown): void {
  if (!(error instanceof CommanderError) || error.exitCode !== 0) throw error;
}

function processIo(): Io {
  const { stdin, stdout, stderr } = process;
  // A closed stderr must not end a server that only wanted to say something.
  watchOutput(stderr);
  const output = wholeOutput(stdout);
  return { input: stdin, output, errors: stderr, outputClosed: watchOutput(output) };
}

function createProgram(io: Io): Command {
  const program = new Command('deskbell');
  program
    .description('Customer-support chat that you host yourself.')
    .usage('[command] [options]')
    .version(manifest.version, '-v, --version', 'print the version')
    .addOption(new Option('--data <DIR>', 'the data folder (DESKBELL_DATA, default ./deskbell-data)'))
    .option('--json', 'print one JSON document instead of text for people')
    .helpOption('-h, --help', 'print this help')
    .helpCommand(false)
    .configureHelp({ showGlobalOptions: true })
    .configureOutput({
      writeOut: (text) => io.output.write(text),
      // What went wrong is said by main, in one line.
      writeErr: () => undefined,
      outputError: () => undefined,
      getOutHelpWidth: () => io.output.columns ?? 100,
    })
    .exitOverride()
    .addHelpText(
      'after',
      '\nWithout a command: a few questions on the first run, then the server; later the server.\nThe first steps: deskbell, or deskbell demo to look around.',
    );
  requireSubcommand(program);
  const act = createHandlerWrapper(io);
  addServeCommands(program, act, manifest.version);
  addDemoCommand(program, act, manifest.version);
  addLoginCommands(program, act);
  addSecondFactorCommands(program, act);
  addSessionCommands(program, act);
  addTokenCommands(program, act);
  addNotifyCommands(program, act);
  addConsoleCommand(program, act);
  addInboxCommands(program, act);
  addConversationCommands(program, act);
  addTranscriptCommand(program, act);
  addQueueOrderCommands(program, act);
  addTagCommands(program, act);
  addViewCommands(program, act);
  addReplyCommands(program, act);
  addCannedCommands(program, act);
  addBlockCommands(program, act);
  addOrgCommands(program, act);
  addAppCommands(program, act);
  addDomainCommands(program, act);
  addKeyCommands(program, act);
  addMemberCommands(program, act);
  addSnippetCommand(program, act);
  addWebhookCommands(program, act);
  addMailCommands(program, act);
  addAiLogCommand(addKnowledgeCommands(program, act), act);
  addStatsCommand(program, act);
  addTailCommand(program, act);
  addAuditCommand(program, act);
  addBackupCommand(program, act);
  addRestoreCommand(program, act);
  addReindexCommand(program, act);
  addExportCommand(program, act);
  addImportCommand(program, act);
  addPurgeCommand(program, act);
  addDoctorCommand(program, act);
  addNodeCommands(program, act);
  addInstallServiceCommand(program, act);
  addOpenApiCommand(program, act);
  addHealthcheckCommand(program, act);
  addHelpCommand(program);
  return program;
}

const helpFlags = new Set(['-h', '--help', '-v', '--version']);

/** `deskbell` and `deskbell --port 80` mean the hidden command `start`; everything else is as it was typed. */
export function withDefaultCommand(argv: readonly string[]): readonly string[] {
  for (let index = 0; index < argv.length; index += 1) {
    const word = argv[index] ?? '';
    if (word === '--data') index += 1;
    else if (word !== '--json' && !word.startsWith('--data='))
      return word.startsWith('-') && !helpFlags.has(word) ? ['start', ...argv] : argv;
  }
  return ['start', ...argv];
}

/** The command that a command line means, as far as its words are known. */
function commandOf(program: Command, argv: readonly string[]): Command {
  let command = program;
  for (const word of argv) command = command.commands.find((one) => one.name() === word) ?? command;
  return command;
}

function usageLine({ message }: CommanderError, command: Command): string {
  const sentence = message
    .replace(/^error: /, '')
    .replaceAll('\n', ' ')
    .replace(/[.]?$/, '.');
  return `${sentence.charAt(0).toUpperCase()}${sentence.slice(1)} See: ${commandPath(command)} --help`;
}
