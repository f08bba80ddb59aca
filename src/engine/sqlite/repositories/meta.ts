// Facts about the database itself, by key.
import { sql } from 'kysely';
import type { MetaRepository } from '../../repositories/meta.ts';
import { all, first, prepare, run, type Runner } from '../query.ts';

const get = prepare<{ key: string }>()((db, p) =>
  db.selectFrom('meta').select('value').where('key', '=', p.key),
);
const startingWith = prepare<{ prefix: string; length: number }>()((db, p) =>
  db
    .selectFrom('meta')
    .select(['key', 'value'])
    .where(sql<boolean>`substr(key, 1, ${p.length}) = ${p.prefix}`)
    .orderBy('key'),
);
const set = prepare<{ key: string; value: string }>()((db, p) =>
  db
    .insertInto('meta')
    .values({ key: p.key, value: p.value })
    .onConflict((conflict) => conflict.column('key').doUpdateSet({ value: p.value })),
);
/** Moves, for one, the place up to which the log has been indexed. */
export const replaceFact = prepare<{ key: string; expected: string; value: string }>()((db, p) =>
  db.updateTable('meta').set({ value: p.value }).where('key', '=', p.key).where('value', '=', p.expected),
);
const remove = prepare<{ key: string }>()((db, p) => db.deleteFrom('meta').where('key', '=', p.key));

export function createMetaRepository(runner: Runner): MetaRepository {
  return {
    get: async (key: string): Promise<string | undefined> => (await first(runner, get, { key }))?.value,
    startingWith: (prefix: string) => all(runner, startingWith, { prefix, length: prefix.length }),
    set: (key: string, value: string) => run(runner, set, { key, value }),
    replace: (key: string, expected: string, value: string) =>
      run(runner, replaceFact, { key, expected, value }),
    remove: (key: string) => run(runner, remove, { key }),
  };
}
