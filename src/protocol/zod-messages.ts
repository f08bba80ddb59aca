// The message of a refused field, where its schema has none of its own: says what to send
// instead. Importing this module makes zod use it.
import { z } from 'zod';

/**
 * @param issue what zod found wrong
 * @returns a phrase that follows the field's name, as in "must not be empty"; undefined leaves zod's own
 */
function zodMessage(issue: z.core.$ZodRawIssue): string | undefined {
  switch (issue.code) {
    case 'invalid_type':
      return issue.input === undefined
        ? `must be given, as ${typeName(issue.expected)}`
        : `must be ${typeName(issue.expected)}`;
    case 'invalid_value':
      return `must be ${listChoices(issue.values.map(String))}`;
    case 'invalid_union': {
      // Of the right kind, and refused for another reason: that is what to say.
      const [reason, ...others] = issue.errors.flatMap(([first]) =>
        first?.code === 'custom' && first.path.length === 0 ? [first.message] : [],
      );
      if (reason !== undefined && others.length === 0) return reason;
      const kinds = issue.errors.flatMap(([first]) =>
        first?.code === 'invalid_type' ? [typeName(first.expected)] : [],
      );
      return kinds.length === 0 ? undefined : `must be ${listChoices([...new Set(kinds)])}`;
    }
    case 'invalid_key': {
      const [reason] = issue.issues;
      return reason === undefined ? undefined : `has a name that ${reason.message}`;
    }
    case 'too_small':
      if (['string', 'array'].includes(issue.origin) && Number(issue.minimum) === 1)
        return 'must not be empty';
      return boundMessage(issue.origin, issue.inclusive === false ? 'more than' : 'at least', issue.minimum);
    case 'too_big':
      return boundMessage(issue.origin, issue.inclusive === false ? 'less than' : 'at most', issue.maximum);
    default:
      return undefined;
  }
}

z.config({ customError: zodMessage });

const typeNames: Readonly<Record<string, string>> = {
  string: 'a string',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  object: 'an object',
  record: 'an object',
  array: 'an array',
  null: 'null',
};

function typeName(expected: string): string {
  return typeNames[expected] ?? expected;
}

function boundMessage(origin: string, relation: string, value: number | bigint): string {
  const ending = Number(value) === 1 ? '' : 's';
  if (origin === 'string') return `must have ${relation} ${value} character${ending}`;
  if (origin === 'array') return `must have ${relation} ${value} item${ending}`;
  return `must be ${relation} ${value}`;
}

/** a; a or b; a, b or c */
function listChoices(all: readonly string[]): string {
  return all.length < 2 ? all.join('') : `${all.slice(0, -1).join(', ')} or ${all.at(-1)}`;
}
