// How much of an index a search looks at in one turn of the loop: more once a turn was short, fewer once it was long, so that
// a search of a small index takes one turn and a search of a large one holds up none of the others.

/** Numbers of entries; ms. */
const stretch = { least: 5_000, short: 4, long: 12 };

/** How far the next stretch reaches. @param took how long this one took, ms */
export function spanAfter(span: number, took: number): number {
  if (took < stretch.short) return span * 4;
  return took > stretch.long ? Math.max(stretch.least, Math.floor(span / 2)) : span;
}
