// What is asked to carry one organization's rows out of a database and into another.

import type { OrganizationRow } from '../rows.ts';

/** A row as it lies in its table, by column. */
export type AnyRow = Readonly<Record<string, unknown>>;

/** How a table's rows belong to an organization: by a column of their own, or by a row of another table. */
export interface ExportedTable {
  readonly name: string;
  readonly owner: 'id' | 'organization_id' | { readonly column: string; readonly table: string };
  /** Columns that name rows of other exported tables: they must have arrived before. */
  readonly references: Readonly<Record<string, string>>;
}

/** Carries one organization's rows out of a database and into another, of any engine with the same schema. */
export interface TransferRepository {
  /** Parents before children: the order in which rows must arrive. */
  readonly tables: readonly ExportedTable[];
  /** The number of the schema. */
  schema(): Promise<number>;
  /**
   * Rows of one table that belong to an organization, in an order that stays.
   * @param after where the page begins: null, or `next` of the page before
   * @returns `next` null: this was the last page
   */
  page(
    table: ExportedTable,
    organizationId: string,
    after: AnyRow | null,
    limit: number,
  ): Promise<{ rows: AnyRow[]; next: AnyRow | null }>;
  /** The columns of a table. */
  columns(table: string): Promise<string[]>;
  /**
   * Puts a row into its table; 0 when there is one like it, by id or by what must be unique.
   * @param columns all columns of the table
   */
  insert(table: string, columns: readonly string[], row: AnyRow): Promise<number>;
  /**
   * Puts an organization in whose rows are still to come. Until it has arrived, no other query finds it: not by id, not
   * by slug, not in a list. 0 when its id is taken.
   * @param token names this arrival among others of the same organization
   * @param now when it was last worked on, ms
   */
  beginArrival(row: OrganizationRow, token: string, now: number): Promise<number>;
  /** Those that have not arrived, and when each was last worked on. */
  arrivals(): Promise<{ id: string; workedAt: number }[]>;
  /** Notes that one is being worked on; 0 when it is not there any more, or was given up. */
  workOnArrival(id: string, token: string, now: number): Promise<number>;
  /**
   * Gives one up: its import writes no more, and its rows can be removed.
   * @param which the arrival of this token, or whichever was last worked on before a time, ms
   * @returns 0 when there is none such
   */
  giveUpArrival(
    id: string,
    which: { readonly token: string } | { readonly workedBefore: number },
  ): Promise<number>;
  /** Gives it its own row: from now on it is found. 0 when it is not there any more, or was given up. */
  completeArrival(row: OrganizationRow, token: string): Promise<number>;
}
