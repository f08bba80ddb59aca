// What is not to be found: an organization that has not arrived, and what is being deleted.
import { sql } from 'kysely';
import { goingApplication } from '../../repositories/meta.ts';

/** Begins the slug of an organization that is not to be found: no slug that can be typed does. */
export const hiddenMark = '~';
/** Begins that of one that is being deleted; others have not arrived. */
export const goingMark = `${hiddenMark}-`;
/** Whether an organization has arrived, and is not being deleted. */
export const isFound = sql<boolean>`substr(slug, 1, 1) <> ${sql.lit(hiddenMark)}`;
/** Whether it has not arrived. */
export const isArriving = sql<boolean>`substr(slug, 1, 1) = ${sql.lit(hiddenMark)}
  and substr(slug, 1, 2) <> ${sql.lit(goingMark)}`;

/** Whether the organization of a row is found. @param owner the column of its id */
export const ownerIsFound = (owner: string) => sql<boolean>`exists (select 1 from organizations
  where organizations.id = ${sql.ref(owner)} and ${isFound})`;

/** Whether an application is not being deleted. @param application the column of its id */
export const applicationIsFound = (application: string) => sql<boolean>`not exists (select 1 from meta
  where meta.key = ${sql.lit(goingApplication)} || ${sql.ref(application)})`;
export const isFoundApplication = applicationIsFound('applications.id');
