// deskbell healthcheck: does a server answer? For containers and monitors; exit 0 or 1.
import { Option, type Command } from 'commander';
import { settings } from '../../config.ts';
import type { WrapHandler, Context } from '../context.ts';
import { CommandError, UsageError } from '../errors.ts';

const patienceMs = 4_000;

export function addHealthcheckCommand(program: Command, act: WrapHandler): void {
  program
    .command('healthcheck')
    .description('ask a running server whether it serves')
    .option('--url <URL>', 'its address (default: http://127.0.0.1 and the port)')
    .addOption(
      new Option(
        '--port <N>',
        `its port on this machine (${settings.port.variable}, default ${settings.port.fallback})`,
      ).conflicts('url'),
    )
    .action(act<{ url?: string; port?: string }>(checkHealth));
}

async function checkHealth(context: Context, { url, port }: { url?: string; port?: string }): Promise<void> {
  const base = url ?? `http://127.0.0.1:${context.config({ port }).port}`;
  if (!URL.canParse('/readyz', base))
    throw new UsageError(`--url ${base} is no address: write for example http://127.0.0.1:4600`);
  const address = new URL('/readyz', base);
  const answer = await ask(address);
  if (answer !== 'ready') throw new CommandError(`${address.origin} does not serve: ${answer}.`);
  if (context.print.json) context.print.document({ url: address.origin, ready: true });
  else context.print.line(`${address.origin} serves.`);
}

async function ask(address: URL): Promise<string> {
  try {
    const response = await fetch(address, { signal: AbortSignal.timeout(patienceMs) });
    await response.body?.cancel();
    return response.ok ? 'ready' : `it answered ${response.status}`;
  } catch (error) {
    const { name, cause } = error as Error;
    if (name === 'TimeoutError') return 'no answer in time';
    return cause instanceof Error
      ? `no answer (${'code' in cause ? String(cause.code) : cause.message})`
      : 'no answer';
  }
}
