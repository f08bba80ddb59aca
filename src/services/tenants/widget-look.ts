// What a page may know of an application: how its widget looks and speaks, whether it is open and whether a member is there.
import type { WidgetConfig } from '../../protocol/entities.ts';
import type { ApplicationSettings } from '../../protocol/application-settings.ts';
import type { ApplicationRow, OrganizationRow } from '../../engine/rows.ts';
import type { Service } from '../service.ts';
import { openState } from './business-hours.ts';
import { organizationQuotas } from './quotas.ts';

/** @param settings those that are stored, or others that are tried out */
export async function widgetLook(
  service: Service,
  {
    row,
    organization,
    settings,
  }: {
    readonly row: Pick<ApplicationRow, 'id' | 'name'>;
    readonly organization: OrganizationRow;
    readonly settings: ApplicationSettings;
  },
): Promise<WidgetConfig> {
  const { appearance, behavior, ai, locale } = settings;
  const state = openState(behavior.businessHours, behavior.timezone, service.engine.clock.now());
  return {
    appId: row.id,
    name: row.name,
    appearance,
    behavior: { ...state, ...behavior },
    online: await service.engine.presence.online(organization.id),
    ai: { enabled: ai.mode === 'auto' && organizationQuotas(organization).ai },
    locale,
  };
}
