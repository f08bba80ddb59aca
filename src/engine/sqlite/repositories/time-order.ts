// What queries that read rows in an order by time share.
import { sql } from 'kysely';
import type { PlaceInTime } from '../../repositories/time-order.ts';

/** What one part is asked by. */
export type PartOfOrder = PlaceInTime & { readonly limit: number };

/** Behind a place. The first condition is what an index finds. */
export const isBehind = (place: PlaceInTime) =>
  sql<boolean>`(created_at >= ${place.created_at} and (created_at > ${place.created_at} or id > ${place.id}))`;
