// Owns: what a server holds of the machine's memory after a long load, as the system counts it: Deskbell as it is built and
// started, and the ceiling. Each is alone on the machine with the load. The texts differ as people's do.
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { residentMegabytes, serve } from './program.ts';
import { Child, unlimited, type Address, type Pair, type Sent } from './protocol.ts';
import { assertWhole, countRows } from './sends.ts';

export interface LoadedOptions {
  readonly folder: string;
  readonly pairs: number;
  /** So many are sent, or a few more. */
  readonly messages: number;
  /** Length of one stretch of sending, behind which all that was sent is counted. */
  readonly seconds: number;
  /** The rest after the load, ms. */
  readonly restMs: number;
}

interface LoadedLine {
  readonly what: string;
  readonly deskbell: string;
  readonly ceiling: string;
  readonly ratio: string;
}

/** MB: once connections are open, right behind the load, and after a rest. */
interface Memory {
  readonly before: number;
  readonly after: number;
  readonly rested: number;
}

const settings = {
  DESKBELL_LOG_LEVEL: 'warn',
  DESKBELL_LIMIT_VISITOR: unlimited,
  DESKBELL_LIMIT_APPLICATION: unlimited,
  DESKBELL_LIMIT_ADDRESS: unlimited,
};

/**
 * Sends to one server after the other.
 * @throws Error when a message is lost
 */
export async function memoryAfterLoad(options: LoadedOptions, started: Child[]): Promise<LoadedLine[]> {
  const { folder, pairs } = options;
  const start = (script: string, args: readonly string[] = []): Child => {
    const child = new Child(script, args);
    started.push(child);
    return child;
  };
  const peer = start('./peer-server.ts', [folder, String(pairs), 'least']);
  const ofPeer = { address: await peer.ask('address'), pairs: await peer.ask('pairs:visitor') };
  const ceiling = await load(ofPeer, peer.pid, start('./load.ts'), options);
  await peer.stop();

  // Made by the server that has the operations at hand; measured is the program that users start.
  const data = join(folder, 'deskbell');
  const maker = start('./deskbell-server.ts', [data, String(pairs)]);
  const [{ database }, ofVisitors] = [await maker.ask('address'), await maker.ask('pairs:visitor')];
  await maker.stop();
  const deskbell = await serve(
    async ({ process: { pid }, url }) => {
      const address = { host: url.hostname, port: Number(url.port), database };
      return load({ address, pairs: ofVisitors }, pid, start('./load.ts'), options);
    },
    data,
    settings,
  );
  const line = (what: string, of: (memory: Memory) => number): LoadedLine => ({
    what: `resident memory ${what}, MB`,
    deskbell: of(deskbell).toFixed(0),
    ceiling: of(ceiling).toFixed(0),
    ratio: (of(deskbell) / of(ceiling)).toFixed(2),
  });
  return [
    line(`with ${2 * pairs} connections`, ({ before }) => before),
    line(`after ${options.messages} messages`, ({ after }) => after),
    line(`${(options.restMs / 1000).toFixed(0)} s later`, ({ rested }) => rested),
  ];
}

async function load(
  server: { readonly address: Address; readonly pairs: readonly Pair[] },
  pid: number | undefined,
  generator: Child,
  { messages, seconds, restMs }: LoadedOptions,
): Promise<Memory> {
  const { database } = server.address;
  await generator.request({ what: 'open', ...server, window: 1, natural: true });
  const before = await residentMegabytes(pid);
  for (let all = 0; all < messages;) {
    const stored = countRows(database);
    const sent: Sent = await generator.request({ what: 'send', seconds, perSecond: null });
    assertWhole(database, sent, countRows(database) - stored);
    all += sent.sent;
  }
  const after = await residentMegabytes(pid);
  await pause(restMs);
  const rested = await residentMegabytes(pid);
  await generator.stop();
  return { before, after, rested };
}
