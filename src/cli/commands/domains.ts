// deskbell domain …: the websites that may show an application. Holds no rule.
import type { Command } from 'commander';
import type { WrapHandler, Context } from '../context.ts';
import { addCommandGroup } from '../command-builder.ts';
import { runLocal } from '../local.ts';

interface AppOption {
  readonly app: string;
}

export function addDomainCommands(program: Command, act: WrapHandler): void {
  const domain = addCommandGroup(program, 'domain', 'the websites that may show an application');
  const app = (command: Command): Command => command.requiredOption('--app <ID>', 'the application (appId)');
  const form = 'example.com, *.example.com, localhost:3000 or https://example.com:8443';

  app(domain.command('add').description('let a website show the application').argument('<D>', form)).action(
    act<AppOption>(addDomain),
  );
  app(
    domain.command('remove').description('stop a website from showing it, at once').argument('<D>', form),
  ).action(act<AppOption>(removeDomain));
  app(domain.command('list').description('list the websites that may show it')).action(
    act<AppOption>(listDomains),
  );
}

async function addDomain(
  context: Context,
  { app }: AppOption,
  [domain = '']: readonly string[],
): Promise<void> {
  const added = await runLocal(context, 'domains.add', { applicationId: app, domain });
  const { print } = context;
  if (print.json) return print.document(added);
  print.line('Websites at ', ['bold', added.domain], ' may show the application now.');
  if (added.warning !== undefined) print.note(`Note: ${added.warning}.`);
  print.next(context.command(`snippet --app ${app}`));
}

async function removeDomain(
  context: Context,
  { app }: AppOption,
  [domain = '']: readonly string[],
): Promise<void> {
  const done = await runLocal(context, 'domains.remove', { applicationId: app, domain });
  if (context.print.json) context.print.document(done);
  else context.print.line(`Websites at ${domain} may no longer show the application.`);
}

async function listDomains(context: Context, { app }: AppOption): Promise<void> {
  const { domains } = await runLocal(context, 'domains.list', { applicationId: app });
  const { print } = context;
  if (print.json) return print.document({ items: domains });
  print.table(
    ['DOMAIN', 'ADDED'],
    domains.map((one) => [one.domain, one.createdAt]),
    `No website may show it yet. Let one: ${context.command(`domain add --app ${app} example.com`)}`,
  );
}
