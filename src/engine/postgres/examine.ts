// What a PostgreSQL database must be so that nodes can share it. Each refusal says what to do, and none has the password.
import { randomUUID } from 'node:crypto';
import { EngineError, SchemaError } from '../open-errors.ts';
import { StoreUnavailableError } from '../engine.ts';
import { sqlState, type Link } from './link.ts';
import { describeDatabase } from './place.ts';

/** Older ones miss what the statements need. */
const oldestVersion = 150_000;
const hearWithinMs = 2_000;
/** insufficient_privilege */
const noRight = '42501';
/** too_many_connections */
const noConnection = '53300';

interface Facts {
  readonly version: number;
  readonly version_text: string;
  readonly encoding: string;
  readonly fsync: string;
  readonly standby: number;
}

/**
 * Looks at what can't be changed while the service runs.
 * @throws EngineError
 */
export async function examineDatabase(link: Link): Promise<void> {
  const { rows } = await link.query<Facts>({
    text: `select current_setting('server_version_num')::int as version, current_setting('server_version') as version_text,
      current_setting('server_encoding') as encoding, current_setting('fsync') as fsync,
      pg_is_in_recovery()::int as standby`,
  });
  const facts = rows[0];
  if (facts === undefined) throw new EngineError('The database does not say what it is.');
  if (facts.version < oldestVersion)
    throw new EngineError(
      `The database is PostgreSQL ${facts.version_text}, and Deskbell needs 15 or newer. Upgrade it, or name another in DESKBELL_DATABASE_URL.`,
    );
  if (facts.encoding !== 'UTF8')
    throw new EngineError(
      `The database has the encoding ${facts.encoding}, and Deskbell needs UTF8. Make another: createdb --encoding UTF8 --template template0 deskbell.`,
    );
  if (facts.standby === 1)
    throw new EngineError(
      'The database is a standby, which can only be read. Name the primary in DESKBELL_DATABASE_URL.',
    );
}

/**
 * Makes sure that a connection stays with one session: notifications are heard and locks held by it.
 * @throws EngineError behind a pooler that hands out sessions by the transaction
 */
export async function assertOwnSession(link: Link): Promise<void> {
  const heard = Promise.withResolvers<boolean>();
  const channel = 'deskbell_session';
  const token = randomUUID();
  await link.listen(channel, (text) => {
    if (text === token) heard.resolve(true);
  });
  const timer = setTimeout(() => heard.resolve(false), hearWithinMs);
  await link.query({ text: `select pg_notify('${channel}', $1)` }, [token]);
  const own = await heard.promise;
  clearTimeout(timer);
  if (!own)
    throw new EngineError(
      'The connection to the database does not hear its own notifications: a pooler in transaction mode is in between. Connect without it, or with pool_mode = session.',
    );
}

/** Why a database can't be used, for the person who starts the program. */
export function unreachable(url: string, error: unknown): Error {
  if (sqlState(error) === noRight)
    return new EngineError(
      `The database ${describeDatabase(url)} refuses the role of DESKBELL_DATABASE_URL: ${error instanceof Error ? error.message : 'a right is missing'}. Make the role its owner (alter database … owner to …), or have its owner run: deskbell migrate, and grant the role usage on the schema deskbell and all rights on its tables.`,
      { cause: error },
    );
  if (!(error instanceof StoreUnavailableError))
    return error instanceof Error ? error : new Error(String(error));
  const { cause } = error;
  if (cause instanceof SchemaError) return cause;
  const toDo =
    sqlState(cause) === noConnection
      ? 'A server needs 11 connections and a command 3: raise max_connections, or the limit that is named, or end what else holds them'
      : 'Look at DESKBELL_DATABASE_URL, and whether the database takes connections from here';
  return new EngineError(
    `The database ${describeDatabase(url)} can't be used: ${whyUnavailable(error)}. ${toDo}.`,
    { cause: error },
  );
}

/** What the database or the network said. It holds no password. */
export function whyUnavailable(error: unknown): string {
  const cause = error instanceof StoreUnavailableError && error.cause !== undefined ? error.cause : error;
  return cause instanceof Error && cause.message !== '' ? cause.message : codeOf(cause);
}

function codeOf(error: unknown): string {
  return typeof error === 'object' && error !== null && 'code' in error ? String(error.code) : 'no answer';
}
