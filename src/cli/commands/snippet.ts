// deskbell snippet: the lines to paste into a website.
import type { Command } from 'commander';
import type { Flags } from '../../config.ts';
import type { WrapHandler, Context } from '../context.ts';
import { addSettings, settingFlags } from '../command-builder.ts';
import { runLocal } from '../local.ts';
import { snippetText } from '../snippet.ts';

export function addSnippetCommand(program: Command, act: WrapHandler): void {
  addSettings(
    program
      .command('snippet')
      .description('print the lines to paste into the website')
      .requiredOption('--app <ID>', 'the application (appId)'),
    ['baseUrl'],
  ).action(act<Flags & { app: string }>(printSnippet));
}

async function printSnippet(context: Context, options: Flags & { app: string }): Promise<void> {
  const config = context.config(settingFlags(options));
  const application = await runLocal(context, 'applications.get', { applicationId: options.app });
  const { print } = context;
  const baseUrl =
    config.baseUrl ?? `http://${config.host.includes(':') ? `[${config.host}]` : config.host}:${config.port}`;
  const { parts, lines } = snippetText(application, baseUrl);
  if (print.json)
    print.document({ appId: application.appId, baseUrl, domains: application.domains, snippets: parts });
  else print.block(lines);
  if (config.baseUrl === null)
    print.note(
      `Note: ${baseUrl} is known to this machine only. For a public website give the public address: --base-url https://chat.example.com`,
    );
  if (application.domains.length === 0)
    print.note(
      `Note: no website may show it yet. Let one: ${context.command(`domain add --app ${application.appId} example.com`)}`,
    );
}
