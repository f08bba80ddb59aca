// deskbell healthcheck: does a server answer? For containers and monitors; exit 0 or 1.
import { Option, type Command } from 'commander';
import { settings } from '../../config.ts';
import type { WrapHandler, Context } from '../context.ts';
import { CommandError, UsageError } from '../errors.ts';
import { announcedServer, readinessProblem } from '../running-server.ts';

const timeoutMs = 4_000;

export function addHealthcheckCommand(program: Command, act: WrapHandler): void {
  program
    .command('healthcheck')
    .description('check whether a server is ready')
    .option(
      '--url <URL>',
      'its address (default: the server on this data folder, else 127.0.0.1 and the port)',
    )
    .addOption(
      new Option(
        '--port <N>',
        `its port on this machine (${settings.port.variable}, default ${settings.port.fallback})`,
      ).conflicts('url'),
    )
    .action(act<{ url?: string; port?: string }>(checkHealth, { tables: false }));
}

async function checkHealth(context: Context, { url, port }: { url?: string; port?: string }): Promise<void> {
  const base = url ?? (await usualAddress(context, port));
  if (!URL.canParse('/readyz', base))
    throw new UsageError(`--url ${base} is not an address. Write for example http://127.0.0.1:4600`);
  const address = new URL('/readyz', base);
  const problem = await readinessProblem(address.origin, timeoutMs);
  if (problem !== null)
    throw new CommandError(
      `${address.origin} is not ready: ${problem}. Is the address right (--url, --port), and does the server run?`,
    );
  if (context.print.json) context.print.document({ url: address.origin, ready: true });
  else context.print.line(`${address.origin} is ready.`);
}

/** Where a server is asked whose address is not given: at the port that is named, where the folder's server listens, or at the usual port. */
async function usualAddress(context: Context, port: string | undefined): Promise<string> {
  const config = context.config({ port });
  const announced = port === undefined ? await announcedServer(config) : null;
  return announced?.url ?? `http://127.0.0.1:${config.port}`;
}
