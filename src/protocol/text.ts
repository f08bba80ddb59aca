// The schemas of every text that a caller hands in. Lengths are counted in UTF-16 code units, as JavaScript counts
// them; zod's own bounds count code points.
import { z } from 'zod';
import './zod-messages.ts';

/**
 * A text that is trimmed before it is measured.
 * @param min the shortest, in UTF-16 units
 * @param max the longest
 */
export function text(min: number, max: number): z.ZodString {
  return bounded(z.string().trim(), min, max);
}

/** Like {@link text}, kept as it was sent, white space included: passwords and the ids of clients. */
export function exactText(min: number, max: number): z.ZodString {
  return bounded(z.string(), min, max);
}

function bounded(schema: z.ZodString, min: number, max: number): z.ZodString {
  return schema
    .check((context) => {
      const message = problemOf(context.value, min, max);
      if (message !== null) context.issues.push({ code: 'custom', input: context.value, message });
    })
    .meta({ ...(min > 0 ? { minLength: min } : {}), maxLength: max });
}

function problemOf(value: string, min: number, max: number): string | null {
  if (value.length < min) return min === 1 ? 'must not be empty' : `must have at least ${min} characters`;
  if (value.length > max) return `must have at most ${max} characters`;
  const reason = findUnstorable(value);
  if (reason === null) return null;
  return reason === 'nul'
    ? 'must not hold the character U+0000'
    : 'must not hold half a character (a lone surrogate)';
}

/**
 * Why a text can't be stored and read back unchanged, or null when it can: U+0000 cuts text in SQLite's tools and
 * its search, and a lone surrogate has no UTF-8 form, so it would come back as U+FFFD.
 */
export function findUnstorable(value: string): 'nul' | 'lone_surrogate' | null {
  if (value.includes('\0')) return 'nul';
  return value.isWellFormed() ? null : 'lone_surrogate';
}
