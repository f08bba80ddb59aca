// What the tables of operations are written with: the shape of one row, and the
// fields that several of them share. Must not name an operation.
import { z } from 'zod';
import { fileLimits, sizeLimits, type ErrorCode } from '../codes.ts';
import * as entity from '../entities.ts';
import { isCommonPassword } from '../common-passwords.ts';
import { exactText, text } from '../text.ts';

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/**
 * Who may call: `hostSite` is a page with only app id and origin; `visitor` adds
 * the visitor id; `anyone` carries no credential yet; `operator` is any member,
 * `admin` only admins; `local` is the command line on the data folder. The local
 * actor may also call every `admin` operation, for any organization.
 */
export type Who = 'anyone' | 'hostSite' | 'visitor' | 'operator' | 'admin' | 'local';

/** For whom an operation is described: the sections of the API's description. */
export type Audience = 'Visitors' | 'Staff' | 'Administration';

/** One row of the table of operations. */
export interface Operation<W extends Who, I extends z.ZodType, O extends z.ZodType> {
  /** One line that says what it does, in the imperative. */
  readonly summary: string;
  readonly audience: Audience;
  /**
   * The errors that come from what the operation does. Those that any call may meet on its way in (input,
   * credentials, rate limits, storage) are not listed.
   */
  readonly errors: readonly ErrorCode[];
  readonly who: W;
  /** Method and path below /api/v1; null: not served by REST. Path parameters are fields of the input. */
  readonly rest: readonly [Method, string] | null;
  readonly input: I;
  readonly output: O;
  /** HTTP status of success; 200 where absent. */
  readonly status?: 201;
  /** The input field that an `Idempotency-Key` header fills. */
  readonly idempotency?: 'clientMessageId' | 'idempotencyKey';
  /** The name under which REST answers the one thing that the handler answers bare. */
  readonly envelope?: string;
  /** A page of the server may get the answer's session as a cookie (`cookie: true` in the input), or loses it. */
  readonly sessionCookie?: 'set' | 'remove';
  /** True where the answer may be cached by clients (everything else is no-store). */
  readonly cacheable?: true;
  /**
   * The body of the request is a file and not JSON. It fills the input's fields `file` (its bytes) and `mediaType`; the
   * others come in the query. With `stream` its bytes are not read beforehand: it fills `body`, `announcedBytes`,
   * `mediaType` and, from the header X-File-Name, `fileName`.
   */
  readonly body?: 'file' | 'stream';
}

/** Types one row. */
export function defineOperation<const W extends Who, I extends z.ZodType, O extends z.ZodType>(
  definition: Operation<W, I, O>,
): Operation<W, I, O> {
  return definition;
}

/** A whole number that may arrive as a query string; `+5`, `1e1`, ` 5` and an empty string are refused. */
export function wholeNumber(min: number, max: number): z.ZodType<number> {
  const problem =
    max === Number.MAX_SAFE_INTEGER
      ? `must be a whole number of at least ${min}`
      : `must be a whole number from ${min} to ${max}`;
  return z
    .union(
      [
        z.int(),
        z
          .string()
          .regex(/^[0-9]{1,15}$/)
          .transform(Number),
      ],
      { error: problem },
    )
    .pipe(z.int({ error: problem }).min(min, problem).max(max, problem));
}

export const pageInput = {
  limit: wholeNumber(1, sizeLimits.pageMax).default(sizeLimits.pageDefault),
  offset: wholeNumber(0, Number.MAX_SAFE_INTEGER).default(0),
};
/** Lists of an organization's own things are short: a page holds them all unless asked otherwise. */
export const adminPageInput = {
  limit: wholeNumber(1, 1_000).default(1_000),
  offset: wholeNumber(0, Number.MAX_SAFE_INTEGER).default(0),
};
const pageOutput = { limit: z.int(), offset: z.int() };
export const listOutput = { total: z.int(), ...pageOutput };
export const successOutput = z.object({ success: z.literal(true) });
export const noInput = z.object({});

export const conversationId = entity.uuid;
export const messageId = entity.uuid;
export const clientMessageId = exactText(1, sizeLimits.clientMessageId);
export const name = text(1, 100);
export const organizationSlug = z
  .string()
  .regex(
    /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/,
    'must be 1 to 63 of a-z, 0-9 and hyphens, and begin and end with a letter or digit',
  );
export const organizationRef = text(1, 100).optional().describe('slug or id; an admin may leave it out');

export const messageContent = {
  // Lengths and meaning are checked by services/content, which knows the transport's own limit.
  content: z.string(),
  contentFormat: entity.contentFormat.default('plain'),
};

function attachmentIds(tooMany?: string): z.ZodOptional<z.ZodArray<typeof entity.uuid>> {
  return z.array(entity.uuid).max(fileLimits.perMessage, tooMany).optional();
}

/** Files that a message is sent with, by their ids. */
export const attachments = attachmentIds(`must be at most ${fileLimits.perMessage} files`);

/** The same in a frame, which has always refused too many in the words for any list. */
export const frameAttachments = attachmentIds();

/** As members write it: Markdown too, which is stored as `lexical`. */
export const staffMessageContent = {
  content: z.string(),
  contentFormat: entity.staffContentFormat.default('plain'),
};

export const historyInput = z.object({
  conversationId,
  ...pageInput,
  order: z.enum(['asc', 'desc']).default('asc'),
  after: messageId.optional().describe('only messages behind this one'),
  before: messageId.optional().describe('the page that ends just before this message; not with `after`'),
});

export const historyOutput = z.object({ messages: z.array(entity.message), ...pageOutput });
export const staffConversationOutput = z.object({ conversation: entity.staffConversation });
export const email = text(0, 254).toLowerCase().pipe(z.email('must be an e-mail address'));

/** What a visitor's page or backend says of them. */
export const naming = z.object({
  name,
  email,
  attributes: z
    .unknown()
    .refine((value) => value !== null && typeof value === 'object' && !Array.isArray(value), {
      error: 'must be an object',
      abort: true,
    })
    .refine((value) => Object.keys(value ?? {}).length <= 20, 'must have at most 20 entries')
    .pipe(entity.attributes),
});

/** How long what was rotated still works. */
export const graceSeconds = z
  .int()
  .min(0)
  .max(90 * 86_400, 'must be at most 90 days')
  .default(86_400);

export const shortcut = z
  .string()
  .trim()
  .toLowerCase()
  .regex(/^[\p{L}\p{N}][\p{L}\p{N}_-]{0,49}$/u, 'must be 1 to 50 letters, digits, hyphens or underscores');
export const dateTime = z.iso.datetime({ offset: true, error: 'must be a time like 2026-11-21T12:00:00Z' });
export const password = exactText(8, 1024).refine(
  (value) => !isCommonPassword(value),
  'is one of the passwords that are tried first: choose another',
);

/** For pages of the server itself: the session goes into a cookie, and its token is left out of the answer. */
export const cookie = z
  .boolean()
  .default(false)
  .describe('for pages of this server only: keep the session in a cookie and leave token out');
export const sessionToken = z.string().optional().describe('absent with cookie: true');

export const session = z.object({
  expiresAt: entity.timestamp,
  member: entity.member,
  organization: entity.organization,
});
