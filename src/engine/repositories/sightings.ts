import type { ApplicationSightingRow } from '../rows.ts';

/** Where applications' widgets were seen last. */
export interface SightingsRepository {
  get(applicationId: string): Promise<ApplicationSightingRow | undefined>;
  put(row: ApplicationSightingRow): Promise<number>;
}
