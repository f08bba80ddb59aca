// Owns: the whole set of questions. Must not filter or order it: the halves depend on the order.
import { bicycles } from './bicycles.ts';
import { misspelt } from './misspelt.ts';
import type { Question } from './question.ts';
import { teashop } from './teashop.ts';
import { timesheets } from './timesheets.ts';
import { wordy } from './wordy.ts';

export const questions: readonly Question[] = [...teashop, ...bicycles, ...timesheets, ...misspelt, ...wordy];
