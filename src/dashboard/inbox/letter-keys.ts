// Owns whether single letters are commands on this device: who dictates, or brushes the keys, turns them off.
import { readSetting, writeSetting } from '../words.ts';

const name = 'deskbell.letter-keys';

export function areLetterKeysOn(): boolean {
  return readSetting(name) !== 'off';
}

export function setLetterKeys(on: boolean): void {
  writeSetting(name, on ? null : 'off');
}
