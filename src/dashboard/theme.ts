// Owns the choice between light and dark on this device.
import { readSetting, writeSetting } from './words.ts';

export type Theme = 'auto' | 'light' | 'dark';

const themeKey = 'deskbell.theme';

/** What was chosen here; `auto`: as the system has it. */
export function chosenTheme(): Theme {
  const kept = readSetting(themeKey);
  return kept === 'light' || kept === 'dark' ? kept : 'auto';
}

export function chooseTheme(theme: Theme): void {
  writeSetting(themeKey, theme === 'auto' ? null : theme);
}

/** Shows the page in the chosen colours. */
export function applyTheme(): void {
  const theme = chosenTheme();
  if (theme === 'auto') delete document.documentElement.dataset['theme'];
  else document.documentElement.dataset['theme'] = theme;
}
