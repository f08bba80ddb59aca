// deskbell org …: the organizations of a data folder. Holds no rule.
import { Argument, Option, type Command } from 'commander';
import { notificationWays, plans, secondFactorDemands } from '../../protocol/enums.ts';
import type { OrganizationDetail } from '../../protocol/entities.ts';
import type { RawInput } from '../../protocol/operations.ts';
import type { WrapHandler, Context } from '../context.ts';
import { UsageError } from '../errors.ts';
import {
  appendValue,
  addCommandGroup,
  requireConfirmation,
  wholeNumberOr,
  oneOf,
} from '../command-builder.ts';
import { runLocal } from '../local.ts';
import { counted, formatBytes } from '../../text/text.ts';

interface LimitOptions {
  readonly requestsPerMinute?: number | 'plan';
  readonly retentionDays?: number | 'unlimited' | 'plan';
  readonly applications?: number | 'plan';
  readonly seats?: number | 'plan';
  readonly fileStorage?: number | 'plan';
}

interface SetOptions {
  readonly name?: string;
  readonly releaseAfter?: number | 'never';
  readonly secondFactor?: OrganizationDetail['signIn']['secondFactor'];
  readonly escalate?: readonly string[];
}

export function addOrgCommands(program: Command, act: WrapHandler): void {
  const org = addCommandGroup(program, 'org', 'organizations: the tenants of this server');
  const slug = (command: Command): Command => command.argument('<S>', "the organization's slug or id");

  org
    .command('create')
    .description('create an organization')
    .argument('<NAME>')
    .option('--slug <S>', 'its short name in addresses and commands (default: made from the name)')
    .action(act<{ slug?: string }>(createOrg));
  org.command('list').description('list the organizations').action(act(listOrgs));
  slug(org.command('show').description('show an organization with its limits')).action(
    act(async (context, _options, [organization]) =>
      show(context, await runLocal(context, 'organizations.get', { organization })),
    ),
  );
  slug(org.command('plan').description('change the plan'))
    .addArgument(new Argument('<PLAN>').choices(plans))
    .action(
      act(async (context, _options, [organization, plan]) =>
        show(
          context,
          await runLocal(context, 'organizations.update', {
            organization,
            plan: oneOf(plans, plan),
          }),
        ),
      ),
    );
  slug(org.command('usage').description('show the usage since the first of the month')).action(
    act(showUsage),
  );
  slug(
    org
      .command('limits')
      .description(
        "show or set an organization's own limits, under other plans than enterprise only a shorter retention; plan: as the plan says",
      ),
  )
    .option('--requests-per-minute <N>', 'all requests of the organization', wholeNumberOr('plan'))
    .option(
      '--retention-days <N|unlimited>',
      'how long conversations are kept',
      wholeNumberOr('unlimited', 'plan'),
    )
    .option('--applications <N>', 'how many applications it may have', wholeNumberOr('plan'))
    .option('--seats <N>', 'how many members it may have', wholeNumberOr('plan'))
    .option('--file-storage <GiB>', 'how many GiB its files may take', wholeNumberOr('plan'))
    .action(act<LimitOptions>(setLimits));
  slug(
    org
      .command('set')
      .description(
        'change the name, when absent operators lose their conversations, who needs a second factor, and what happens when no member accepts',
      ),
  )
    .option('--name <N>', 'the name')
    .option('--release-after <MINUTES|never>', 'minutes without a live connection', wholeNumberOr('never'))
    .addOption(
      new Option('--second-factor <WHO>', 'who must show a second factor; ends sessions without').choices(
        secondFactorDemands,
      ),
    )
    .option(
      '--escalate <STEP|off>',
      'when no member accepts, as 5:all:push,email; may be given several times',
      appendValue,
    )
    .action(act<SetOptions>(setOrg));
  slug(org.command('delete').description('delete an organization with everything in it'))
    .option('--yes', 'confirm')
    .action(act<{ yes?: boolean }>(deleteOrg));
}

async function setOrg(
  context: Context,
  { name, releaseAfter, secondFactor, escalate }: SetOptions,
  [organization]: readonly string[],
): Promise<void> {
  if ([name, releaseAfter, secondFactor, escalate].every((one) => one === undefined))
    throw new UsageError(
      'Give what to change: --name N, --release-after MINUTES, --second-factor WHO or --escalate STEP.',
    );
  const releaseAfterMinutes = releaseAfter === 'never' ? null : releaseAfter;
  const signIn = secondFactor === undefined ? undefined : { secondFactor };
  const escalation = escalate === undefined ? undefined : readSteps(escalate);
  const input = { organization, name, releaseAfterMinutes, signIn, escalation };
  show(context, await runLocal(context, 'organizations.update', input));
}

/** Steps as `5:all:push,email`: after how many minutes, who (`available`, `all` or a member's id), by which ways. */
function readSteps(written: readonly string[]): OrganizationDetail['escalation'] {
  if (written.length === 1 && written[0] === 'off') return [];
  return written.map((step) => {
    const [minutes = '', to = '', ways = ''] = step.split(':');
    const known = notificationWays.filter((way) => ways.split(',').includes(way));
    if (!/^\d{1,4}$/.test(minutes) || to === '' || known.length !== ways.split(',').length)
      throw new UsageError(
        `${JSON.stringify(step)} is no step. Write MINUTES:WHO:WAYS, with available, all or a member's id, and ways of ${notificationWays.join(', ')}.`,
      );
    return { afterMinutes: Number(minutes), to, ways: known };
  });
}

