// A connection to PostgreSQL, set up the one right way, and what its values are in JavaScript. Statements that are given
// one after another travel together. Holds no query.
import pg from 'pg';
import { StoreUnavailableError } from '../engine.ts';
import { SchemaError } from '../open-errors.ts';

export interface LinkOptions {
  /** `postgres://…`; it may hold a password and is never logged. */
  readonly url: string;
  /** Shown by the database beside each connection. */
  readonly name: string;
  /** False: an acknowledged commit survives a crash of the program, not of the database. */
  readonly durable: boolean;
  /** For long work: no limit on how long a statement takes, or a transaction waits for the program. */
  readonly patient?: boolean;
  /** A database that can only be read will do: it is looked at, and nothing else. */
  readonly allowsStandby?: boolean;
  /** The number of the schema that it is to work on; left out: whichever there is. */
  readonly schema?: number;
}

/** A statement as the database prepares it, once for each connection. */
export interface Statement {
  /** Left out: it is not kept. */
  readonly name?: string | undefined;
  readonly text: string;
}

export interface Answer<R> {
  readonly rows: R[];
  /** How many rows it read or changed. */
  readonly count: number;
  /** What was done, as `COMMIT`. */
  readonly command: string;
}

/** The schema that all of Deskbell's tables lie in. */
export const schemaName = 'deskbell';
const schemaNumber: Statement = {
  name: 'schema_number',
  text: 'select coalesce(max(number), 0) as number from schema_migrations',
};
/** Of each connection, whatever an administrator has set for the role or the database. */
const common = {
  search_path: schemaName,
  timezone: 'UTC',
  // A transaction must see what was committed before it had its locks.
  default_transaction_isolation: 'read\\ committed',
  // As values are written here, and read.
  array_nulls: 'on',
  bytea_output: 'hex',
  // One that listens is idle for as long as nothing happens, and one that leads must stay.
  idle_session_timeout: '0',
  // A node that is cut off holds no lock for longer than this, nor the lead: where nothing was on its way to it, and
  // where something was.
  tcp_keepalives_idle: '5',
  tcp_keepalives_interval: '2',
  tcp_keepalives_count: '3',
  tcp_user_timeout: '8s',
};
const limits = {
  usual: { lock_timeout: '2s', statement_timeout: '10s', idle_in_transaction_session_timeout: '5s' },
  patient: { lock_timeout: '0', statement_timeout: '0', idle_in_transaction_session_timeout: '0' },
};
/** The limits above are all that a transaction has. PostgreSQL 15 and 16 do not know this one, and would refuse its name. */
const begun: Statement = {
  text: `select pg_is_in_recovery() as standby, case when current_setting('transaction_timeout', true) is not null
    then set_config('transaction_timeout', '0', false) end as unlimited`,
};
const connectTimeoutMs = 5_000;
const unansweredMs = 15_000;

// Type numbers of PostgreSQL (pg_type.dat).
const bool = 16;
const bytea = 17;
/** Whole numbers of each size, floats, decimals: none of ours is beyond 2^53. */
const numbers = [20, 21, 23, 700, 701, 1700];

const parsers: ReadonlyMap<number, (text: string) => unknown> = new Map<number, (text: string) => unknown>([
  // As SQLite says it.
  [bool, (text) => (text === 't' ? 1 : 0)],
  ...numbers.map((type) => [type, Number] as const),
  // In memory of its own: what the driver makes lies between other answers.
  [bytea, (text) => new Uint8Array(Buffer.from(text.slice(2), 'hex'))],
]);

const types: pg.CustomTypesConfig = {
  getTypeParser: (type: number) => parsers.get(type) ?? String,
};

/** One connection. Once it is lost it stays lost. */
export class Link {
  readonly #client: pg.Client;
  #lost: Error | null = null;
  #gathering = false;

  private constructor(client: pg.Client) {
    this.#client = client;
  }

