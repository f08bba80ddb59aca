// The priorities of a conversation, and what they are called.
import { priorities } from '../protocol/enums.ts';
import type { Priority } from '../protocol/entities.ts';

/** In the order in which they are offered. */
export const offeredPriorities: readonly Priority[] = priorities.toReversed();

export const priorityTexts = {
  low: 'priorityLow',
  normal: 'priorityNormal',
  high: 'priorityHigh',
  urgent: 'priorityUrgent',
} as const satisfies Readonly<Record<Priority, string>>;
