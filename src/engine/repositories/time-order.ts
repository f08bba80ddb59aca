// Rows in an order by time, read part by part.

/** A row's place: of those made in one millisecond, the id decides. */
export interface PlaceInTime {
  readonly created_at: number;
  readonly id: string;
}

/** Before every row. */
export const beforeAll: PlaceInTime = { created_at: Number.MIN_SAFE_INTEGER, id: '' };