  /**
   * Connects.
   * @throws StoreUnavailableError when the database can't be reached or refuses
   */
  static async open(options: LinkOptions): Promise<Link> {
    const settings = {
      ...common,
      ...limits[options.patient === true ? 'patient' : 'usual'],
      synchronous_commit: options.durable ? 'on' : 'off',
    };
    const client = new pg.Client({
      connectionString: options.url,
      application_name: options.name,
      connectionTimeoutMillis: connectTimeoutMs,
      keepAlive: true,
      keepAliveInitialDelayMillis: 5_000,
      pipeline: true,
      types,
      options: Object.entries(settings)
        .map(([name, value]) => `-c ${name}=${value}`)
        .join(' '),
      ...(options.patient === true ? {} : { query_timeout: unansweredMs }),
    });
    const link = new Link(client);
    client.on('error', (error) => link.#lose(error));
    client.on('end', () => link.#lose(new Error('The connection has ended.')));
    try {
      await client.connect();
      await link.#begin(options.allowsStandby === true);
      if (options.schema !== undefined) await link.assertSchema(options.schema);
    } catch (error) {
      void link.close();
      if (error instanceof StoreUnavailableError) throw error;
      throw new StoreUnavailableError('The database can’t be reached.', { cause: error });
    }
    return link;
  }

  /**
   * After a failover the address may lead to what is still a standby: what it holds is older than what was acknowledged.
   * @throws StoreUnavailableError
   */
  async #begin(allowsStandby: boolean): Promise<void> {
    const { rows } = await this.query<{ standby: number }>(begun);
    if (rows[0]?.standby !== 0 && !allowsStandby)
      throw new StoreUnavailableError('The database does not take writes.', {
        cause: new Error('it is a standby, which can only be read'),
      });
  }

  /**
   * A newer version may have migrated the database while this program was cut off from it, and nothing else would tell.
   * @param known the number of the schema that the program works on
   * @throws StoreUnavailableError where the database has another one
   */
  async assertSchema(known: number): Promise<void> {
    const { rows } = await this.query<{ number: number }>(schemaNumber);
    const found = rows[0]?.number ?? 0;
    if (found !== known)
      throw new StoreUnavailableError('The database has another schema.', {
        cause: new SchemaError(
          `The database has schema ${found}, and this version of deskbell works on ${known}. Start the version that it was migrated for.`,
        ),
      });
  }

  /** Whether nothing more can be asked of it. */
  get lost(): boolean {
    return this.#lost !== null;
  }

  /**
   * Runs a statement behind those that were given before it.
   * @throws StoreUnavailableError when the connection is lost
   * @throws what the database answers otherwise
   */
  async query<R>(statement: Statement, values: readonly unknown[] = []): Promise<Answer<R>> {
    this.#gather();
    try {
      const { rows, fields, rowCount, command } = await this.#client.query<object>({
        ...(statement.name !== undefined && { name: statement.name }),
        text: statement.text,
        values: [...values],
      });
      if (fields.some(({ name }) => name === hidden))
        for (const row of rows) Reflect.deleteProperty(row, hidden);
      return { rows: asTyped<R>(rows), count: rowCount ?? 0, command };
    } catch (error) {
      throw this.#explain(error);
    }
  }

  /**
   * Called with the text of each notification of a channel.
   * @throws what `query` throws; the connection is then ended, because it would hear nothing
   */
  async listen(channel: string, listener: (text: string) => void): Promise<void> {
    this.#client.on('notification', (message) => {
      if (message.channel === channel) listener(message.payload ?? '');
    });
    try {
      await this.query({ text: `listen ${channel}` });
    } catch (error) {
      void this.close();
      throw error;
    }
  }

  /** Called once when the connection is lost. */
  onLost(listener: () => void): void {
    this.#client.once('end', listener);
  }

  /** Ends it after what was given. Twice is once. */
  async close(): Promise<void> {
    this.#lost ??= new Error('The connection was closed.');
    await this.#client.end().catch(() => undefined);
  }

  /** What is asked in one turn of the loop leaves in one write: each write wakes a process of the database's. */
  #gather(): void {
    if (this.#gathering) return;
    this.#gathering = true;
    const { stream } = this.#client.connection;
    stream.cork();
    setImmediate(() => {
      this.#gathering = false;
      stream.uncork();
    });
  }

  #lose(error: Error): void {
    this.#lost ??= error;
  }

  #explain(error: unknown): unknown {
    const code = sqlState(error);
    if (code !== undefined && !isOutage(code)) return error;
    // What became a standby stays one for this session: the next connection leads to the primary.
    if (code === undefined || code === readOnly)
      this.#lose(error instanceof Error ? error : new Error(String(error)));
    return new StoreUnavailableError('The database did not answer.', { cause: error });
  }
}

/** The row number of a conversation is the database's own: a row as rules know it has none. */
const hidden = 'rowid';

/** Rows have the columns that their query names: the compiler knows them where the query was built. */
function asTyped<R>(rows: readonly object[]): R[];
function asTyped(rows: readonly object[]): readonly object[] {
  return rows;
}

/** The code of PostgreSQL's answer (SQLSTATE), or undefined for any other error. */
export function sqlState(error: unknown): string | undefined {
  return error instanceof pg.DatabaseError ? error.code : undefined;
}

/** read_only_sql_transaction: a write has come to a database that can only be read. */
const readOnly = '25006';

/** The database ends, begins, has no room or no more connections, or is a standby: the same may succeed later. */
function isOutage(code: string): boolean {
  return code === readOnly || ['08', '53', '57P', '58'].some((start) => code.startsWith(start));
}

/** The same transaction may succeed when it runs again. */
export function isWorthRepeating(error: unknown): boolean {
  const code = sqlState(error) ?? '';
  // Serialization failure, deadlock, a lock that was not had in time.
  return code === '40001' || code === '40P01' || code === '55P03';
}

/** What a caller is told whose work could not be done: what may succeed later is an outage, not an error. */
export function refusal(error: unknown): unknown {
  const code = sqlState(error);
  // A statement that took too long; one behind it in the same transaction.
  return isWorthRepeating(error) || code === '57014' || code === '25P02'
    ? new StoreUnavailableError('The database is busy.', { cause: error })
    : error;
}
