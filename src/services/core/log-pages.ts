// Pages of logs, newest first, with the number of all that fit. A log may have a million rows, and to count them, or to pass
// over those in front of a page, takes up to two seconds: so it is gone through in stretches, between which others have the loop.
import { wholeLog, type LogStretches } from '../../engine/repositories/log-stretches.ts';
import type { Reader, ReadTx } from '../service.ts';
import { readInSlices } from './slices.ts';

/** Rows of one stretch, but for those that were made within the same ms as its last. */
const rowsOfStretch = 1_000;

/** Which log, what is looked for in it, and between which times. */
export interface LogQuestion<Filter, Row> {
  readonly log: (tx: ReadTx) => LogStretches<Filter, Row>;
  readonly filter: Filter;
  /** At this time or later; left out: from the beginning. */
  readonly from?: number | undefined;
  /** Before this time; left out: to the end. */
  readonly before?: number | undefined;
  /** How many there are, where that is known: then no more is looked at than the page needs. */
  readonly known?: number | undefined;
}

/**
 * Reads a page of a log. Each row is looked at once, so none is there twice, whatever is added or removed under way.
 * @param turnOf whose turn it is: an organization's
 * @throws QueueFullError when too many long ones wait already
 */
export async function readLogPage<Filter, Row>(
  reader: Reader,
  turnOf: string,
  {
    log: logOf,
    filter,
    known,
    from = wholeLog.from,
    before: end = wholeLog.before,
  }: LogQuestion<Filter, Row>,
  { limit, offset }: { readonly limit: number; readonly offset: number },
): Promise<{ readonly rows: Row[]; readonly total: number }> {
  const rows: Row[] = [];
  let seen = 0;
  let before = end;
  await readInSlices(reader, turnOf, async (tx) => {
    const log = logOf(tx);
    const begin = await log.timeOf(filter, { from, before }, rowsOfStretch);
    const stretch = { from: begin ?? from, before };
    const fitting = await log.count(filter, stretch);
    if (rows.length < limit && offset < seen + fitting)
      rows.push(...(await log.page(filter, stretch, limit - rows.length, Math.max(0, offset - seen))));
    seen += fitting;
    before = stretch.from;
    return begin === undefined || (known !== undefined && (rows.length === limit || seen >= known));
  });
  return { rows, total: Math.max(known ?? 0, seen) };
}

/**
 * How many rows of a log fit.
 * @throws QueueFullError when too many long ones wait already
 */
export async function countLog<Filter, Row>(
  reader: Reader,
  turnOf: string,
  question: LogQuestion<Filter, Row>,
): Promise<number> {
  return (await readLogPage(reader, turnOf, question, { limit: 0, offset: 0 })).total;
}
