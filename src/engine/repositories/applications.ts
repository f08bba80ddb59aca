// What is asked of applications and their registered domains.
import type { ApplicationRow, DomainRow } from '../rows.ts';

export interface ApplicationsRepository {
  byId(id: string): Promise<ApplicationRow | undefined>;
  /** In the order in which they were made. */
  byOrganization(organizationId: string): Promise<ApplicationRow[]>;
  /** Those whose settings hold a text somewhere, oldest first; the caller looks where. */
  withSetting(text: string): Promise<ApplicationRow[]>;
  insert(row: ApplicationRow): Promise<number>;
  setSettings(id: string, settings: string): Promise<number>;
  setName(id: string, name: string): Promise<number>;
  setIdentitySecret(id: string, sealed: Uint8Array): Promise<number>;
  /** Removes it with its domains, keys, visitors, conversations and documents. */
  remove(id: string): Promise<number>;
  /** In the order in which they were added. */
  domains(applicationId: string): Promise<DomainRow[]>;
  /** Every domain of every application, each once: what a preflight, which names no application, is compared with. */
  allDomains(): Promise<string[]>;
  /** 0 when the application has it already. */
  insertDomain(row: DomainRow): Promise<number>;
  /** 0 when there is none. */
  removeDomain(applicationId: string, domain: string): Promise<number>;
}
