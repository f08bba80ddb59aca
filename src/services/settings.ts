// An application's settings as they are stored, brought to the shape of today.
import { applicationSettings, type ApplicationSettings } from '../protocol/entities.ts';
import type { ApplicationRow } from '../engine/rows.ts';

/** The settings of an application; one that was stored before a setting existed has that setting's default. */
export function readSettings({ settings }: Pick<ApplicationRow, 'settings'>): ApplicationSettings {
  return applicationSettings.parse(JSON.parse(settings));
}
