// What fields of conversations and of the queue may hold, as enums.ts has it for all others. Imports nothing.

export const conversationStatuses = ['pending', 'active', 'closed'] as const;

/** How urgent staff say a conversation is. */
export const priorities = ['low', 'normal', 'high', 'urgent'] as const;

/** Orders of the queue. `queue`: waiting longest first among pending ones, then the others by their last change. */
export const queueSorts = ['queue', 'updated', 'newest', 'oldest', 'waiting', 'priority'] as const;

/** Which conversations a member looks at: those of visitors, those of test keys, or both. */
export const queueModes = ['live', 'test', 'all'] as const;

/** What can be done to many conversations at once. */
export const bulkActs = [
  'accept',
  'release',
  'resolve',
  'reopen',
  'transfer',
  'tag',
  'untag',
  'priority',
  'snooze',
  'unsnooze',
  'unread',
] as const;
