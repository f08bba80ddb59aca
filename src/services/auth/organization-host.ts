// The host of an organization, `<slug>.<base host>`: at it, every other organization is unknown.
import { keepResults } from '../../net/keep-results.ts';
import type { OrganizationRow } from '../../engine/rows.ts';
import type { Service } from '../service.ts';

/** False at the host of another organization: what belongs to this one is unknown there. */
export function mayUseHost(
  service: Service,
  host: string | undefined,
  organization: Pick<OrganizationRow, 'slug'>,
): boolean {
  const slug = organizationSlugFromHost(service, host);
  return slug === null || slug === organization.slug;
}

const hostNameOf = keepResults((url: string): string => new URL(url).hostname);

/**
 * The slug in `<slug>.<base host>`, or null for any other host. Ports don't count, nor does the dot of the root: however a
 * proxy or a client writes the name, it is that of one organization.
 * @param host the request's header Host, as it came
 */
export function organizationSlugFromHost(service: Service, host: string | undefined): string | null {
  const baseUrl = service.settings.baseUrl();
  if (baseUrl === null || host === undefined) return null;
  const base = hostNameOf(baseUrl);
  const name = host.toLowerCase().replace(/:\d*$/, '').replace(/\.$/, '');
  if (!name.endsWith(`.${base}`)) return null;
  return name.slice(0, -base.length - 1);
}
