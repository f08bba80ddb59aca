// What is asked of mail besides messages: addresses that take none, organizations' own mail servers, keys of the way in.
import type { MailAddressRow, MailKeyRow, MailSettingsRow } from '../rows.ts';

export interface MailRepository {
  address(organizationId: string, digest: Uint8Array): Promise<MailAddressRow | undefined>;
  /** Notes that an address takes no mails. One that was stopped stays stopped. */
  putAddress(row: MailAddressRow): Promise<number>;
  /** Removes what was noted of bounces before a time, at most `limit` rows. */
  removeBounces(before: number, limit: number): Promise<number>;
  settings(organizationId: string): Promise<MailSettingsRow | undefined>;
  putSettings(row: MailSettingsRow): Promise<number>;
  removeSettings(organizationId: string): Promise<number>;
  /** The organizations that have a mail server of their own. */
  organizationsWithServer(): Promise<string[]>;
  key(digest: Uint8Array): Promise<MailKeyRow | undefined>;
  /** Puts a key in place of the application's earlier one. */
  putKey(row: MailKeyRow): Promise<number>;
  /** Those of an organization's applications. */
  keys(organizationId: string): Promise<MailKeyRow[]>;
}
