// Owns the desk's English, for a face that speaks nothing else and has everything at once.
import { moreTexts } from './more-texts.ts';
import { deskTexts, translator, type DeskText, type Say } from './texts.ts';

export const inEnglish: Say = translator<DeskText>({ ...deskTexts, ...moreTexts }, 'en');
