// Why a database is not opened. The message of each says what to do.

/** The engine can't be opened; the message says why and what to do. */
export class EngineError extends Error {
  override readonly name = 'EngineError';
}

/** A database that this program must not touch; the message says why and what to do. */
export class SchemaError extends Error {
  override readonly name = 'SchemaError';
}