async function createOrg(
  context: Context,
  { slug }: { slug?: string },
  [name = '']: readonly string[],
): Promise<void> {
  const made = await runLocal(context, 'organizations.create', { name, slug }, 'may be new');
  const { print } = context;
  if (print.json) return print.document(made);
  print.line('Created the organization ', ['bold', made.name], `: slug ${made.slug}, plan ${made.plan}.`);
  print.next(
    context.command(`app create "Website" --org ${made.slug} --domain example.com`),
    context.command(`member add --org ${made.slug} --email you@example.com --name "You" --role admin`),
  );
}

async function listOrgs(context: Context): Promise<void> {
  const { organizations } = await runLocal(context, 'organizations.list', {});
  const { print } = context;
  if (print.json) return print.document({ items: organizations });
  print.table(
    ['SLUG', 'NAME', 'PLAN', 'APPS', 'MEMBERS', 'ID'],
    organizations.map((one) => [
      one.slug,
      one.name,
      one.plan,
      String(one.applications),
      String(one.members),
      one.id,
    ]),
    `No organizations yet. Create one: ${context.command('org create NAME')}`,
  );
}

function show({ print }: Context, one: OrganizationDetail): void {
  if (print.json) return print.document(one);
  const own = (value: unknown): string => (value === null ? '' : ' (its own)');
  const { limits, ownLimits } = one;
  print.fields([
    ['name', one.name],
    ['slug', one.slug],
    ['id', one.id],
    ['plan', one.plan],
    [
      'applications',
      `${one.applications} of ${limits.applications ?? 'any number'}${own(ownLimits.applications)}`,
    ],
    ['seats', `${one.members} of ${limits.seats ?? 'any number'}${own(ownLimits.seats)}`],
    [
      'files',
      `${limits.fileBytes === null ? 'any size' : `at most ${formatBytes(limits.fileBytes)}`}${own(ownLimits.fileBytes)}`,
    ],
    ['requests', `${limits.requestsPerMinute} a minute${own(ownLimits.requestsPerMinute)}`],
    [
      'retention',
      `${limits.retentionDays === null ? 'unlimited' : counted(limits.retentionDays, 'day')}${own(ownLimits.retentionDays)}`,
    ],
    ['assistant', limits.ai ? 'yes' : 'no'],
    ['second factor', one.signIn.secondFactor],
    [
      'absent members',
      one.releaseAfterMinutes === null
        ? 'keep their conversations'
        : `lose their conversations after ${one.releaseAfterMinutes} min`,
    ],
    [
      'no one accepts',
      one.escalation.length === 0
        ? 'nothing is done'
        : one.escalation
            .map(({ afterMinutes, to, ways }) => `${afterMinutes} min: ${to} by ${ways.join(', ')}`)
            .join('; '),
    ],
    ['created', one.createdAt],
  ]);
}

async function showUsage(
  context: Context,
  _options: object,
  [organization]: readonly string[],
): Promise<void> {
  const used = await runLocal(context, 'organizations.usage', { organization });
  const { print } = context;
  if (print.json) return print.document(used);
  print.fields([
    ['from', used.from],
    ['to', used.to],
    ['conversations', String(used.conversations)],
    ['messages', String(used.messages)],
    ['visitors', String(used.visitors)],
    ['seats', String(used.seats)],
    ['files', `${used.files}, ${formatBytes(used.fileBytes)}`],
    ['storage', formatBytes(used.storageBytes)],
  ]);
}

async function setLimits(
  context: Context,
  options: LimitOptions,
  [organization]: readonly string[],
): Promise<void> {
  const limits: NonNullable<RawInput<'organizations.update'>['limits']> = {};
  const { requestsPerMinute, retentionDays, applications, seats, fileStorage } = options;
  const given = [requestsPerMinute, retentionDays, applications, seats, fileStorage];
  const none = given.every((one) => one === undefined);
  if (none) return show(context, await runLocal(context, 'organizations.get', { organization }));
  const numberOrNull = <T>(value: T | 'plan'): T | null => (value === 'plan' ? null : value);
  if (requestsPerMinute !== undefined) limits.requestsPerMinute = numberOrNull(requestsPerMinute);
  if (retentionDays !== undefined) limits.retentionDays = numberOrNull(retentionDays);
  if (applications !== undefined) limits.applications = numberOrNull(applications);
  if (seats !== undefined) limits.seats = numberOrNull(seats);
  if (fileStorage !== undefined)
    limits.fileBytes = fileStorage === 'plan' ? null : fileStorage * 1_073_741_824;
  show(context, await runLocal(context, 'organizations.update', { organization, limits }));
}

async function deleteOrg(
  context: Context,
  { yes }: { yes?: boolean },
  [organization = '']: readonly string[],
): Promise<void> {
  requireConfirmation(
    yes,
    `the organization ${organization} with its applications, members and conversations`,
  );
  const done = await runLocal(context, 'organizations.delete', { organization });
  if (context.print.json) context.print.document(done);
  else context.print.line(`Removed the organization ${organization}.`);
}
