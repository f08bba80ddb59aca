// deskbell app …: the applications of an organization and their settings. Holds no rule.
import type { Command } from 'commander';
import type { ApplicationDetail } from '../../protocol/entities.ts';
import type { WrapHandler, Context } from '../context.ts';
import { UsageError } from '../errors.ts';
import { addCommandGroup, requireConfirmation, appendValue } from '../command-builder.ts';
import { runLocal, withLocal } from '../local.ts';

export function addAppCommands(program: Command, act: WrapHandler): void {
  const app = addCommandGroup(program, 'app', 'applications: one chat widget on one website each');
  const id = (command: Command): Command => command.argument('<ID>', "the application's id (appId)");

  app
    .command('create')
    .description('create an application')
    .argument('<NAME>')
    .requiredOption('--org <S>', 'the organization (slug or id)')
    .option('--domain <D>', 'a website that may show it; may be given several times', appendValue)
    .action(act<{ org: string; domain?: readonly string[] }>(createApp));
  app
    .command('list')
    .description('list the applications of an organization')
    .requiredOption('--org <S>', 'the organization (slug or id)')
    .action(act<{ org: string }>(listApps));
  id(app.command('show').description('show an application with its settings')).action(
    act(async (context, _options, [applicationId = '']) =>
      showApp(context, await runLocal(context, 'applications.get', { applicationId })),
    ),
  );
  id(app.command('config').description('show or change settings, as --set behavior.timezone=Europe/Berlin'))
    .option(
      '--set <path=value>',
      'a setting; the value is JSON where it is JSON, else text; may be given several times',
      appendValue,
    )
    .action(act<{ set?: readonly string[] }>(configureApp));
  id(app.command('secret').description("show the secret under which your backend signs visitors' ids"))
    .option('--rotate', 'make a new one; signatures under the old one are worth nothing then')
    .action(
      act<{ rotate?: boolean }>(async ({ print, ...context }, { rotate }, [applicationId = '']) => {
        const name = rotate === true ? 'applications.rotateIdentitySecret' : 'applications.identitySecret';
        const secret = await runLocal({ print, ...context }, name, { applicationId });
        if (print.json) print.document(secret);
        else print.line(secret.identitySecret);
      }),
    );
  id(app.command('delete').description('delete an application with its conversations'))
    .option('--yes', 'confirm')
    .action(act<{ yes?: boolean }>(deleteApp));
}

async function createApp(
  context: Context,
  { org, domain = [] }: { org: string; domain?: readonly string[] },
  [name = '']: readonly string[],
): Promise<void> {
  const made = await runLocal(context, 'applications.create', {
    organization: org,
    name,
    domains: [...domain],
  });
  const { print } = context;
  if (print.json) return print.document(made);
  print.line('Created the application ', ['bold', made.name], `: appId ${made.appId}`);
  print.line(
    made.domains.length === 0
      ? 'No website may show it yet.'
      : `Websites that may show it: ${made.domains.join(', ')}`,
  );
  print.next(
    ...(made.domains.length === 0 ? [context.command(`domain add --app ${made.appId} example.com`)] : []),
    context.command(`snippet --app ${made.appId}`),
    context.command(`key create --app ${made.appId}`),
  );
}

async function listApps(context: Context, { org }: { org: string }): Promise<void> {
  const { applications } = await runLocal(context, 'applications.list', { organization: org });
  const { print } = context;
  if (print.json) return print.document({ items: applications });
  print.table(
    ['APPID', 'NAME', 'DOMAINS'],
    applications.map((one) => [one.appId, one.name, one.domains.join(', ')]),
    `No applications yet. Create one: ${context.command(`app create NAME --org ${org}`)}`,
  );
}

function showApp({ print }: Context, one: ApplicationDetail): void {
  if (print.json) return print.document(one);
  print.fields([
    ['name', one.name],
    ['appId', one.appId],
    ['organization', one.organizationId],
    ['domains', one.domains.length === 0 ? 'none' : one.domains.join(', ')],
    ['created', one.createdAt],
    ...settingRows('', one.settings),
  ]);
}

/** Settings as the paths that --set takes. Business hours are one value, however deep. */
function settingRows(prefix: string, settings: object): [string, string][] {
  return Object.entries(settings).flatMap(([name, value]: [string, unknown]): [string, string][] => {
    const path = prefix === '' ? name : `${prefix}.${name}`;
    if (typeof value === 'object' && value !== null && path !== 'behavior.businessHours')
      return settingRows(path, value);
    return [[path, typeof value === 'string' ? value : JSON.stringify(value)]];
  });
}

async function configureApp(
  context: Context,
  { set = [] }: { set?: readonly string[] },
  [applicationId = '']: readonly string[],
): Promise<void> {
  if (set.length === 0)
    return showApp(context, await runLocal(context, 'applications.get', { applicationId }));
  const changes = set.map(parseSetting);
  const updated = await withLocal(context, async (local) => {
    const { patchFromPaths } = await import('../../services/tenants/settings.ts');
    const { settings } = await local.run('applications.get', { applicationId });
    return local.run('applications.update', { applicationId, ...patchFromPaths(settings, changes) });
  });
  showApp(context, updated);
}

/** `path=value`, the value as JSON where it is JSON. */
function parseSetting(text: string): { path: string; value: unknown } {
  const at = text.indexOf('=');
  if (at < 1)
    throw new UsageError(
      `--set ${text} has no value: write --set path=value, for example --set behavior.timezone=Europe/Berlin`,
    );
  const written = text.slice(at + 1);
  let value: unknown = written;
  try {
    value = JSON.parse(written);
  } catch {
    // Not JSON: the text itself is the value.
  }
  return { path: text.slice(0, at), value };
}

async function deleteApp(
  context: Context,
  { yes }: { yes?: boolean },
  [applicationId = '']: readonly string[],
): Promise<void> {
  requireConfirmation(yes, `the application ${applicationId} with its conversations`);
  const done = await runLocal(context, 'applications.delete', { applicationId });
  if (context.print.json) context.print.document(done);
  else context.print.line(`Removed the application ${applicationId}.`);
}
