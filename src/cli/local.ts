// Opens the service on the data folder and calls execute as the local actor. Heavy modules are loaded here and not
// before.
import { stat } from 'node:fs/promises';
import type { OpenedService } from '../open-service.ts';
import { sizeLimits } from '../protocol/codes.ts';
import type { OperationName, Output, RawInput } from '../protocol/operations.ts';
import type { Service } from '../services/service.ts';
import type { Config } from '../config.ts';
import type { Context } from './context.ts';
import { CommandError } from './errors.ts';

export interface Local {
  readonly service: Service;
  /** Runs one operation. @throws ServiceError */
  run<N extends OperationName>(name: N, input: RawInput<N>): Promise<Output<N>>;
}

/** Calls the operations of an opened service as the owner of the data folder. */
export function localOn(service: Service): Local {
  return {
    service,
    run: async (name, input) => {
      const { execute } = await import('../services/execute.ts');
      return execute(
        { service, actor: { kind: 'local' }, address: null, contentLimit: sizeLimits.contentRest },
        name,
        input,
      );
    },
  };
}

/** Where the data is, for a sentence: the folder, or the database without who uses it and their password. */
export async function placeOf({ data, databaseUrl }: Config): Promise<string> {
  if (databaseUrl === null) return data;
  const { describeDatabase: describe } = await import('../engine/open-engine.ts');
  return describe(databaseUrl.reveal());
}

/** Whether there is a database of Deskbell. @throws EngineError when it can't be reached */
export async function hasDatabase({ data, databaseUrl }: Config): Promise<boolean> {
  const { databaseExists, schemaOfDatabase } = await import('../engine/open-engine.ts');
  if (databaseUrl === null) return databaseExists(data);
  return (await schemaOfDatabase(databaseUrl.reveal())) > 0;
}

/** @throws CommandError where a command is for the data folder, and a database takes its place */
export function assertFolder({ databaseUrl }: Config, instead: string): void {
  if (databaseUrl !== null) throw new CommandError(instead);
}

/** @throws CommandError when the folder holds no database: a command must not make an empty one by a wrong path */
export async function assertDatabase(context: Context, config: Config = context.config()): Promise<void> {
  if (await hasDatabase(config)) return;
  if (config.databaseUrl !== null)
    throw new CommandError(
      `There is nothing of Deskbell in the database ${await placeOf(config)}. Start a server on it, or create an organization: ${context.command('org create NAME')}`,
    );
  throw new CommandError(
    `There is no Deskbell database in ${config.data}. Name the right folder with --data DIR, or create one: ${context.command('org create NAME')}`,
  );
}

/**
 * What root makes in another user's folder belongs to root, and that user's server can't read it. (Files beside a
 * database that is there already get its owner from SQLite.)
 * @throws CommandError where root is about to make files there
 */
export async function assertOwnFolder({ data, databaseUrl }: Config): Promise<void> {
  if (databaseUrl !== null || process.getuid?.() !== 0) return;
  const owner = (await stat(data).catch(() => null))?.uid ?? 0;
  if (owner === 0) return;
  throw new CommandError(
    `${data} belongs to user ${owner}, whose server could not read what root makes there. Run the command as that user, as by sudo -u '#${owner}'; nothing was changed.`,
  );
}

/**
 * Opens the service beside a server that may be running, does the work, closes it again.
 * @throws CommandError when there is no database and it may not be made; EngineError, SchemaError
 */
export async function withLocal<T>(
  context: Context,
  work: (local: Local) => Promise<T>,
  folder: 'must exist' | 'may be new' = 'must exist',
): Promise<T> {
  const config = context.config();
  if (folder === 'must exist') await assertDatabase(context, config);
  else if (config.databaseUrl === null && !(await hasDatabase(config))) await assertOwnFolder(config);
  const opened = await openWithRetry(config);
  try {
    return await work(localOn(opened.service));
  } finally {
    await opened.close();
  }
}

/** How long a command waits for another writer when it opens the database. */
const timeoutMs = 5_000;

/** A server or another command may hold the write lock for an instant: a command waits for its turn. */
async function openWithRetry(config: Config): Promise<OpenedService> {
  const { openService } = await import('../open-service.ts');
  const until = performance.now() + timeoutMs;
  for (;;) {
    try {
      return await openService(config, 'command', () => config.baseUrl);
    } catch (error) {
      if (!isBusy(error)) throw error;
      if (performance.now() > until)
        throw new CommandError('Another process keeps the database busy. Try again in a moment.', {
          cause: error,
        });
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
}

function isBusy(error: unknown): boolean {
  return (
    error instanceof Error &&
    (isBusy(error.cause) || ('code' in error && String(error.code).startsWith('SQLITE_BUSY')))
  );
}

/** Opens, runs one operation, closes. The input is checked first, so that a wrong one touches no file. */
export async function runLocal<N extends OperationName>(
  context: Context,
  name: N,
  input: RawInput<N>,
  folder?: 'must exist' | 'may be new',
): Promise<Output<N>> {
  const [{ operations }, { validationError }] = await Promise.all([
    import('../protocol/operations.ts'),
    import('../services/core/validation.ts'),
  ]);
  const checked = operations[name].input.safeParse(input);
  if (!checked.success) throw validationError(checked.error);
  return withLocal(context, (local) => local.run(name, input), folder);
}
