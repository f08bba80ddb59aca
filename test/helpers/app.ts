// Owns starting the real server for a test: port 0, a temporary folder, a clock that
// moves by hand unless asked otherwise. Must not know what a test is about.
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { pathToFileURL } from 'node:url';
import { createApp, type App } from '../../src/app.ts';
import { readConfig, type Flags } from '../../src/config.ts';
import { createLog } from '../../src/log.ts';
import { sizeLimits } from '../../src/protocol/codes.ts';
import type { OperationName, Output, RawInput } from '../../src/protocol/operations.ts';
import { execute } from '../../src/services/execute.ts';
import type { Service } from '../../src/services/service.ts';
import { createMigratedDatabase } from './contract-engines.ts';
import { engineWrapper } from './hostile-engine.ts';
import { createTestClock, type TestClock } from './clock.ts';
import type { TestDatabase } from './postgres.ts';
import { copyTemplate } from './template-database.ts';

export interface TestApp {
  /** Where there are several servers, another one's each time. */
  readonly url: string;
  /** The addresses of all its servers. */
  readonly urls: readonly string[];
  readonly folder: string;
  /** Its database on PostgreSQL; null: it is in the folder. */
  readonly database: TestDatabase | null;
  /** Variables that lead a command, or another server, to the same database; none where it is in the folder. */
  readonly environment: Readonly<Record<string, string>>;
  /** Where it takes mails; null: nowhere. */
  readonly mailPort: number | null;
  readonly service: Service;
  readonly clock: TestClock;
  /** Everything that was logged. */
  readonly logged: string[];
  /** Runs an operation as the command line would. */
  local<N extends OperationName>(name: N, input: RawInput<N>): Promise<Output<N>>;
  /** Has something done before the server stops, such as closing what looks into its folder. */
  beforeStop(work: () => void): void;
  /** Stops the server and removes its folder. Twice is once. */
  stop(): Promise<void>;
  /**
   * Stops the server and starts another on the same folder.
   * @param whileStopped done in between
   */
  restart(flags?: Flags, whileStopped?: () => Promise<unknown>): Promise<TestApp>;
  /** Starts another server on the same database, with the same clock. It is stopped before this one. */
  beside(): Promise<TestApp>;
}

const defaults: Flags = {
  // What a loss of power leaves is tested in test/engine; everywhere else a flush for each commit only costs time.
  durability: 'normal',
  limitVisitor: 'off',
  limitApplication: 'off',
  limitAddressNew: 'off',
  limitAddress: 'off',
  limitAddressConfig: 'off',
  limitAddressFailed: 'off',
  limitAccountFailed: 'off',
  limitAiVisitor: 'off',
  limitAiOrganization: 'off',
};

export interface TestAppOptions {
  /** Settings on top of: no limits by visitor, application and address; no flush for each commit. */
  readonly flags?: Flags;
  /** Variables of the environment, for what has no flag. */
  readonly environment?: Readonly<Record<string, string>>;
  /** Use the machine's clock, where another process or real timers take part. */
  readonly realTime?: boolean;
  /** log2 of the cost of a password's hash; as low as possible unless a test is about it. */
  readonly passwordCost?: number | undefined;
  /** Where its rows lie, whatever the run says; `cluster`: on PostgreSQL, with two more servers beside it. */
  readonly engine?: 'sqlite' | 'postgres' | 'cluster';
  /** One server, also in a run of three: what is looked at is what one says of itself. */
  readonly alone?: boolean;
}

/** Whether this run's servers have a data folder, for tests that look at its files, or at what SQLite alone has. */
export const hasFolder = !['postgres', 'cluster'].includes(process.env['DESKBELL_TEST_ENGINE'] ?? '');

