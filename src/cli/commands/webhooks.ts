// deskbell webhook …: where an organization wants to be told of what happens. Holds no
// rule; shows a secret only where it was asked for.
import { Option, type Command } from 'commander';
import type { DeliveryStatus, Webhook, WebhookDelivery, WebhookEvent } from '../../protocol/webhooks.ts';
import type { WrapHandler, Context } from '../context.ts';
import { UsageError } from '../errors.ts';
import {
  addCommandGroup,
  appendValue,
  parseDuration,
  requireConfirmation,
  wholeNumberOr,
} from '../command-builder.ts';
import { runLocal } from '../local.ts';

interface CreateOptions {
  readonly org: string;
  readonly event?: readonly string[];
}

interface UpdateOptions {
  readonly url?: string;
  readonly event?: readonly string[];
  readonly allEvents?: boolean;
}

export function addWebhookCommands(program: Command, act: WrapHandler): void {
  const webhook = addCommandGroup(program, 'webhook', 'webhooks: send events to another program');
  const id = (command: Command): Command => command.argument('<ID>', "the webhook's id");
  const events = (command: Command): Command =>
    command.option('--event <TYPE>', 'only this event; may be given several times', appendValue);

  events(
    webhook
      .command('create')
      .description('add a webhook')
      .argument('<URL>', 'where to send, https')
      .requiredOption('--org <S>', 'the organization (slug or id)'),
  ).action(
    act<CreateOptions>(async (context, { org, event }, [url = '']) => {
      showSecret(
        context,
        await runLocal(context, 'webhooks.create', { organization: org, url, events: typedEvents(event) }),
      );
    }),
  );
  webhook
    .command('list')
    .description('list the webhooks of an organization')
    .requiredOption('--org <S>', 'the organization (slug or id)')
    .action(act<{ org: string }>(listWebhooks));
  id(webhook.command('show').description('show a webhook')).action(
    act(async (context, _options, [webhookId = '']) =>
      show(context, await runLocal(context, 'webhooks.get', { webhookId })),
    ),
  );
  events(id(webhook.command('update').description('change its URL or its events')))
    .option('--url <URL>', 'where to send')
    .option('--all-events', 'every event')
    .action(act<UpdateOptions>(updateWebhook));
  id(webhook.command('enable').description('enable it again, for events from now on')).action(
    switchTo(act, true),
  );
  id(webhook.command('disable').description('disable it')).action(switchTo(act, false));
  id(webhook.command('reveal').description('show its secret again; the audit log says so')).action(
    act(async (context, _options, [webhookId = '']) =>
      showSecret(context, await runLocal(context, 'webhooks.reveal', { webhookId })),
    ),
  );
  id(webhook.command('rotate').description('make a new secret; the old one signs as well for a while'))
    .addOption(
      new Option('--overlap <TIME>', 'how long the old one signs as well: 24h, 30m, 7d or 0')
        .argParser(parseDuration)
        .default(86_400, '24h'),
    )
    .action(
      act<{ overlap: number }>(async (context, { overlap }, [webhookId = '']) =>
        showSecret(
          context,
          await runLocal(context, 'webhooks.rotate', { webhookId, overlapSeconds: overlap }),
        ),
      ),
    );
  id(webhook.command('end-overlap').description('stop signing with the secret before the rotation')).action(
    act(async (context, _options, [webhookId = '']) =>
      show(context, await runLocal(context, 'webhooks.endOverlap', { webhookId })),
    ),
  );
  id(webhook.command('test').description('send a sample; the running server sends it')).action(
    act(async (context, _options, [webhookId = '']) => {
      const delivery = await runLocal(context, 'webhooks.test', { webhookId });
      showQueued(context, delivery);
    }),
  );
  id(webhook.command('deliveries').description('list its deliveries, newest first'))
    .option('--status <S>', 'waiting, delivered, failed or skipped')
    .option('--limit <N>', 'how many', wholeNumberOr(), 20)
    .action(act<{ status?: string; limit: number }>(listDeliveries));
  id(webhook.command('replay').description('send a delivery again'))
    .argument('<DELIVERY>', "the delivery's id")
    .action(
      act(async (context, _options, [webhookId = '', deliveryId = '']) => {
        showQueued(context, await runLocal(context, 'webhooks.replay', { webhookId, deliveryId }));
      }),
    );
  id(
    webhook.command('delete').description('delete a webhook with its log').option('--yes', 'confirm'),
  ).action(
    act<{ yes?: boolean }>(async (context, { yes }, [webhookId = '']) => {
      requireConfirmation(yes, 'the webhook and its log');
      const done = await runLocal(context, 'webhooks.delete', { webhookId });
      if (context.print.json) context.print.document(done);
      else context.print.line('The webhook is deleted.');
    }),
  );
}

