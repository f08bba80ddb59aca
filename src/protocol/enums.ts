// What fields with a fixed set of values may hold. Imports nothing: the command line and the dashboard offer these values,
// and do without schemas. Those of the queue are in queue-enums.ts, so that the dashboard's first file has them alone.

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
