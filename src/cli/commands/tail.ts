// deskbell tail: prints events as they are committed, read from the event log of the data folder, with or without a
// running server; with --follow, as a server sends them to the member who is signed in. Reads only.
import type { Command } from 'commander';
import type { CommittedEvent } from '../../engine/engine.ts';
import { preview } from '../../text/text.ts';
import type { WrapHandler, Context } from '../context.ts';
import { hasDatabase, withLocal, type Local } from '../local.ts';
import type { StyledText, Style } from '../print.ts';
import { addServerOptions, credentialsOf, savedSignIn, signInFilter, type ServerOptions } from '../remote.ts';
import { onStopSignal, type StopSignal } from '../signals.ts';

/** How often the log is read. Reading a quiet log is one indexed query. */
const pollIntervalMs = 200;

interface TailOptions extends ServerOptions {
  readonly follow?: boolean;
}

export function addTailCommand(program: Command, act: WrapHandler): void {
  addServerOptions(
    program
      .command('tail')
      .description('print events live until Ctrl-C: from the data folder, or with --follow from a server'),
  )
    .option('--follow', 'from the server that you are signed in to (deskbell login); implied by --url')
    .action(
      act<TailOptions>(async (context, options) => {
        if (await usesServer(context, options)) {
          const { followServer } = await import('../follow-server.ts');
          return followServer(context, await savedSignIn(context, options));
        }
        return tail(context, options);
      }),
    );
}

/** --follow without any sign-in still has the data folder to follow. */
async function usesServer(context: Context, options: TailOptions): Promise<boolean> {
  if (options.url !== undefined) return true;
  if (options.follow !== true) return false;
  if ((await credentialsOf(context).find(signInFilter(options))) !== null) return true;
  return !(await hasDatabase(context.config()));
}

async function tail(context: Context, { org }: { org?: string }): Promise<void> {
  const { lastEventSeq } = await import('../../services/core/event-log.ts');
  await withLocal(context, async (local) => {
    const organization =
      org === undefined ? null : await local.run('organizations.get', { organization: org });
    const start = await lastEventSeq(local.service);
    using stop = onStopSignal(context.io.outputClosed);
    if (context.print.interactive)
      context.print.line([
        'dim',
        `What happens in ${organization?.name ?? 'every organization'} from now on; Ctrl-C ends.`,
      ]);
    else context.print.note('Listening; Ctrl-C ends.');
    await follow(context, local, start, organization?.id ?? null, stop);
  });
}

async function follow(
  { print }: Context,
  { service }: Local,
  start: number,
  organizationId: string | null,
  stop: StopSignal,
): Promise<void> {
  const { readEvents } = await import('../../services/core/event-log.ts');
  const { canReceive } = await import('../../services/core/audience.ts');
  const subscription = { kind: 'log', organizationId } as const;
  let seen = start;
  while (!stop.signal.aborted) {
    const events = await readEvents(service, seen);
    for (const event of events) {
      seen = event.seq;
      if (!canReceive(event, { kind: 'local' }, subscription)) continue;
      if (print.json) print.jsonLine(eventDocument(event));
      else print.line(...eventLine(event, print.columns));
    }
    // A full page may have more behind it: only after an empty one is there reason to wait.
    if (events.length === 0) await stop.sleep(pollIntervalMs);
  }
}

function eventDocument(event: CommittedEvent): object {
  return {
    seq: event.seq,
    type: event.type,
    organizationId: event.organization_id,
    conversationId: event.conversation_id,
    mode: event.mode,
    audience: event.audience,
    createdAt: new Date(event.created_at).toISOString(),
    payload: event.payload ?? null,
  };
}

const styles: Partial<Record<CommittedEvent['type'], Style>> = {
  'message:new': 'green',
  'conversation:new': 'yellow',
  'conversation:accepted': 'cyan',
  'conversation:released': 'yellow',
  'conversation:resolved': 'cyan',
  'conversation:reopened': 'yellow',
};

const typeWidth = 'conversation:accepted'.length;

/** On a narrow terminal the conversation's id is its last eight letters: enough to tell two apart. */
function eventLine(event: CommittedEvent, columns: number): StyledText[] {
  const type = event.type.padEnd(typeWidth);
  const conversation = columns < 120 ? event.conversation_id.slice(-8) : event.conversation_id;
  const style = styles[event.type];
  return [
    ['dim', `${new Date(event.created_at).toTimeString().slice(0, 8)} `],
    ['dim', `${conversation} `],
    style === undefined ? type : [style, type],
    `  ${event.mode === 'test' ? '[test] ' : ''}${describe(event)}`,
  ];
}

/** The names of a message's files. */
function fileNames(attachments: unknown): string {
  const names = (Array.isArray(attachments) ? attachments : []).flatMap((one: unknown) =>
    typeof one === 'object' && one !== null && 'name' in one && typeof one.name === 'string'
      ? [one.name]
      : [],
  );
  return names.length === 0 ? '' : ` [${names.join(', ')}]`;
}

/** The payload in words. The text of a message is shown as the preview that staff get. */
function describe({ type, payload, activity, actor_id: actorId }: CommittedEvent): string {
  // Payloads are those of protocol/events.ts; a removed message or conversation leaves none.
  const facts: Readonly<Record<string, unknown>> = { ...payload, ...activity?.() };
  const fact = (name: string): string => (typeof facts[name] === 'string' ? facts[name] : '');
  switch (type) {
    case 'message:new':
      return payload === undefined
        ? '(deleted)'
        : `${fact('senderName')}${facts['internal'] === true ? ' (note)' : ''}: ${fact('preview')}${fileNames(facts['attachments'])}`;
    case 'message:edited':
      return `message ${fact('messageId')}${fact('contentFormat') === 'plain' ? `: ${preview(fact('content'))}` : ''}`;
    case 'message:deleted':
      return `message ${fact('messageId')}`;
    case 'message:emailed':
      return `message ${fact('messageId')} ${fact('state')}`;
    case 'conversation:new':
      return fact('subject');
    case 'conversation:accepted':
      return `by ${fact('assignedToName')}`;
    case 'conversation:resolved':
    case 'conversation:reopened':
    case 'conversation:read':
      return `by ${actorId}`;
    case 'conversation:changed':
      return [
        fact('priority'),
        Array.isArray(facts['tags']) ? facts['tags'].map((name) => `#${String(name)}`).join(' ') : '',
        fact('snoozedUntil') === '' ? '' : `snoozed until ${fact('snoozedUntil')}`,
      ]
        .filter((part) => part !== '')
        .join('  ');
    case 'conversation:released':
      return '';
  }
}
