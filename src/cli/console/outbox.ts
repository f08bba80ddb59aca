// Where messages stay that the service has not confirmed yet: one private file each, so
// that a crash loses none and two consoles never overwrite each other's. Knows no messages.
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import type { KeyValueStorage } from '../../sdk/types.ts';

const suffix = '.json';

/**
 * @param stateFolder the console's private folder
 * @param server, organization whose messages they are: others' are never sent there
 */
export function createOutbox(stateFolder: string, server: string, organization: string): KeyValueStorage {
  const place = createHash('sha256').update(`${server}\n${organization}`).digest('hex').slice(0, 16);
  const folder = join(stateFolder, 'outbox', place);
  const fileOf = (key: string): string => join(folder, `${encodeURIComponent(key)}${suffix}`);
  const keys = (): string[] => {
    try {
      return readdirSync(folder)
        .filter((name) => name.endsWith(suffix))
        .map((name) => decodeURIComponent(name.slice(0, -suffix.length)))
        .sort();
    } catch {
      return [];
    }
  };
  return {
    get length() {
      return keys().length;
    },
    key: (index) => keys()[index] ?? null,
    getItem: (key) => {
      try {
        return readFileSync(fileOf(key), 'utf8');
      } catch {
        return null;
      }
    },
    setItem: (key, value) => {
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      // Half a file would be no message: it takes its name when it is whole.
      const fresh = `${fileOf(key)}.${process.pid}`;
      writeFileSync(fresh, value, { mode: 0o600 });
      renameSync(fresh, fileOf(key));
    },
    removeItem: (key) => rmSync(fileOf(key), { force: true }),
  };
}
