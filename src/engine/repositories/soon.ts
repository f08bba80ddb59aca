// What every message asks of an engine. A type only.

/** A value that an engine has at once, or soon: asked on every message, where a promise costs more than the answer. */
export type Soon<T> = T | Promise<T>;
