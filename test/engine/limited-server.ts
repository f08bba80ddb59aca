// A program of its own whose files can't grow beyond a limit: the shell that starts it says `ulimit -f`. It does what
// storage-faults.test.ts asks of it over IPC. The tests' own process can't have the limit: it could not move it, and
// packages that listen for signals leave SIGXFSZ as a deadly one behind.
import { readConfig } from '../../src/config.ts';
import { backUpDataFolder } from '../../src/data-folder.ts';
import { createSystemClock } from '../../src/engine/clock.ts';
import { openEngine } from '../../src/engine/open-engine.ts';
import type { OperationName, RawInput } from '../../src/protocol/operations.ts';
import { startApp, type TestApp } from '../helpers/app.ts';

let app: TestApp;

const requests = {
  start: async () => {
    app = await startApp({ flags: { durability: 'full' } });
    return { url: app.url, folder: app.folder };
  },
  restart: async () => {
    app = await app.restart();
    return { url: app.url, folder: app.folder };
  },
  stop: () => app.stop(),
  local: (name: OperationName, input: RawInput<OperationName>) => app.local(name, input),
  step: async (ms: number) => app.clock.step(ms),
  clearRemoved: () => app.service.engine.maintenance.clearRemoved(),
  backUp: async (file: string) =>
    void (await backUpDataFolder(readConfig({ data: app.folder }, {}), file, false, app.clock.now())),
  /** Opens a database, which brings it to the newest schema. */
  open: async (folder: string) => {
    const clock = createSystemClock();
    const engine = await openEngine({ folder, durability: 'full', clock, keyCheck: 'k', as: 'server' });
    await engine.close();
  },
};

export type LimitedRequests = typeof requests;

interface Received {
  readonly name: keyof LimitedRequests;
  readonly values: readonly unknown[];
}

async function answer({ name, values }: Received): Promise<object> {
  try {
    return {
      value: await (requests[name] as (...values: readonly unknown[]) => Promise<unknown>)(...values),
    };
  } catch (error) {
    return { error: String(error), code: (error as { code?: unknown }).code };
  }
}

process.on('message', (received: Received) => {
  void answer(received).then((answered) => process.send?.(answered));
});
// The test has ended, however that was.
process.once('disconnect', () => process.exit());
process.send?.('ready');
