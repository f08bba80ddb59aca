// Every code that crosses the wire: REST errors with their status, WebSocket
// errors, close codes, and the sizes that clients and server must agree on.
// Imports nothing, so that the widget and the SDK can take values from here.

/** REST error codes. `status` is the HTTP status; `retry` says whether the same request may succeed later. */
export const errorCodes = {
  bad_request: { status: 400, retry: false },
  unauthorized: { status: 401, retry: false },
  second_factor: { status: 401, retry: false },
  forbidden: { status: 403, retry: false },
  origin_not_allowed: { status: 403, retry: false },
  visitor_blocked: { status: 403, retry: false },
  identity_required: { status: 403, retry: false },
  plan_limit: { status: 403, retry: false },
  not_found: { status: 404, retry: false },
  method_not_allowed: { status: 405, retry: false },
  request_timeout: { status: 408, retry: true },
  conflict: { status: 409, retry: false },
  ai_model_required: { status: 409, retry: false },
  payload_too_large: { status: 413, retry: false },
  unsupported_media_type: { status: 415, retry: false },
  invalid_range: { status: 416, retry: false },
  upgrade_required: { status: 426, retry: false },
  conversation_not_active: { status: 422, retry: false },
  edit_window_expired: { status: 422, retry: false },
  file_rejected: { status: 422, retry: false },
  rate_limit_exceeded: { status: 429, retry: true },
  internal_error: { status: 500, retry: true },
  ai_unavailable: { status: 502, retry: true },
  unavailable: { status: 503, retry: true },
} as const;

export type ErrorCode = keyof typeof errorCodes;

/** What a 429 was counted against. */
export type LimitCause = 'per_visitor' | 'per_application' | 'per_organization' | 'per_address';

/** The codes of WebSocket `error` frames: exhaustive for version 1 of the protocol. */
export const socketErrorCodes = [
  'PARSE_ERROR',
  'VALIDATION_ERROR',
  'FORBIDDEN',
  'UNAUTHORIZED',
  'INVALID_TOKEN',
  'EXPIRED_TOKEN',
  'ORIGIN_MISMATCH',
  'APP_NOT_FOUND',
  'RATE_LIMITED',
  'MESSAGE_NOT_FOUND',
  'EDIT_WINDOW_EXPIRED',
] as const;

export type SocketErrorCode = (typeof socketErrorCodes)[number];

/** WebSocket close codes. `reconnect` tells a client whether to come back. */
export const closeCodes = {
  goingAway: { code: 1001, reconnect: true },
  tooLarge: { code: 1009, reconnect: true },
  internal: { code: 1011, reconnect: true },
  badFrames: { code: 4400, reconnect: false },
  unauthorized: { code: 4401, reconnect: true },
  withdrawn: { code: 4403, reconnect: false },
  appNotFound: { code: 4404, reconnect: false },
  tooSlow: { code: 4408, reconnect: true },
  rateLimited: { code: 4429, reconnect: true },
} as const;

/** A view's count is kept and answered again for so long. Apart from the sizes, all of which the SDK's file carries. */
export const viewCountsKeptMs = 1_000;

/** Sizes and times of the contract. Lengths count UTF-16 code units after trimming. */
export const sizeLimits = {
  bodyBytes: 65_536,
  frameBytes: 65_536,
  jsonDepth: 32,
  contentRest: 5_000,
  contentSocket: 10_000,
  draft: 5_000,
  subject: 500,
  clientMessageId: 100,
  pageDefault: 20,
  pageMax: 100,
  syncPage: 200,
  preview: 120,
  editWindowMs: 900_000,
  tokenLifeMs: 300_000,
  typingLapseMs: 10_000,
  badFramesInARow: 20,
  unreadBytes: 1_048_576,
  pingEveryMs: 30_000,
  silentForMs: 75_000,
} as const;

/** The same for the assistant and its documents; here, so that a command reads them without loading the schemas. */
export const assistantLimits = {
  question: 1_000,
  rewrite: 5_000,
  title: 200,
  source: 2_000,
  /** One document; as JSON over REST the body's limit is lower. */
  content: 2_000_000,
  /** Bytes of a file that becomes a document. */
  fileBytes: 20_000_000,
  /** Questions that are kept with the passages under one heading. */
  questionsPerHeading: 50,
  /** Unanswered questions that are looked at, newest first. */
  gapEntries: 500,
  /** Titles that are offered at once. */
  choices: 3,
  synonymLines: 500,
  synonymsPerLine: 20,
} as const;

/** Limits of crawls that admins begin. */
export const crawlLimits = {
  pages: 1_000,
  depth: 20,
  /** Under way at once: of an organization, and run at once by a server. */
  active: 5,
  running: 2,
  /** Of an application, the newest. */
  kept: 20,
  /** Pages that are named because they could not be read, the newest. */
  problems: 20,
} as const;

/** Limits of tags, views, snoozes and acts on many conversations. */
export const queueLimits = {
  tagName: 50,
  tagsPerConversation: 20,
  tags: 500,
  viewName: 60,
  /** Shared ones of an organization, and again own ones of each member. */
  views: 50,
  bulk: 100,
  /** A year. */
  snoozeMs: 366 * 86_400_000,
  waitingMinutes: 527_040,
} as const;

/** Files that can be documents, by the media type with which they are sent. */
export const fileKinds = {
  'application/pdf': 'pdf',
  'application/vnd.openxmlformats-officedocument.wordprocessingml.document': 'docx',
  'text/markdown': 'markdown',
  'text/html': 'html',
  'text/plain': 'text',
} as const;

export type FileKind = (typeof fileKinds)[keyof typeof fileKinds];

/** Limits of files that are sent with messages. */
export const fileLimits = {
  visitorBytes: 10 * 1_048_576,
  staffBytes: 25 * 1_048_576,
  /** Of one visitor in an hour. */
  visitorBytesPerHour: 100 * 1_048_576,
  /** Of all visitors of one address in an hour, by web pages. */
  addressBytesPerHour: 500 * 1_048_576,
  perMessage: 10,
  /** In UTF-16 units; a longer name is cut. */
  name: 200,
  /** Uploads of one address that are not finished. */
  unfinished: 10,
  /** Downloads of one address that are not finished. */
  downloads: 100,
  /** How long a file waits for the message that it is sent with. */
  unusedMs: 3_600_000,
  /** How long a link to a file holds at least. */
  linkMs: 3_600_000,
} as const;

/** Files that a browser may show by themselves; every other one is downloaded. */
export const inlineFileTypes = ['image/png', 'image/jpeg', 'image/gif', 'image/webp', 'image/avif'] as const;

/** Endings of names that no file may have: what runs when it is opened. */
export const blockedFileEndings = ['exe', 'msi', 'bat', 'cmd', 'scr', 'js', 'vbs', 'lnk', 'iso'] as const;

/** How a staff token begins, by which it is told from a session. */
export const staffTokenPrefix = 'dbt_';

export const escalationLimits = { steps: 10, minutes: 1_440 } as const;

/** Browsers of one member that are sent pushes. */
export const maxPushDevices = 10;

export const visitorApiPrefix = '/api/v1';
export const socketPath = '/api/v1/ws';
