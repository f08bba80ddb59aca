// Work that is done for many, none of whom may be kept from it by the others' faults.

/**
 * Does something for each, one after the other, also behind one for whom it failed.
 * @returns what it failed with, in order; the caller throws the first once all else is done
 */
export async function tryEach<T>(
  items: Iterable<T>,
  work: (item: T) => Promise<void>,
): Promise<readonly unknown[]> {
  const problems: unknown[] = [];
  for (const item of items)
    try {
      await work(item);
    } catch (error) {
      problems.push(error);
    }
  return problems;
}

/** @throws the first of what failed; nothing where nothing did */
export function throwFirst(problems: readonly unknown[]): void {
  if (problems.length > 0) throw problems[0];
}
