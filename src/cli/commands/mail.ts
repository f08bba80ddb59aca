// deskbell mail … and deskbell outbox …: by which server mails leave, whether they arrive, what was sent and what became
// of it. Holds no rule; a key is shown once.
import { Option, type Command } from 'commander';
import { deliveryStatuses, effectKinds } from '../../protocol/enums.ts';
import type { EffectKind, MailState, OutboxEffect } from '../../protocol/operations/email.ts';
import type { DeliveryStatus } from '../../protocol/webhooks.ts';
import { addCommandGroup, wholeNumberOr } from '../command-builder.ts';
import type { Context, WrapHandler } from '../context.ts';
import { UsageError } from '../errors.ts';
import { runLocal } from '../local.ts';
import { readStandardInput } from '../standard-input.ts';

interface LogOptions {
  readonly org: string;
  readonly status?: DeliveryStatus;
  readonly limit: number;
  readonly kind?: EffectKind;
}

export function addMailCommands(program: Command, act: WrapHandler): void {
  const mail = addCommandGroup(program, 'mail', 'mails to visitors and from them');
  const org = (command: Command): Command =>
    command.requiredOption('--org <S>', 'the organization (slug or id)');
  const log = (command: Command): Command =>
    org(command)
      .addOption(new Option('--status <S>', 'only what stands so').choices(deliveryStatuses))
      .option('--limit <N>', 'how many', wholeNumberOr(), 20);

  org(mail.command('status').description('show how mails leave and come back')).action(
    act<{ org: string }>(async (context, { org: organization }) =>
      showState(context, organization, await runLocal(context, 'email.get', { organization })),
    ),
  );
  org(
    mail
      .command('test')
      .description('send a mail to see whether mails arrive; the running server sends it')
      .argument('<ADDRESS>', 'to whom'),
  ).action(
    act<{ org: string }>(async (context, { org: organization }, [to = '']) => {
      showQueued(context, organization, await runLocal(context, 'email.test', { organization, to }));
    }),
  );
  log(mail.command('log').description('list mails, newest first')).action(
    act<LogOptions>(async (context, { org: organization, status, limit }) => {
      const { deliveries } = await runLocal(context, 'email.deliveries', {
        organization,
        limit,
        ...(status === undefined ? {} : { status }),
      });
      showEffects(context, deliveries, { kinds: false, all: status === undefined });
    }),
  );
  org(
    mail
      .command('server')
      .description("set the organization's own mail server; its address is read from standard input")
      .option('--address <ADDRESS>', 'the address that mails come from')
      .option('--remove', "use the server's own again"),
  ).action(act<{ org: string; address?: string; remove?: boolean }>(setServer));
  mail
    .command('key')
    .description('make the key under which mails for an application are handed in; an earlier one ends')
    .argument('<APP>', "the application's id")
    .action(
      act(async (context, _options, [applicationId = '']) => {
        const made = await runLocal(context, 'email.createKey', { applicationId });
        if (context.print.json) context.print.document(made);
        else
          context.print.fields([
            ['key', made.key],
            ['POST', made.path],
          ]);
      }),
    );

  const outbox = addCommandGroup(program, 'outbox', 'what was sent or waits to be sent');
  log(
    outbox
      .command('list')
      .description('list it, newest first')
      .addOption(new Option('--kind <K>', 'only this').choices(effectKinds)),
  ).action(
    act<LogOptions>(async (context, { org: organization, status, limit, kind }) => {
      const { effects } = await runLocal(context, 'outbox.list', {
        organization,
        limit,
        ...(status === undefined ? {} : { status }),
        ...(kind === undefined ? {} : { kind }),
      });
      showEffects(context, effects, { kinds: true, all: status === undefined && kind === undefined });
    }),
  );
  outbox
    .command('replay')
    .description('send something now, or once more; the running server sends it')
    .argument('<ID>', 'its id')
    .action(
      act(async (context, _options, [effectId = '']) => {
        const effect = await runLocal(context, 'outbox.replay', { effectId });
        if (context.print.json) context.print.document(effect);
        else context.print.line('The running server sends it now.');
      }),
    );
}

async function setServer(
  context: Context,
  { org: organization, address, remove }: { org: string; address?: string; remove?: boolean },
): Promise<void> {
  if ((remove === true) === (address !== undefined))
    throw new UsageError('Give --address, and the server’s address on standard input; or --remove.');
  const server = address === undefined ? null : { url: (await readServerAddress(context)).trim(), address };
  showState(context, organization, await runLocal(context, 'email.update', { organization, server }));
}

const maxAddressBytes = 1_000;

/** Not an option: it holds a password, and other users of the machine can read a process's options. */
function readServerAddress({ io }: Context): Promise<string> {
  return readStandardInput(io.input, maxAddressBytes, {
    tooLong: 'The address on standard input is too long. Nothing was changed.',
    notText: 'The address on standard input is not UTF-8. Nothing was changed.',
  });
}

function showState(context: Context, organization: string, state: MailState): void {
  const { print } = context;
  if (print.json) return print.document(state);
  print.fields([
    [
      'leave through',
      state.server === 'none'
        ? `nothing that this command’s environment names: set DESKBELL_SMTP_URL and DESKBELL_MAIL_ADDRESS, or ${context.command(`mail server --org ${organization} --address A`)}`
        : state.server === 'server'
          ? "the server's own mail server"
          : (state.host ?? ''),
    ],
    ['address', state.address ?? '-'],
    [
      'come back',
      state.receives
        ? 'yes'
        : `no: set DESKBELL_MAIL_LISTEN or DESKBELL_IMAP_URL, or make a key and post mails under it: ${context.command('mail key APP')}`,
    ],
    ['keys', state.keys.map(({ applicationId }) => applicationId).join(', ') || '-'],
    ['mails a day', state.mailsPerDay === null ? 'unlimited' : String(state.mailsPerDay)],
  ]);
}

/**
 * @param kinds whether they are of several kinds
 * @param all whether every one was asked for
 */
function showEffects(
  { print }: Context,
  effects: readonly OutboxEffect[],
  { kinds, all }: { readonly kinds: boolean; readonly all: boolean },
): void {
  if (print.json) return print.document({ items: effects });
  print.table(
    ['ID', ...(kinds ? ['KIND'] : []), 'WHAT', 'TO', 'STATUS', 'ATTEMPTS', 'MADE', 'WHY'],
    effects.map((one) => [
      one.id,
      ...(kinds ? [one.kind] : []),
      one.about,
      one.recipient ?? '-',
      one.status,
      String(one.attempts),
      one.createdAt,
      one.error ?? '',
    ]),
    all ? 'Nothing was sent yet.' : 'No such entries.',
  );
}

function showQueued(context: Context, organization: string, effect: OutboxEffect): void {
  const { print } = context;
  if (print.json) return print.document(effect);
  print.line('The running server sends it now. How it went:');
  print.line('  ', ['cyan', context.command(`mail log --org ${organization} --limit 1`)]);
}
