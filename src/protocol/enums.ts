// What fields with a fixed set of values may hold. Imports nothing: the command line and the dashboard offer these values,
// and do without schemas.

/** What a staff token may be allowed to do. */
export const tokenScopes = [
  'conversations:read',
  'conversations:draft',
  'conversations:reply',
  'conversations:act',
  'people:read',
  'settings:read',
  'settings:write',
] as const;

export const plans = ['free', 'premium', 'enterprise'] as const;

/** Which members of an organization must show a second factor. */
export const secondFactorDemands = ['off', 'admins', 'all'] as const;

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

/** `waiting` for its first or next attempt, `delivered`, `failed` for good, or `skipped`: nothing was left to tell. */
export const deliveryStatuses = ['waiting', 'delivered', 'failed', 'skipped'] as const;

/** What is sent, or done, behind the event log. */
export const effectKinds = ['mail', 'push', 'escalation'] as const;

export const weekdays = [
  'monday',
  'tuesday',
  'wednesday',
  'thursday',
  'friday',
  'saturday',
  'sunday',
] as const;

/** What a member may be told of. */
export const notificationEvents = ['new', 'assigned', 'reply', 'mention', 'due'] as const;

/** How a member may be told. */
export const notificationWays = ['push', 'email', 'bell'] as const;

/** How much of a visitor's message is shown. */
export const notificationPreviews = ['none', 'name', 'text'] as const;
