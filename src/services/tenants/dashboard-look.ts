// How an installed dashboard is called and coloured: after the organization of the member who asks.
import { authenticateMember, type Credentials } from '../auth/authenticate.ts';
import { tokenFromCookie } from '../auth/session-cookie.ts';
import { ServiceError } from '../core/errors.ts';
import type { Service } from '../service.ts';
import { readSettings } from './settings.ts';

export interface DashboardLook {
  readonly name: string;
  /** CSS. */
  readonly colour: string;
}

const unknown: DashboardLook = { name: 'Deskbell', colour: '#2563eb' };

/**
 * @param credentials of the request: only a member with the session's cookie learns the organization's name
 * @returns the organization's name and the colour of its first application; the product's own for everyone else
 */
export async function dashboardLook(service: Service, credentials: Credentials): Promise<DashboardLook> {
  if (tokenFromCookie(service, credentials) === null) return unknown;
  try {
    const { organizationId } = await authenticateMember(service, credentials);
    return await service.engine.store.read(async ({ repositories }) => {
      const organization = await repositories.organizations.byId(organizationId);
      const [first] = await repositories.applications.byOrganization(organizationId);
      if (organization === undefined) return unknown;
      const colour = first === undefined ? unknown.colour : readSettings(first).appearance.colors.primary;
      return { name: organization.name, colour };
    });
  } catch (error) {
    if (error instanceof ServiceError) return unknown;
    throw error;
  }
}
