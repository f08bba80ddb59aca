// How far the database's clock is from this machine's. Must not decide what comes of that.
import { createSystemClock } from '../clock.ts';
import type { Link, Statement } from './link.ts';

const readClock: Statement = {
  name: 'read_clock',
  text: 'select (extract(epoch from clock_timestamp()) * 1000)::bigint as now',
};

/** Clocks that are further apart are not right, ms: a token that one server makes is none yet, or none any more, for another. */
const maxSkewMs = 2_000;

/** Whether clocks are too far apart. @param skewMs as it was measured, in either direction */
export function areClocksApart(skewMs: number): boolean {
  return Math.abs(skewMs) > maxSkewMs;
}

/** What the machine's clock shows, also where another one is handed in. */
const machine = createSystemClock();
/** How often the database is asked for its time: the quickest answer says it best. */
const clockQuestions = 3;

/**
 * Compares the clocks by when the database was asked and had answered: how long it takes to answer is no difference.
 * @returns what the database's clock shows more than the machine's, ms; 0 where the two agree as well as can be told
 */
export async function measureSkew(link: Pick<Link, 'query'>): Promise<number> {
  let [skew, doubt] = [0, Infinity];
  for (let asked = 0; asked < clockQuestions; asked += 1) {
    const before = machine.now();
    const { rows } = await link.query<{ now: number }>(readClock);
    const after = machine.now();
    if (after - before >= doubt) continue;
    doubt = after - before;
    skew = (rows[0]?.now ?? before) - (before + after) / 2;
  }
  return Math.abs(skew) <= doubt / 2 + 1 ? 0 : skew;
}
