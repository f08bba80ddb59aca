// The log as a person reads it on a terminal: one JSON line in, one short line out.
import { isJsonObject } from '../services/content/json.ts';
import { sanitizeCell } from './print.ts';

// The command says these itself, in its own words.
const saidAlready = new Set(['serving', 'stopping']);

/** @returns a function that takes a line of the log and gives what to show, or null for nothing */
export function createLineFormat(): (line: string) => string | null {
  return (line) => {
    const record: unknown = JSON.parse(line);
    if (!isJsonObject(record)) return sanitizeCell(line);
    const { level, time, msg = '', ...rest } = record;
    if (level === 'info' && saidAlready.has(String(msg))) return null;
    const facts = Object.entries(rest).map(
      ([name, value]) => `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`,
    );
    return sanitizeCell([String(time).slice(11, 19), level, msg, ...facts].join(' '));
  };
}
