// Owns what is set for this device alone: the language, the colours, the sound.
import { useState } from 'preact/hooks';
import type { JSX } from 'preact';
import { applyTheme, chosenTheme, chooseTheme, type Theme } from '../theme.ts';
import { Button } from '../ui/button.tsx';
import { Checkbox, Select } from '../ui/field.tsx';
import { chosenLanguage, chooseSpoken, languages, t } from '../words.ts';
import { areLetterKeysOn, setLetterKeys } from '../inbox/letter-keys.ts';
import { isSoundOn, setSound } from '../sound.ts';
import { languageNames } from './language-names.ts';

export function Page(): JSX.Element {
  const [theme, setTheme] = useState<Theme>(chosenTheme());
  const [sound, setSounding] = useState(isSoundOn());
  const [letters, setLetters] = useState(areLetterKeysOn());
  return (
    <div class="form">
      <Select
        label={t('language')}
        value={chosenLanguage() ?? 'auto'}
        options={[
          { value: 'auto', label: t('languageOfBrowser') },
          ...languages.map((language) => ({ value: language, label: languageNames[language] })),
        ]}
        onChange={(value) => {
          chooseSpoken(value === 'auto' ? null : value);
          location.reload();
        }}
      />
      <Select
        label={t('theme')}
        value={theme}
        options={[
          { value: 'auto', label: t('themeAuto') },
          { value: 'light', label: t('themeLight') },
          { value: 'dark', label: t('themeDark') },
        ]}
        onChange={(value) => {
          setTheme(value);
          chooseTheme(value);
          applyTheme();
        }}
      />
      <Checkbox
        label={t('playSound')}
        checked={sound}
        onChange={(on) => {
          setSounding(on);
          setSound(on);
        }}
      />
      <Notifications />
      <Checkbox
        label={t('letterKeys')}
        hint={t('letterKeysHint')}
        checked={letters}
        onChange={(on) => {
          setLetters(on);
          setLetterKeys(on);
        }}
      />
    </div>
  );
}

/** A browser asks for the permission only when a button was pressed. */
function Notifications(): JSX.Element | null {
  const isThere = 'Notification' in globalThis;
  const [permission, setPermission] = useState(isThere ? Notification.permission : 'denied');
  // Where the page came without encryption, a browser has none to give.
  if (!isThere) return null;
  if (permission !== 'default')
    return <p class="hint">{t(permission === 'granted' ? 'notifyOn' : 'notifyBlocked')}</p>;
  return (
    <Button onClick={() => void Notification.requestPermission().then(setPermission)}>
      {t('notifyAsk')}
    </Button>
  );
}
