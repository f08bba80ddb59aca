// What is asked of a log that may have a million rows: of a bounded part of it at a time.

/** What was made between two times. */
export interface LogStretch {
  /** At this time or later. */
  readonly from: number;
  readonly before: number;
}

export const wholeLog: LogStretch = { from: 0, before: Number.MAX_SAFE_INTEGER };

export interface LogStretches<Filter, Row> {
  /** When the row was made that is the `most`th of a stretch, the newest first; undefined: it has fewer. */
  timeOf(filter: Filter, stretch: LogStretch, most: number): Promise<number | undefined>;
  /** How many rows of a stretch fit. */
  count(filter: Filter, stretch: LogStretch): Promise<number>;
  /** Those that fit, newest first. */
  page(filter: Filter, stretch: LogStretch, limit: number, offset: number): Promise<Row[]>;
}
