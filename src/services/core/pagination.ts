// A page of a list that is short enough to be read whole (what owners set up).

/** @returns the page and how many there are in all */
export function paginate<T>(rows: readonly T[], { limit, offset }: { limit: number; offset: number }) {
  return { page: rows.slice(offset, offset + limit), total: rows.length, limit, offset };
}
