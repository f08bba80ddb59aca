// What the priorities of a conversation are called.
import type { Priority } from '../protocol/entities.ts';

export const priorityTexts = {
  low: 'priorityLow',
  normal: 'priorityNormal',
  high: 'priorityHigh',
  urgent: 'priorityUrgent',
} as const satisfies Readonly<Record<Priority, string>>;
