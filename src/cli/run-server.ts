// Runs the server until it is asked to end: start, the line with the address, the
// orderly stop. Shared by serve, the first run and the demo.
import type { Log } from '../log.ts';
import type { AppOverrides, RunningApp } from '../app.ts';
import type { Config } from '../config.ts';
import { tuneHeap } from '../heap.ts';
import type { Context } from './context.ts';
import { createLineFormat } from './log-lines.ts';
import { announceServer } from './running-server.ts';
import { onStopSignal } from './signals.ts';

/** A stop takes at most 10 s; a little less here, so that the process ends in time. */
const stopWithinMs = 9_500;

/**
 * @param onStart told once connections are accepted; prints what there is to say
 * @throws Error with a sentence when the server can't start; nothing runs then
 */
export async function runServer(
  context: Context,
  config: Config,
  onStart: (running: RunningApp) => Promise<void>,
  overrides: AppOverrides = {},
): Promise<void> {
  using stop = onStopSignal();
  tuneHeap();
  const { createApp } = await import('../app.ts');
  const log =
    context.print.interactive && context.io.errors.isTTY === true
      ? await readableLog(context, config)
      : undefined;
  const app = createApp(config, { ...overrides, log });
  const running = await app.start();
  let withdraw = async (): Promise<void> => undefined;
  try {
    // A server that can't write its address file serves all the same.
    if (config.databaseUrl === null)
      withdraw = await announceServer(config.data, addressDocument(running)).catch(() => withdraw);
    await onStart(running);
    await stop.requested;
  } finally {
    // What still hangs then is abandoned. The timer is unref'd, so that a quicker stop does not wait for it.
    setTimeout(() => process.exit(0), stopWithinMs).unref();
    await withdraw();
    await app.stop();
  }
}

/** What `--json` prints first: where the server is. */
export function addressDocument({ url, port }: RunningApp): { url: string; port: number; pid: number } {
  return { url, port, pid: process.pid };
}

/** The last line of the start: it ends with the address. */
export function printAddress({ print }: Context, { url }: RunningApp): void {
  print.line(print.interactive ? 'Serving, until Ctrl-C: ' : 'Serving: ', ['cyan', url]);
}

/** On a terminal the log is lines for a person; everywhere else it is JSON. */
async function readableLog({ io }: Context, config: Config): Promise<Log> {
  const { createLog } = await import('../log.ts');
  const format = createLineFormat();
  return createLog(config.logLevel, {
    write: (line) => {
      const readable = format(line);
      if (readable !== null) io.errors.write(`${readable}\n`);
    },
  });
}