/** Starts a server on an empty folder. */
export async function startApp(options: TestAppOptions = {}): Promise<TestApp> {
  const folder = await mkdtemp(join(tmpdir(), 'deskbell-test-'));
  const place: Place = { folder, database: null, environment: {}, clock: createTestClock() };
  const engine = options.engine ?? process.env['DESKBELL_TEST_ENGINE'];
  if (engine === 'cluster' && options.alone !== true) return startCluster(await onPostgres(place), options);
  if (engine === 'postgres' || engine === 'cluster') return startOn(await onPostgres(place), options);
  // A key from elsewhere makes its own database.
  if (options.environment?.['DESKBELL_SECRET_KEY'] === undefined) await copyTemplate(folder);
  return startOn(place, options);
}

/** Where a server's data is, also when it is started again. */
interface Place {
  readonly folder: string;
  readonly database: TestDatabase | null;
  /** Variables that lead there. */
  readonly environment: Readonly<Record<string, string>>;
  readonly clock: TestClock;
}

/** The same with a database of its own, and with files in the folder. */
async function onPostgres(place: Place): Promise<Place> {
  const database = await createMigratedDatabase();
  const environment = {
    DESKBELL_DATABASE_URL: database.url,
    DESKBELL_SECRET_KEY: randomBytes(32).toString('base64'),
    DESKBELL_FILES: pathToFileURL(join(place.folder, 'files')).href,
  };
  return { ...place, database, environment };
}

/** Three servers as one: each look at the address finds another one's. */
async function startCluster(place: Place, options: TestAppOptions): Promise<TestApp> {
  const logged: string[] = [];
  const first = await startOn(place, options, logged);
  const others = [await startOn(place, options, logged), await startOn(place, options, logged)];
  let asked = 0;
  const stopOthers = async (): Promise<void> => {
    await Promise.all(others.splice(0).map((one) => one.stopServer()));
  };
  const urls = [first, ...others].map(({ url }) => url);
  return {
    ...first,
    urls,
    get url() {
      asked += 1;
      return urls[asked % urls.length] ?? first.url;
    },
    stop: async () => {
      await stopOthers();
      await first.stop();
    },
    restart: async (flags = {}, whileStopped) => {
      await stopOthers();
      await first.stopServer();
      await whileStopped?.();
      return startCluster(place, { ...options, flags: { ...options.flags, ...flags } });
    },
  };
}

/** A server that can be stopped without its data. */
interface StartedApp extends TestApp {
  stopServer(): Promise<void>;
}

async function startOn(place: Place, options: TestAppOptions, logged: string[] = []): Promise<StartedApp> {
  const { folder, database, clock } = place;
  const destination = new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      logged.push(chunk.toString());
      done();
    },
  });
  const config = readConfig(
    {
      ...defaults,
      port: '0',
      data: database === null ? folder : undefined,
      logLevel: 'debug',
      ...options.flags,
    },
    { ...place.environment, ...options.environment },
  );
  const app: App = createApp(config, {
    clock: options.realTime === true ? undefined : clock,
    wrapEngine: engineWrapper(options.engine ?? process.env['DESKBELL_TEST_ENGINE']),
    passwordCost: options.passwordCost ?? 4,
    log: createLog(config.logLevel, destination),
  });
  const { url, mailPort, service } = await app.start();
  const endings: (() => void)[] = [];
  const stop = async (): Promise<void> => {
    for (const work of endings.splice(0)) work();
    await app.stop();
  };
  return {
    url,
    urls: [url],
    folder,
    database,
    environment: place.environment,
    mailPort,
    service,
    clock,
    logged,
    local: (name, input) =>
      execute(
        { service, actor: { kind: 'local' }, address: null, contentLimit: sizeLimits.contentRest },
        name,
        input,
      ),
    beforeStop: (work) => void endings.push(work),
    stopServer: stop,
    beside: async () => {
      const other = await startOn(place, options);
      return { ...other, stop: other.stopServer };
    },
    stop: async () => {
      await stop();
      await database?.remove();
      await rm(folder, { recursive: true, force: true });
    },
    restart: async (flags = {}, whileStopped) => {
      await stop();
      await whileStopped?.();
      return startOn(place, { ...options, flags: { ...options.flags, ...flags } });
    },
  };
}
