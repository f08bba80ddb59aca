// Facts about the database itself, by key.
import { first, prepare, run, type Runner } from '../query.ts';

const get = prepare<{ key: string }>()((db, p) =>
  db.selectFrom('meta').select('value').where('key', '=', p.key),
);
const set = prepare<{ key: string; value: string }>()((db, p) =>
  db
    .insertInto('meta')
    .values({ key: p.key, value: p.value })
    .onConflict((conflict) => conflict.column('key').doUpdateSet({ value: p.value })),
);
const remove = prepare<{ key: string }>()((db, p) => db.deleteFrom('meta').where('key', '=', p.key));

export function createMetaRepository(runner: Runner) {
  return {
    /** The value under a key, or undefined. */
    get: async (key: string): Promise<string | undefined> => (await first(runner, get, { key }))?.value,
    set: (key: string, value: string) => run(runner, set, { key, value }),
    remove: (key: string) => run(runner, remove, { key }),
  };
}
