// Owns cutting a long conversation into pieces of which only those near the sight are drawn. Pure: a piece keeps its
// beginning while messages come at either end, so that its measured height stays true, and stays the same object while
// nothing in it changes.

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
