// What a refused field is told, where its schema has no sentence of its own: plain words
// that say what to send instead. Owns wording only: what is allowed is said by the schemas.
import type { z } from 'zod';

/**
 * @param issue what zod found wrong
 * @returns a phrase that follows the field's name, as in "must not be empty"; undefined leaves zod's own
 */
export function plainWords(issue: z.core.$ZodRawIssue): string | undefined {
  switch (issue.code) {
    case 'invalid_type':
      return issue.input === undefined ? `must be given, as ${kind(issue.expected)}` : `must be ${kind(issue.expected)}`;
    case 'invalid_value':
      return `must be ${choices(issue.values.map(String))}`;
    case 'invalid_union': {
      const kinds = issue.errors.flatMap(([first]) => (first?.code === 'invalid_type' ? [kind(first.expected)] : []));
      return kinds.length === 0 ? undefined : `must be ${choices([...new Set(kinds)])}`;
    }
    case 'too_small':
      if (issue.origin === 'string' && Number(issue.minimum) === 1) return 'must not be empty';
      return bound(issue.origin, issue.inclusive === false ? 'more than' : 'at least', issue.minimum);
    case 'too_big':
      return bound(issue.origin, issue.inclusive === false ? 'less than' : 'at most', issue.maximum);
    default:
      return undefined;
  }
}

const kinds: Readonly<Record<string, string>> = {
  string: 'a string',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  object: 'an object',
  record: 'an object',
  array: 'an array',
  null: 'null',
};

function kind(expected: string): string {
  return kinds[expected] ?? expected;
}

function bound(origin: string, relation: string, value: number | bigint): string {
  if (origin === 'string') return `must have ${relation} ${value} characters`;
  if (origin === 'array') return `must have ${relation} ${value} items`;
  return `must be ${relation} ${value}`;
}

/** a; a or b; a, b or c */
function choices(all: readonly string[]): string {
  return all.length < 2 ? all.join('') : `${all.slice(0, -1).join(', ')} or ${all.at(-1)}`;
}
