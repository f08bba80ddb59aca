// Owns reading the operator's own keys from a file, and saying what is wrong with it.
import { canonicalKey, isText } from './key-names.ts';
import { commandKeys, commandNames } from './all-keys.ts';
import {
  isTextField,
  keyScopes,
  keysIn,
  type CommandKeys,
  type CommandName,
  type KeyOverrides,
} from './keymap.ts';

/** What is wrong with a file of own keys, as a sentence for its author. */
export class KeymapError extends Error {}

function isActionName(name: string): name is CommandName {
  return Object.hasOwn(commandKeys, name);
}

/**
 * Reads a file of own keys: a JSON object of command names and lists of keys, `{"accept": ["a", "ctrl+o"]}`. A list
 * takes the place of the command's keys everywhere; an empty one leaves the command in the palette only.
 *
 * @param source the text of the file
 * @throws {KeymapError} with a sentence that says what to mend: no such command (with the nearest name), no such key, a
 *   key that is text where text is written, or one that two commands would share
 */
export function parseKeyOverrides(source: string): KeyOverrides {
  const overrides: Partial<Record<CommandName, readonly string[]>> = {};
  for (const [name, keys] of Object.entries(parsedObject(source))) {
    if (!isActionName(name))
      throw new KeymapError(`there is no command "${name.slice(0, 60)}".${nearest(name)}`);
    const list: unknown = typeof keys === 'string' ? [keys] : keys;
    if (!Array.isArray(list))
      throw new KeymapError(`"${name}" must be a list of keys, like ["a", "ctrl+o"].`);
    overrides[name] = list.map((key: unknown) => ownKey(name, key));
  }
  const doubled = findSharedKey(overrides);
  if (doubled !== null) throw new KeymapError(doubled);
  return overrides;
}

function parsedObject(source: string): Record<string, unknown> {
  let parsed: unknown;
  try {
    parsed = JSON.parse(source.replace(/^\ufeff/, ''));
  } catch {
    throw new KeymapError('it is not JSON. It should look like {"accept": ["a"], "palette": ["ctrl+t"]}.');
  }
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) {
    throw new KeymapError('it must be an object of commands and their keys, like {"accept": ["a"]}.');
  }
  return { ...parsed };
}

function ownKey(name: CommandName, key: unknown): string {
  if (typeof key !== 'string')
    throw new KeymapError(`a key of "${name}" is not a text. Write it like "a", "ctrl+o" or "alt+enter".`);
  const found = canonicalKey(key);
  if ('problem' in found) throw new KeymapError(`"${name}": ${found.problem}`);
  const { where }: CommandKeys = commandKeys[name];
  if (isText(found.key) && where.every(isTextField)) {
    throw new KeymapError(
      `"${name}": "${key}" is text where that command works. Put ctrl+ or alt+ before it.`,
    );
  }
  return found.key;
}

/** A sentence about a key that two commands have in one place; null when there is none. */
export function findSharedKey(overrides: KeyOverrides = {}): string | null {
  for (const scope of keyScopes) {
    const owners = new Map<string, CommandName>();
    for (const name of commandNames) {
      for (const key of new Set(keysIn(commandKeys, name, scope, overrides))) {
        const other = owners.get(key);
        if (other !== undefined)
          return `"${other}" and "${name}" would share the key "${key}" (${scope}). Give one of them another.`;
        owners.set(key, name);
      }
    }
  }
  return null;
}

function nearest(name: string): string {
  const wanted = name.toLowerCase();
  const near =
    commandNames.find((one) => one.startsWith(wanted) || wanted.startsWith(one) || one.includes(wanted)) ??
    closest(wanted);
  return near === null ? ` Commands: ${commandNames.join(', ')}.` : ` Did you mean "${near}"?`;
}

function closest(wanted: string): CommandName | null {
  let best: CommandName | null = null;
  let fewest = 3;
  for (const name of commandNames) {
    const changes = distance(wanted.slice(0, 40), name);
    if (changes < fewest) {
      fewest = changes;
      best = name;
    }
  }
  return best;
}

// Levenshtein's distance.
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const change = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(change, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