/** As typed: whether they are events is checked by the operation. */
function typedEvents(events: readonly string[] | undefined): WebhookEvent[] | null {
  return events === undefined ? null : (events.slice() as WebhookEvent[]);
}

function switchTo(act: WrapHandler, enabled: boolean): (...all: unknown[]) => Promise<void> {
  return act(async (context, _options, [webhookId = '']) =>
    show(context, await runLocal(context, 'webhooks.update', { webhookId, enabled })),
  );
}

async function updateWebhook(
  context: Context,
  { url, event, allEvents }: UpdateOptions,
  [webhookId = '']: readonly string[],
): Promise<void> {
  if (url === undefined && event === undefined && allEvents === undefined)
    throw new UsageError('Nothing to change: give --url, --event or --all-events.');
  const selection =
    allEvents === true ? { events: null } : event === undefined ? {} : { events: typedEvents(event) };
  show(
    context,
    await runLocal(context, 'webhooks.update', {
      webhookId,
      ...selection,
      ...(url === undefined ? {} : { url }),
    }),
  );
}

function fields({ id, url, events, enabled, waiting, previousSecretUntil }: Webhook): [string, string][] {
  return [
    ['id', id],
    ['url', url],
    ['events', events === null ? 'all' : events.join(', ')],
    ['state', enabled ? 'on' : 'off'],
    ['waiting', String(waiting)],
    ...(previousSecretUntil === null
      ? []
      : [
          ['overlap', `the previous secret signs as well until ${previousSecretUntil}`] satisfies [
            string,
            string,
          ],
        ]),
  ];
}

function show({ print }: Context, webhook: Webhook): void {
  if (print.json) print.document(webhook);
  else print.fields(fields(webhook));
}

function showSecret(context: Context, webhook: Webhook & { readonly secret: string }): void {
  const { print } = context;
  if (print.json) return print.document(webhook);
  print.fields([['secret', webhook.secret], ...fields(webhook)]);
  if (print.interactive)
    print.line(['dim', 'The receiver checks signatures with the secret, as Standard Webhooks says.']);
  print.next(context.command(`webhook test ${webhook.id}`));
}

async function listWebhooks(context: Context, { org }: { org: string }): Promise<void> {
  const { webhooks } = await runLocal(context, 'webhooks.list', { organization: org });
  const { print } = context;
  if (print.json) return print.document({ items: webhooks });
  print.table(
    ['ID', 'URL', 'EVENTS', 'STATE', 'WAITING'],
    webhooks.map((one) =>
      fields(one)
        .slice(0, 5)
        .map(([, value]) => value),
    ),
    `No webhooks yet. Create one: ${context.command(`webhook create https://example.com/hook --org ${org}`)}`,
  );
}

async function listDeliveries(
  context: Context,
  { status, limit }: { status?: string; limit: number },
  [webhookId = '']: readonly string[],
): Promise<void> {
  const selection = status === undefined ? {} : { status: status as DeliveryStatus };
  const { deliveries } = await runLocal(context, 'webhooks.deliveries', { webhookId, limit, ...selection });
  const { print } = context;
  if (print.json) return print.document({ items: deliveries });
  print.table(
    ['ID', 'EVENT', 'STATUS', 'ATTEMPTS', 'ANSWER', 'MS', 'MADE', 'WHY'],
    deliveries.map((one) => [
      one.id,
      one.type,
      one.status,
      String(one.attempts),
      one.responseStatus === null ? '-' : String(one.responseStatus),
      one.durationMs === null ? '-' : String(one.durationMs),
      one.createdAt,
      one.error ?? '',
    ]),
    status === undefined ? 'Nothing was sent yet.' : 'No such deliveries.',
  );
}

function showQueued(context: Context, delivery: WebhookDelivery): void {
  const { print } = context;
  if (print.json) return print.document(delivery);
  print.line('The running server sends it now. How it went:');
  print.line('  ', ['cyan', context.command(`webhook deliveries ${delivery.webhookId} --limit 1`)]);
}
