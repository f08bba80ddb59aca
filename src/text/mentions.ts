// Whom a text names: `@` and a name, as people write it.

/** A person who can be named. */
export interface Nameable {
  readonly id: string;
  readonly name: string;
}

const fold = (text: string): string => text.normalize('NFKC').toLowerCase();
const endsInWord = /[\p{L}\p{N}\p{M}_]$/u;
const beginsInWord = /^[\p{L}\p{N}\p{M}_]/u;

/**
 * The ids of those whom a text names. A whole name counts whatever its case, and its first word where only one person
 * has it. Of names that begin alike the longest counts. `@` inside a word, as in an e-mail address, names no one.
 */
export function findMentions(text: string, people: readonly Nameable[]): Set<string> {
  const found = new Set<string>();
  if (!text.includes('@')) return found;
  const names = namesOf(people);
  const folded = fold(text);
  for (let at = folded.indexOf('@'); at >= 0; at = folded.indexOf('@', at + 1)) {
    if (at > 0 && endsInWord.test(folded.slice(0, at))) continue;
    const rest = folded.slice(at + 1);
    const named = names.find(
      ({ name }) => rest.startsWith(name) && !beginsInWord.test(rest.slice(name.length)),
    );
    for (const id of named?.ids ?? []) found.add(id);
  }
  return found;
}

/** What may stand behind an `@`, longest first. Two people of the same name are both meant. */
function namesOf(people: readonly Nameable[]): { name: string; ids: string[] }[] {
  const byName = new Map<string, string[]>();
  const byFirstWord = new Map<string, string[]>();
  for (const { id, name } of people) {
    const whole = fold(name).trim();
    if (whole === '') continue;
    byName.set(whole, [...(byName.get(whole) ?? []), id]);
    const [first = whole] = whole.split(/\s+/u, 1);
    byFirstWord.set(first, [...(byFirstWord.get(first) ?? []), id]);
  }
  for (const [first, ids] of byFirstWord) if (ids.length === 1 && !byName.has(first)) byName.set(first, ids);
  return [...byName]
    .map(([name, ids]) => ({ name, ids }))
    .toSorted((one, other) => other.name.length - one.name.length);
}

/** A name that is being typed behind an `@`, up to the caret. */
export interface MentionQuery {
  /** Where the `@` stands. */
  readonly start: number;
  /** What was typed of the name. */
  readonly typed: string;
}

/**
 * The name that is being typed at the caret; null where none is.
 * @param before the text up to the caret
 */
export function mentionQuery(before: string): MentionQuery | null {
  const start = before.lastIndexOf('@');
  if (start < 0 || (start > 0 && endsInWord.test(before.slice(0, start)))) return null;
  const typed = before.slice(start + 1);
  return typed.length > 60 || typed.includes('\n') || /^\s|\s{2}/u.test(typed) ? null : { start, typed };
}

/** Those whose name, or one of its words, begins with what was typed; in their order. */
export function fittingNames<P extends Nameable>(typed: string, people: readonly P[]): P[] {
  const wanted = fold(typed);
  return people.filter(({ name }) => {
    const whole = fold(name);
    return whole.startsWith(wanted) || whole.split(/\s+/u).some((word) => word.startsWith(wanted));
  });
}
