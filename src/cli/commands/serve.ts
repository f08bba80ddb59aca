// deskbell serve, and deskbell alone: the first run, then the server.
import type { Command } from 'commander';
import type { RunningApp } from '../../app.ts';
import type { Config, Flags } from '../../config.ts';
import type { WrapHandler, Context } from '../context.ts';
import { askFirstQuestions, createFirstResources, type FirstResources } from '../first-run.ts';
import { addSettings, settingFlags } from '../command-builder.ts';
import { openLocalConsole } from './open-console.ts';
import { localOn, placeOf, withLocal } from '../local.ts';
import { serverHere, type ServerAddress } from '../running-server.ts';
import { addressDocument, printAddress, runServer } from '../run-server.ts';
import { widgetTag } from '../snippet.ts';

export function addServeCommands(program: Command, act: WrapHandler, version: string): void {
  addSettings(program.command('serve').description('run the server')).action(
    act<Flags>(async (context, options) => serve(context, context.config(settingFlags(options)), version), {
      tables: false,
    }),
  );
  addSettings(program.command('start', { hidden: true })).action(
    act<Flags>(
      async (context, options) => {
        const config = context.config(settingFlags(options));
        const beside = await serverToJoin(context, config, options);
        if (beside !== null) {
          context.print.line(
            `A server runs on ${config.data} already, at ${beside.url}: this is the console.`,
          );
          return openLocalConsole(context, beside);
        }
        if (!(await isFirstRun(context, config))) return serve(context, config, version);
        // Before the questions: what they create would stay, and the person would not be told of it.
        const { assertPortFree } = await import('../../app.ts');
        await assertPortFree(config);
        const made = await firstRun(context);
        if (!made.stopped)
          await serve(context, config, version, (running) => sayFirstSteps(context, made, running));
      },
      { tables: false },
    ),
  );
}

async function serve(
  context: Context,
  config: Config,
  version: string,
  sayMore: (running: RunningApp) => Promise<void> = async () => undefined,
): Promise<void> {
  await runServer(context, config, async (running) => {
    const { print } = context;
    if (print.json) return print.jsonLine(addressDocument(running));
    await sayMore(running);
    print.line(['bold', `Deskbell ${version}`], `, data in ${await placeOf(config)}`);
    if (config.durability === 'normal')
      print.line(
        'Durability normal: acknowledged messages survive a crash of the program, not a loss of power.',
      );
    await sayWhatIsMissing(context, running);
    printAddress(context, running);
  });
}

async function sayWhatIsMissing(context: Context, { service }: RunningApp): Promise<void> {
  const { organizations } = await localOn(service).run('organizations.list', {});
  if (organizations.length > 0) return;
  context.print.line('There is no organization yet. Create one in another terminal:');
  context.print.line('  ', ['cyan', context.command('org create "My company"')]);
}

/** A person sits there, not a script. */
function isPerson({ io, print }: Context): boolean {
  return print.interactive && io.input.isTTY === true;
}

/** The server that runs on the folder already, for a person who asked for no setting of another one. */
async function serverToJoin(context: Context, config: Config, options: Flags): Promise<ServerAddress | null> {
  if (!isPerson(context) || Object.values(settingFlags(options)).some((typed) => typed !== undefined))
    return null;
  return serverHere(config);
}

/** A person sits there, and there is nothing yet. */
async function isFirstRun(context: Context, config: Config): Promise<boolean> {
  if (!isPerson(context) || config.databaseUrl !== null) return false;
  const { databaseExists } = await import('../../engine/open-engine.ts');
  return !(await databaseExists(config.data));
}

async function firstRun(context: Context): Promise<FirstResources> {
  const { print } = context;
  print.line(['bold', 'Welcome to Deskbell.'], ` There is nothing yet in ${context.config().data}.`);
  print.line('A few questions, then the server starts. Ctrl-C leaves, and nothing is created.');
  print.line();
  const answers = await askFirstQuestions(context.io);
  return withLocal(context, (local) => createFirstResources(local, answers), 'may be new');
}

/** Where the dashboard is for every organization; it asks which one. */
function dashboardAddress(base: string): string {
  return `${base.replace(/\/$/, '')}/`;
}

/** What was made, and what comes next: with the server's own address, which is known only now. */
async function sayFirstSteps(
  context: Context,
  { organization, application, member }: FirstResources,
  { url }: RunningApp,
): Promise<void> {
  const { print } = context;
  const step = (what: string, command: string): void => {
    print.line(what);
    print.line('  ', ['cyan', context.command(command)]);
  };
  print.line();
  print.line(
    `Created the organization `,
    ['bold', organization.name],
    `, its application and the admin ${member.email}.`,
  );
  print.line();
  if (application.domains.length === 0)
    step('Let a website show it:', `domain add --app ${application.appId} example.com`);
  print.line('Put this into the pages of your website, or see deskbell snippet:');
  print.block(`  ${widgetTag(application.appId, context.config().baseUrl ?? url)}`);
  print.line(
    'Answer visitors and change settings in a browser. Sign in to the organization ',
    ['bold', organization.slug],
    ':',
  );
  print.line('  ', ['cyan', dashboardAddress(context.config().baseUrl ?? url)]);
  step('Watch what happens, in another terminal:', `tail --org ${organization.slug}`);
  step(
    'Answer visitors in a terminal (from elsewhere: deskbell login):',
    `console --org ${organization.slug}`,
  );
  print.line();
}
