// Keeps what a pure function has made of a text: it depends on nothing else, so it can't be out of date. Must not be
// used for anything that reads configuration, rows or the time.

/** Texts that are kept at once. */
const maxKept = 1_000;
/** Longer texts are not kept: a flood of them would fill memory. */
const maxLength = 300;

/**
 * The same function, which works out the result of a text once as long as it is asked again and again.
 * @param work depends on the text alone, throws nothing, and its results are not changed by those who get them
 */
export function keepResults<R>(work: (text: string) => R): (text: string) => R {
  const kept = new Map<string, R>();
  return (text) => {
    const found = kept.get(text);
    if (found !== undefined) return found;
    const made = work(text);
    if (text.length > maxLength) return made;
    if (kept.size >= maxKept) kept.clear();
    kept.set(text, made);
    return made;
  };
}
