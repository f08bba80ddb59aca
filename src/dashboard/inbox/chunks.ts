// Owns cutting a long conversation into pieces of which only those near the sight are drawn. Pure: a piece keeps its
// beginning while messages come at either end, so that its measured height stays true, and stays the same object while
// nothing in it changes. Which of them are drawn depends on what is in sight and on what was drawn before.

export interface Chunk<T> {
  /** The key of its first message. */
  readonly key: string;
  readonly messages: readonly T[];
  /** The message before its first one. */
  readonly before: T | undefined;
}

export const chunkSize = 40;

/**
 * @param messages the oldest first
 * @param earlier the pieces as they were: their beginnings stay beginnings
 */
export function chunksOf<T extends { readonly key: string }>(
  messages: readonly T[],
  earlier: readonly Chunk<T>[],
): readonly Chunk<T>[] {
  const old = new Map(earlier.map((chunk) => [chunk.key, chunk]));
  const known = messages.findIndex(({ key }) => old.has(key));
  const begins: number[] = [];
  // What came before everything known is cut from its end, so that full pieces lie next to it.
  for (let at = known < 0 ? -1 : known - chunkSize; at > 0; at -= chunkSize) begins.unshift(at);
  if (messages.length > 0) begins.unshift(0);
  for (let at = Math.max(0, known), since = begins.at(-1) ?? 0; at < messages.length; at += 1) {
    if (at > since && (old.has(messages[at]?.key ?? '') || at - since >= chunkSize)) {
      begins.push(at);
      since = at;
    }
  }
  return begins.map((from, index) => {
    const to = begins[index + 1] ?? messages.length;
    const key = messages[from]?.key ?? '';
    const before = messages[from - 1];
    const was = old.get(key);
    const isSame =
      was !== undefined &&
      was.before === before &&
      was.messages.length === to - from &&
      was.messages.every((one, place) => one === messages[from + place]);
    return isSame ? was : { key, messages: messages.slice(from, to), before };
  });
}

/** What of the log is in sight, px from its beginning. */
export interface Sight {
  readonly top: number;
  readonly height: number;
}

/** What is not drawn and comes so near the sight is drawn, px. */
const drawWithin = 1_500;
/**
 * What is drawn stays so up to this distance. A piece is not as high as the gap that stands for it: drawing it moves
 * the sight, which with one distance for both could end what it was drawn for, and so on for ever.
 */
const keepWithin = 2 * drawWithin;

export interface Placed<T> {
  readonly chunk: Chunk<T>;
  /** Measured or guessed, px. */
  readonly height: number;
  readonly isDrawn: boolean;
}

/**
 * @param drawn the keys of the pieces that are drawn now
 * @param always which pieces are to be drawn wherever they are
 * @returns every piece with its height, and whether it is to be drawn
 */
export function placePieces<T>(
  chunks: readonly Chunk<T>[],
  heightOf: (chunk: Chunk<T>) => number,
  { top, height: inSight }: Sight,
  drawn: ReadonlySet<string>,
  always: (chunk: Chunk<T>, index: number) => boolean,
): readonly Placed<T>[] {
  let from = 0;
  return chunks.map((chunk, index) => {
    const height = heightOf(chunk);
    const within = drawn.has(chunk.key) ? keepWithin : drawWithin;
    const isNear = from + height > top - within && from < top + inSight + within;
    from += height;
    return { chunk, height, isDrawn: isNear || always(chunk, index) };
  });
}
