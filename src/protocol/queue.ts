// How the queue is put in order: tags, priorities, and the questions that a list or a saved view asks. Shapes and
// limits only; what they mean is services/chat.
import { z } from 'zod';
import { queueLimits } from './codes.ts';
import { queueModes, queueSorts } from './queue-enums.ts';
import { conversationStatus, priority, timestamp, uuid, visitorUuid } from './entities.ts';
import { text } from './text.ts';

/** One line that can be read: tags and views are named in lists, addresses and shells. */
function label(max: number): z.ZodString {
  return text(1, max).regex(/^[^\p{C}\p{Zl}\p{Zp}]*$/u, 'must not hold control characters or line breaks');
}

export const tagName = label(queueLimits.tagName);
export const viewName = label(queueLimits.viewName);

/** A word that stays in the organization, whatever conversations have it. */
export const tag = z.object({ id: uuid, name: z.string(), createdAt: timestamp });
export type Tag = z.infer<typeof tag>;

/** True or false, also as a query string says it. */
const flag = z
  .union([z.boolean(), z.enum(['true', 'false']).transform((value) => value === 'true')], {
    error: 'must be true or false',
  })
  .pipe(z.boolean());

/** One or several: a query string repeats the name. What is wrong is said of what was sent, one or a list. */
function several<T extends string>(one: z.ZodType<T, T>, max: number) {
  return z
    .union([one.transform((value) => [value]), z.array(one)], {
      error: ({ input, errors }) => errors[Array.isArray(input) ? 1 : 0]?.[0]?.message,
    })
    .pipe(z.array(one).min(1).max(max));
}

export const queueSort = z.enum(queueSorts);
export type QueueSort = z.infer<typeof queueSort>;

/** What a list of conversations, or a saved view, asks for. Everything that is said must hold. */
export const queueQuery = {
  status: conversationStatus.optional(),
  assignedTo: z
    .string()
    .refine(
      (value) => value === 'me' || value === 'none' || uuid.safeParse(value).success,
      'must be me, none or the id of a member',
    )
    .toLowerCase()
    .optional(),
  applicationId: uuid.optional(),
  q: text(1, 200).optional(),
  tag: several(tagName, queueLimits.tagsPerConversation)
    .optional()
    .describe('those that have every one of these tags'),
  untagged: flag.optional().describe('true: those without a tag; false: those with one'),
  unread: flag.optional().describe("true: those with a visitor's message that the caller has not read"),
  snoozed: z
    .union([flag, z.literal('all')], { error: 'must be true, false or all' })
    .optional()
    .describe('unless said, snoozed ones are left out of the queue, but not of a search or of one visitor'),
  priority: several(priority, priority.options.length)
    .optional()
    .describe('those of one of these priorities'),
  visitorId: visitorUuid.optional(),
  channel: z.enum(['chat', 'email']).optional().describe('how it was begun'),
  sort: queueSort.optional(),
  waitingLonger: z
    .union(
      [
        z.int(),
        z
          .string()
          .regex(/^[0-9]{1,6}$/)
          .transform(Number),
      ],
      {
        error: 'must be a whole number of minutes',
      },
    )
    .pipe(z.int().min(0).max(queueLimits.waitingMinutes))
    .optional()
    .describe('those whose visitor has waited for so many minutes or longer'),
};

/** The question of a saved view. `mode` is `live` unless said. */
export const viewQuery = z.object({ ...queueQuery, mode: z.enum(queueModes).optional() });
export type ViewQuery = z.infer<typeof viewQuery>;

/** A saved question, for its maker alone or for everybody. */
export const view = z.object({
  id: uuid,
  name: z.string(),
  shared: z.boolean(),
  query: viewQuery,
  createdBy: uuid,
  createdAt: timestamp,
  updatedAt: timestamp,
});
export type View = z.infer<typeof view>;
