// Mails of people that lead nowhere: they are counted, so that the owner hears of an address that was set wrongly. Of the
// mails themselves nothing is kept.
import type { Service } from '../../service.ts';

/** The key of `meta` under which they are counted. */
const astrayKey = 'mails_astray';

/** Counts one. */
export function noteAstray({ engine: { store, clock } }: Service): Promise<void> {
  return store.write('server:mails-astray', async ({ repositories: { meta } }) => {
    const { count } = readAstray(await meta.get(astrayKey));
    await meta.set(astrayKey, JSON.stringify({ count: count + 1, lastAt: clock.now() }));
  });
}

/** @param stored what lies under `astrayKey` */
export function readAstray(stored: string | undefined): {
  readonly count: number;
  /** ms; null: there was none */
  readonly lastAt: number | null;
} {
  const read: unknown = stored === undefined ? null : JSON.parse(stored);
  if (typeof read !== 'object' || read === null || !('count' in read) || !('lastAt' in read))
    return { count: 0, lastAt: null };
  const { count, lastAt } = read;
  return typeof count === 'number' && typeof lastAt === 'number'
    ? { count, lastAt }
    : { count: 0, lastAt: null };
}
