// Owns turning untrusted JSON text into a value: nesting is measured on the raw text before anything is parsed.
// Must not know what the JSON is for (HTTP body, WebSocket frame, Lexical string) and must not repair anything.
import { sizeLimits } from '../../protocol/codes.ts';

/** The outcome of {@link parseJson}; `depth` means nested too deeply, `syntax` means not JSON. */
export type ParsedJson = { ok: true; value: unknown } | { ok: false; reason: 'syntax' | 'depth' };

/** Whether a value is a JSON object: no list, no null. */
export function isJsonObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/**
 * Parses JSON text that a stranger sent. A scalar has depth 0, `{}` and `[]` depth 1, `[[]]` depth 2.
 *
 * V8 parses a million nested arrays that it can't serialise afterwards, hence the scan of the raw text first. Up to
 * the first syntax error the scan sees the same brackets as the parser, and at a syntax error nothing is returned,
 * so malformed text can't smuggle depth past it. A leading byte order mark is a syntax error, as JSON.parse has it.
 *
 * A key `__proto__` becomes an ordinary own property here, since JSON.parse defines keys and never assigns them. It
 * stays harmless as long as readers pick known keys (zod does) and no code merges the value with `Object.assign`.
 *
 * @param text the whole JSON text
 * @param maxDepth the deepest nesting accepted
 * @returns the value, or why there is none; never throws
 */
export function parseJson(text: string, maxDepth: number = sizeLimits.jsonDepth): ParsedJson {
  if (nestsDeeperThan(text, maxDepth)) return { ok: false, reason: 'depth' };
  try {
    const value: unknown = JSON.parse(text);
    return { ok: true, value };
  } catch {
    return { ok: false, reason: 'syntax' };
  }
}

/** Whether a text has more than so many opening brackets, those in strings among them. Searching is faster than walking. */
function hasMore(text: string, most: number): boolean {
  let count = 0;
  for (const bracket of ['{', '[']) {
    let at = text.indexOf(bracket);
    while (at >= 0) {
      count += 1;
      if (count > most) return true;
      at = text.indexOf(bracket, at + 1);
    }
  }
  return false;
}

/**
 * True when brackets nest deeper than `maxDepth`, measured on the raw text; brackets inside strings do not count.
 * @param text what should be JSON
 */
export function nestsDeeperThan(text: string, maxDepth: number): boolean {
  // Nearly every text has fewer brackets than it may have levels: then there is nothing to measure.
  if (!hasMore(text, maxDepth)) return false;
  const length = text.length;
  let depth = 0;
  for (let at = 0; at < length; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) {
      at++;
      while (at < length) {
        const inside = text.charCodeAt(at);
        if (inside === QUOTE) break;
        at += inside === BACKSLASH ? 2 : 1;
      }
    } else if (code === OPEN_OBJECT || code === OPEN_ARRAY) {
      depth++;
      if (depth > maxDepth) return true;
    } else if (code === CLOSE_OBJECT || code === CLOSE_ARRAY) {
      depth--;
    }
  }
  return false;
}
