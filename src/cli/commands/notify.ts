// deskbell notify …: what a member is told of, by which ways, and a test that names the broken link; and the server's key
// for pushes. Through the server but for the key; holds no rule.
import type { Command } from 'commander';
import { notificationEvents, notificationWays } from '../../protocol/enums.ts';
import type {
  NotificationSettings,
  NotificationTestResult,
  PushDevice,
} from '../../protocol/notifications.ts';
import { addCommandGroup } from '../command-builder.ts';
import type { Context, WrapHandler } from '../context.ts';
import { CommandError, UsageError } from '../errors.ts';
import { runLocal } from '../local.ts';
import { addServerOptions, withRemote, type ServerOptions } from '../remote.ts';

export function addNotifyCommands(program: Command, act: WrapHandler): void {
  const group = addCommandGroup(program, 'notify', 'what you are told of, and how');
  addServerOptions(group.command('list').description('what you are told of, and your browsers')).action(
    act<ServerOptions>(list),
  );
  addServerOptions(
    group
      .command('set')
      .description('change what you are told of; what is not named stays')
      .argument(
        '<CHANGE...>',
        'as new.push=off, reply.email=on, preview=text, quiet=22:00-07:00 or quiet=off',
      ),
  ).action(act<ServerOptions>(set));
  addServerOptions(
    group.command('test').description('tell you something by each way, and name the link that is broken'),
  ).action(act<ServerOptions>(test));
  group
    .command('rotate-key')
    .description('make a new key for pushes; browsers keep the old one until they are opened again')
    .action(act(rotateKey));
}

interface Stored {
  readonly notifications: NotificationSettings;
}

async function list(context: Context, options: ServerOptions): Promise<void> {
  const { notifications, devices } = await withRemote(context, options, async ({ call }) => ({
    ...(await call<Stored>('GET', '/staff/notifications')),
    ...(await call<{ devices: readonly PushDevice[] }>('GET', '/staff/push')),
  }));
  const { print } = context;
  if (print.json) return print.document({ ...notifications, devices });
  printSettings(context, notifications);
  print.line('');
  return print.table(
    ['BROWSER', 'LAST PUSH', 'PROBLEM'],
    devices.map((one) => [one.label, one.lastSentAt ?? 'never', one.problem ?? '']),
    'No browser of yours is sent pushes. Open the page Notifications of the dashboard in it.',
  );
}

function printSettings({ print }: Context, { events, quietHours, preview }: NotificationSettings): void {
  print.table(
    ['EVENT', ...notificationWays.map((way) => way.toUpperCase())],
    notificationEvents.map((event) => [
      event,
      ...notificationWays.map((way) => (events[event][way] ? 'on' : 'off')),
    ]),
    '',
  );
  print.fields([
    ['preview', preview],
    [
      'quiet hours',
      quietHours === null ? 'none' : `${quietHours.from} to ${quietHours.to}, ${quietHours.timezone}`,
    ],
  ]);
}

async function set(
  context: Context,
  options: ServerOptions,
  changes: readonly (string | readonly string[])[],
): Promise<void> {
  const change = readChanges(changes.flat());
  const { notifications } = await withRemote(context, options, ({ call }) =>
    call<Stored>('PUT', '/staff/notifications', change),
  );
  if (context.print.json) context.print.document(notifications);
  else printSettings(context, notifications);
}

interface Change {
  readonly events: Record<string, Record<string, boolean>>;
  quietHours?: { from: string; to: string; timezone: string } | null | undefined;
  preview?: string;
}

function readChanges(words: readonly string[]): Change {
  const change: Change = { events: {} };
  for (const word of words) {
    const [path = '', value = ''] = word.split('=', 2);
    if (path === 'preview') change.preview = value;
    else if (path === 'quiet') change.quietHours = readQuietHours(value);
    else {
      const [event = '', way = ''] = path.split('.', 2);
      if (
        !isOneOf(event, notificationEvents) ||
        !isOneOf(way, notificationWays) ||
        !/^(?:on|off)$/.test(value)
      )
        throw new UsageError(
          `${JSON.stringify(word)} is no change. Write EVENT.WAY=on or off, with an event of ${notificationEvents.join(', ')} and a way of ${notificationWays.join(', ')}; preview=none, name or text; or quiet=22:00-07:00.`,
        );
      change.events[event] = { ...change.events[event], [way]: value === 'on' };
    }
  }
  return change;
}

const isOneOf = (word: string, known: readonly string[]): boolean => known.includes(word);

/** In the time zone of this machine. */
function readQuietHours(value: string): Change['quietHours'] {
  if (value === 'off') return null;
  const [, from, to] = /^(\d\d:\d\d)-(\d\d:\d\d)$/.exec(value) ?? [];
  if (from === undefined || to === undefined)
    throw new UsageError('Quiet hours are written as quiet=22:00-07:00, or quiet=off.');
  return { from, to, timezone: Intl.DateTimeFormat().resolvedOptions().timeZone };
}

interface Tested {
  readonly results: readonly NotificationTestResult[];
  readonly quiet: boolean;
}

async function test(context: Context, options: ServerOptions): Promise<void> {
  const tested = await withRemote(context, options, ({ call }) =>
    call<Tested>('POST', '/staff/notifications/test', {}),
  );
  const { print } = context;
  if (print.json) print.document(tested);
  else {
    for (const { way, device, ok, problem } of tested.results)
      print.line(
        [ok ? 'green' : 'red', ok ? 'ok    ' : 'FAILED'],
        '  ',
        ['bold', way],
        device === undefined ? '' : ` to ${device.label}`,
        problem === null ? '' : `: ${problem}`,
      );
    if (tested.quiet)
      print.line(['yellow', 'It is in your quiet hours: you are told nothing until they are over.']);
  }
  const failed = tested.results.filter(({ ok }) => !ok).map(({ way }) => way);
  if (failed.length > 0) throw new CommandError(`Not every way works: ${[...new Set(failed)].join(', ')}.`);
}

async function rotateKey(context: Context): Promise<void> {
  const made = await runLocal(context, 'push.rotateKey', {});
  if (context.print.json) context.print.document(made);
  else
    context.print.line(
      'There is a new key for pushes. Browsers take it when the dashboard is opened in them again; until then the old one serves them.',
    );
}
