// How members are told: the shapes of what each has chosen, of the browsers that are sent pushes, of a test, and of what
// an organization does when no member accepts a conversation.
import { z } from 'zod';
import { timeOfDay, timezone } from './application-settings.ts';
import { escalationLimits } from './codes.ts';
import { notificationEvents, notificationPreviews, notificationWays } from './enums.ts';
import { timestamp, uuid } from './entities.ts';
import { exactText } from './text.ts';

/**
 * What a member may be told of. `new`: a conversation waits for a member. `assigned`: another member has given them one.
 * `reply`: a visitor has written in one of theirs. `mention`: a note names them. `due`: a snooze of
 * theirs, or of a conversation that no member has, is over.
 */
export const notificationEvent = z.enum(notificationEvents);
export type NotificationEvent = z.infer<typeof notificationEvent>;

/** How: in their browsers, by e-mail, or by the sound of an open dashboard or console. */
export const notificationWay = z.enum(notificationWays);
export type NotificationWay = z.infer<typeof notificationWay>;

/** How much of a visitor's message is shown: nothing, who wrote, or the text too. */
export const notificationPreview = z.enum(notificationPreviews);
export type NotificationPreview = z.infer<typeof notificationPreview>;

/** Every day from one time to another, by the clock on the wall of a zone; `to` before `from` means the next day. */
export const quietHours = z
  .object({ from: timeOfDay, to: timeOfDay, timezone })
  .refine(({ from, to }) => from !== to, { path: ['to'], message: 'must be another time than from' });
export type QuietHours = z.infer<typeof quietHours>;

const ways = z.object({ push: z.boolean(), email: z.boolean(), bell: z.boolean() });

export const notificationSettings = z.object({
  events: z.object({ new: ways, assigned: ways, reply: ways, mention: ways, due: ways }),
  quietHours: quietHours.nullable(),
  preview: notificationPreview,
});
export type NotificationSettings = z.infer<typeof notificationSettings>;

/** A change: what is left out stays. */
export const notificationSettingsPatch = z.object({
  events: z
    .object({
      new: ways.partial(),
      assigned: ways.partial(),
      reply: ways.partial(),
      mention: ways.partial(),
      due: ways.partial(),
    })
    .partial()
    .optional(),
  quietHours: quietHours.nullable().optional(),
  preview: notificationPreview.optional(),
});
export type NotificationSettingsPatch = z.infer<typeof notificationSettingsPatch>;

/** A browser's subscription, as `PushSubscription.toJSON()` has it. */
export const pushSubscription = z.object({
  endpoint: exactText(1, 2_000).describe('https, at a push service that the server knows'),
  keys: z.object({ p256dh: exactText(1, 200), auth: exactText(1, 100) }),
});

export const pushDevice = z.object({
  id: uuid,
  label: z.string(),
  host: z.string().describe('of the push service'),
  current: z.boolean().describe('whether it belongs to the session that asks'),
  createdAt: timestamp,
  lastSentAt: timestamp.nullable().describe('when a push service last took a push for it'),
  problem: z.string().nullable().describe('why the last push did not arrive'),
});
export type PushDevice = z.infer<typeof pushDevice>;

/** What came of one way of a test. */
export const notificationTestResult = z.object({
  way: notificationWay,
  device: z.object({ id: uuid, label: z.string() }).optional().describe('of a push'),
  ok: z.boolean(),
  problem: z.string().nullable().describe('the link that is broken, and what to do'),
});
export type NotificationTestResult = z.infer<typeof notificationTestResult>;

export const escalationStep = z.object({
  afterMinutes: z.int().min(1).max(escalationLimits.minutes),
  to: z
    .union([z.literal('available'), z.literal('all'), uuid])
    .describe('members that are connected, all members, or one member by id'),
  ways: z.array(notificationWay).min(1).max(notificationWays.length),
});
export type EscalationStep = z.infer<typeof escalationStep>;

/** What is done when no member accepts a conversation, step by step. */
export const escalation = z
  .array(escalationStep)
  .max(escalationLimits.steps, `must have at most ${escalationLimits.steps} entries`);
