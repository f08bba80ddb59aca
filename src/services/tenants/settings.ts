// An application's settings: what a new one has, how stored ones are read, how a change is laid over them.
import {
  applicationSettings,
  applicationSettingsPatch,
  type ApplicationSettings,
  type ApplicationSettingsPatch,
} from '../../protocol/application-settings.ts';
import type { ApplicationRow } from '../../engine/rows.ts';
import { badField } from '../core/errors.ts';
import { validationError } from '../core/validation.ts';

/** What a new application has. */
export const defaultSettings: ApplicationSettings = {
  appearance: {
    colors: { primary: '#2563eb', background: '#ffffff', text: '#111827' },
    logo: null,
    position: 'bottom-right',
    launcherIcon: 'chat',
  },
  behavior: {
    timezone: 'UTC',
    businessHours: null,
    greeting: null,
    outsideHours: null,
    contactForm: 'off',
    identity: 'optional',
  },
  ai: { mode: 'assist', name: 'Assistant' },
  email: { mode: 'replies', address: null, fromName: null, afterMinutes: 2, signature: null },
  locale: null,
};

/** The settings of an application; one that was stored before a setting existed has that setting's default. */
export function readSettings({ settings }: Pick<ApplicationRow, 'settings'>): ApplicationSettings {
  return applicationSettings.parse(JSON.parse(settings));
}

const ofMail = applicationSettings.pick({ email: true });

/** Those of mail alone: to check all settings takes milliseconds where business hours have many exceptions. */
export function readEmailSettings({
  settings,
}: Pick<ApplicationRow, 'settings'>): ApplicationSettings['email'] {
  return ofMail.parse(JSON.parse(settings)).email;
}

/** Lays a patch over the settings; what it leaves out stays. */
export function patchSettings(
  settings: ApplicationSettings,
  patch: ApplicationSettingsPatch,
): ApplicationSettings {
  const { colors, ...appearance } = patch.appearance ?? {};
  return applicationSettings.parse({
    appearance: {
      ...settings.appearance,
      ...given(appearance),
      colors: { ...settings.appearance.colors, ...given(colors) },
    },
    behavior: { ...settings.behavior, ...given(patch.behavior) },
    ai: { ...settings.ai, ...given(patch.ai) },
    email: { ...settings.email, ...given(patch.email) },
    locale: patch.locale === undefined ? settings.locale : patch.locale,
  });
}

function given(fields: object = {}): object {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

/** The paths of the settings that differ, as `appearance.colors.primary`. */
export function changedSettings(before: ApplicationSettings, after: ApplicationSettings): string[] {
  const old = new Map(settingEntries(before));
  return settingEntries(after).flatMap(([path, value]) => (old.get(path) === value ? [] : [path]));
}

/** Every setting by its path, its value as JSON. Business hours are one setting, however deep. */
function settingEntries({
  appearance: { colors, ...appearance },
  behavior,
  ai,
  email,
  locale,
}: ApplicationSettings): [string, string][] {
  const parts = { 'appearance.colors': colors, appearance, behavior, ai, email };
  return [
    ...Object.entries(parts).flatMap(([part, settings]) =>
      Object.entries(settings).map(([name, value]): [string, string] => [
        `${part}.${name}`,
        JSON.stringify(value),
      ]),
    ),
    ['locale', JSON.stringify(locale)],
  ];
}

/** One change as the command line takes it. */
export interface SettingChange {
  /** As in `widget/config`: `behavior.timezone`. */
  readonly path: string;
  readonly value: unknown;
}

/**
 * Turns changes by path into a patch.
 * @param settings the settings as they are: a path may lead into business hours, whose other parts stay
 * @param changes applied in this order
 * @throws ServiceError bad_request for a path that is no setting, or a value that its setting does not take
 */
export function patchFromPaths(
  settings: ApplicationSettings,
  changes: readonly SettingChange[],
): ApplicationSettingsPatch {
  const changed: unknown = structuredClone(settings);
  for (const { path, value } of changes) assignSetting(changed, path, value);
  const patch: Record<string, unknown> = {};
  for (const { path } of changes) {
    const [part = '', name] = path.split('.');
    const value = ownValue(changed, part);
    const earlier = patch[part];
    if (name === undefined) patch[part] = value;
    else
      patch[part] = {
        ...given(typeof earlier === 'object' && earlier !== null ? earlier : {}),
        [name]: ownValue(value, name),
      };
  }
  const checked = applicationSettingsPatch.safeParse(patch);
  if (!checked.success) throw validationError(checked.error);
  return checked.data;
}

/** Sets the value at a path that exists already. */
function assignSetting(settings: unknown, path: string, value: unknown): void {
  const names = path.split('.');
  const last = names.pop() ?? '';
  let parent: unknown = settings;
  for (const name of names) parent = ownValue(parent, name);
  if (typeof parent !== 'object' || parent === null || !Object.hasOwn(parent, last))
    throw badField(path, 'is not a setting; see: deskbell app config ID');
  Object.defineProperty(parent, last, { value, enumerable: true, configurable: true, writable: true });
}

function ownValue(parent: unknown, name: string): unknown {
  if (typeof parent !== 'object' || parent === null) return undefined;
  return Object.getOwnPropertyDescriptor(parent, name)?.value;
}
