// Owns the list of the settings' pages, in the order of their menu. Each is loaded when it is opened.
import type { ComponentType } from 'preact';
import type { IconName } from '../ui/icon.tsx';
import type { Words } from '../languages/en.ts';

export interface SettingsPageProps {
  /** What stands behind the page's id in the address, decoded: `#/settings/webhooks/abc` has `abc`. */
  readonly rest: readonly string[];
}

export interface SettingsPage {
  /** In the address: `#/settings/<id>`. */
  readonly id: string;
  /** Its title in the common dictionary. */
  readonly title: keyof Words;
  readonly icon: IconName;
  /** Members who are no admins don't see it. */
  readonly adminOnly: boolean;
  readonly load: () => Promise<{ readonly Page: ComponentType<SettingsPageProps> }>;
}

export const settingsPages: readonly SettingsPage[] = [
  {
    id: 'device',
    title: 'thisDevice',
    icon: 'globe',
    adminOnly: false,
    load: () => import('./device.tsx'),
  },
];
