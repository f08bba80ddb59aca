// What is asked of applications and their registered domains.
import type { ApplicationRow, DomainRow } from '../rows.ts';

/** A domain of any application of an organization. */
export interface RegisteredDomain {
  readonly organization_id: string;
  readonly domain: string;
}

/** One that is being deleted, or whose organization is, is not among those that are found. */
export interface ApplicationsRepository {
  byId(id: string): Promise<ApplicationRow | undefined>;
  /** Also one that is being deleted. */
  alsoGoing(id: string): Promise<ApplicationRow | undefined>;
  /** All that an organization has, also those that are being deleted. */
  everyOf(organizationId: string): Promise<ApplicationRow[]>;
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
  /**
   * The domains of an organization's applications, each once for it; null: of every organization. A preflight, which
   * names no application, is compared with them.
   */
  registeredDomains(organizationId: string | null): Promise<RegisteredDomain[]>;
  /** 0 when the application has it already. */
  insertDomain(row: DomainRow): Promise<number>;
  /** 0 when there is none. */
  removeDomain(applicationId: string, domain: string): Promise<number>;
}
