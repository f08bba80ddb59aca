// Owns the list of the settings' pages, in the order of their menu. Each is loaded when it is opened.
import type { ComponentType } from 'preact';
import type { IconName } from '../ui/icon.tsx';
import { t } from '../words.ts';
import { s } from './words.ts';

export interface SettingsPageProps {
  /** What stands behind the page's id in the address, decoded: `#/settings/webhooks/abc` has `abc`. */
  readonly rest: readonly string[];
}

export interface SettingsPage {
  /** In the address: `#/settings/<id>`. */
  readonly id: string;
  readonly title: () => string;
  readonly icon: IconName;
  /** Members who are no admins don't see it. */
  readonly adminOnly: boolean;
  readonly load: () => Promise<{ readonly Page: ComponentType<SettingsPageProps> }>;
}

export const settingsPages: readonly SettingsPage[] = [
  {
    id: 'account',
    title: () => s('account'),
    icon: 'person',
    adminOnly: false,
    load: () => import('./account.tsx'),
  },
  {
    id: 'notifications',
    title: () => s('notifications'),
    icon: 'bell',
    adminOnly: false,
    load: () => import('./notifications.tsx'),
  },
  {
    id: 'device',
    title: () => t('thisDevice'),
    icon: 'globe',
    adminOnly: false,
    load: () => import('./device.tsx'),
  },
  {
    id: 'canned',
    title: () => s('repliesAndTags'),
    icon: 'note',
    adminOnly: false,
    load: () => import('./canned.tsx'),
  },
  {
    id: 'people',
    title: () => s('people'),
    icon: 'block',
    adminOnly: false,
    load: () => import('./people.tsx'),
  },
  {
    id: 'statistics',
    title: () => s('statistics'),
    icon: 'chart',
    adminOnly: false,
    load: () => import('./statistics.tsx'),
  },
  {
    id: 'applications',
    title: () => s('applications'),
    icon: 'inbox',
    adminOnly: true,
    load: () => import('./applications.tsx'),
  },
  {
    id: 'knowledge',
    title: () => s('knowledge'),
    icon: 'book',
    adminOnly: true,
    load: () => import('./knowledge.tsx'),
  },
  {
    id: 'members',
    title: () => s('members'),
    icon: 'shield',
    adminOnly: true,
    load: () => import('./members.tsx'),
  },
  {
    id: 'mail',
    title: () => s('mail'),
    icon: 'send',
    adminOnly: true,
    load: () => import('./mail.tsx'),
  },
  {
    id: 'webhooks',
    title: () => s('webhooks'),
    icon: 'link',
    adminOnly: true,
    load: () => import('./webhooks.tsx'),
  },
  {
    id: 'organization',
    title: () => s('organization'),
    icon: 'settings',
    adminOnly: true,
    load: () => import('./organization.tsx'),
  },
  {
    id: 'audit',
    title: () => s('audit'),
    icon: 'eye',
    adminOnly: true,
    load: () => import('./audit.tsx'),
  },
];
