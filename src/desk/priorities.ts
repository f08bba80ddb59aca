// The priorities of a conversation, and what they are called.
import type { Priority } from '../protocol/entities.ts';

/** In the order in which they are offered. */
export const priorities = ['urgent', 'high', 'normal', 'low'] as const satisfies readonly Priority[];

export const priorityTexts = {
  low: 'priorityLow',
  normal: 'priorityNormal',
  high: 'priorityHigh',
  urgent: 'priorityUrgent',
} as const satisfies Readonly<Record<Priority, string>>;
