// Owns the sound of this device: whether it is on, and playing it.
import { readSetting, writeSetting } from './words.ts';

const soundKey = 'deskbell.sound';

export function isSoundOn(): boolean {
  return readSetting(soundKey) !== 'off';
}

export function setSound(on: boolean): void {
  writeSetting(soundKey, on ? null : 'off');
}

/** Two soft tones, where sound is on and the browser lets the page make one. */
export function playSound(): void {
  if (!isSoundOn()) return;
  // Loaded with the first one; where it can't be, the notification is silent.
  import('../../widget/conversation/notification-sound.ts').then(
    ({ playNotificationSound }) => playNotificationSound(),
    () => undefined,
  );
}
