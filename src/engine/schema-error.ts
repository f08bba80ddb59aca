// The error of a database that this program must not touch.

/** A database that this program must not touch; the message says why and what to do. */
export class SchemaError extends Error {
  override readonly name = 'SchemaError';
}
