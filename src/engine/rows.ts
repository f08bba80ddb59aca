// The rows as they lie in the database: snake_case, times as ms since the epoch,
// booleans as 0 or 1. Rules read rows; what leaves goes through services/core/serializers.ts.
import type { AiLogEntry, CrawlStatus, KnowledgeFormat } from '../protocol/assistant.ts';
import type {
  ContentFormat,
  ConversationStatus,
  Mode,
  Plan,
  Priority,
  Role,
  SecondFactorDemand,
  SenderRole,
} from '../protocol/entities.ts';

export interface MetaRow {
  key: string;
  value: string;
}

export interface OrganizationRow {
  id: string;
  slug: string;
  name: string;
  plan: Plan;
  /** Own numbers, null: what the plan says; retention -1: unlimited. */
  requests_per_minute: number | null;
  retention_days: number | null;
  /** What the tenant itself wants, within that: -1: as long as it may be. */
  own_retention_days: number | null;
  max_applications: number | null;
  max_seats: number | null;
  /** Bytes of files that were sent with messages. */
  max_file_bytes: number | null;
  /** Minutes until an absent operator's conversations go back to the queue; null: never. */
  release_after_minutes: number | null;
  /** Which members must show a second factor. */
  second_factor: SecondFactorDemand;
  /** JSON of the protocol's escalation: what is done when no member accepts. */
  escalation: string;
  plan_changed_at: number;
  created_at: number;
}

export interface ApplicationRow {
  id: string;
  organization_id: string;
  name: string;
  /** JSON of the protocol's applicationSettings. */
  settings: string;
  /** Sealed (services/secrets.ts). */
  identity_secret: Uint8Array;
  created_at: number;
}

export interface DomainRow {
  id: string;
  application_id: string;
  domain: string;
  created_at: number;
}

export interface ApiKeyRow {
  id: string;
  organization_id: string;
  application_id: string;
  mode: Mode;
  name: string;
  public_id: string;
  /** Keyed digest of the whole key: how it is found. */
  digest: Uint8Array;
  /** The key's text, sealed. */
  sealed: Uint8Array;
  created_at: number;
  last_used_at: number | null;
  expires_at: number | null;
  revoked_at: number | null;
}

export interface MemberRow {
  id: string;
  organization_id: string;
  email: string;
  name: string;
  role: Role;
  password_hash: string;
  disabled_at: number | null;
  created_at: number;
  /** The language of the dashboard, as a language tag; null: the browser's. */
  locale: string | null;
  /** IANA; null: the browser's. */
  timezone: string | null;
  /** What the member may put under an answer; empty: nothing. */
  signature: string;
  /** JSON of what the member has chosen of the protocol's notificationSettings. */
  notifications: string;
}

/** A browser that is sent pushes. */
export interface PushDeviceRow {
  id: string;
  organization_id: string;
  member_id: string;
  session_id: string;
  /** Keyed digest of the address. */
  endpoint_digest: Uint8Array;
  /** JSON of address and keys, sealed. */
  sealed: Uint8Array;
  host: string;
  label: string;
  /** The language that it is told in, as a language tag. */
  locale: string;
  /** The server's key that the browser was given. */
  key_id: string;
  created_at: number;
  last_sent_at: number | null;
  /** Why the last push did not arrive; null: it did, or there was none. */
  problem: string | null;
}

/** A link with which a forgotten password is replaced. */
export interface PasswordResetRow {
  /** Keyed digest of the link's token. */
  digest: Uint8Array;
  member_id: string;
  created_at: number;
  expires_at: number;
}

/** An answer that its member has not sent yet. */
export interface DraftRow {
  conversation_id: string;
  member_id: string;
  content: string;
  updated_at: number;
}

/** Where an application's widget was seen last. */
export interface ApplicationSightingRow {
  application_id: string;
  origin: string;
  seen_at: number;
}

/** A crawl of a site that an admin has begun. */
export interface CrawlRow {
  id: string;
  organization_id: string;
  application_id: string;
  url: string;
  max_pages: number;
  depth: number;
  below: 0 | 1;
  prune: 0 | 1;
  status: CrawlStatus;
  /** Why it failed or broke off; null: it did not. */
  problem: string | null;
  pages: number;
  added: number;
  updated: number;
  unchanged: number;
  skipped: number;
  failed: number;
  removed: number;
  /** Addresses that were found and not looked at; null: none that is known. */
  remaining: number | null;
  /** JSON array of `{url, problem}`. */
  problems: string;
  created_at: number;
  started_at: number | null;
  ended_at: number | null;
}

export interface StaffSessionRow {
  id: string;
  organization_id: string;
  member_id: string;
  digest: Uint8Array;
  created_at: number;
  last_seen_at: number;
  expires_at: number;
  /** A staff token's name; null: a session by sign-in. */
  name: string | null;
  /** JSON array of a staff token's scopes; null: everything that the member may do. */
  scopes: string | null;
  /** 1: a second factor was shown for it. */
  second_factor: 0 | 1;
  /** Where it was begun; null: on the command line. */
  address: string | null;
}

export interface MemberTotpRow {
  id: string;
  organization_id: string;
  member_id: string;
  /** The secret, sealed. */
  sealed: Uint8Array;
  /** The newest time step whose code was taken. */
  last_step: number;
  /** Null until a first code was right. */
  confirmed_at: number | null;
  created_at: number;
}

export interface RecoveryCodeRow {
  /** Keyed digest of the member's id and the code. */
  digest: Uint8Array;
  member_id: string;
}

export interface PasskeyRow {
  id: string;
  organization_id: string;
  member_id: string;
  name: string;
  /** What the authenticator calls it, in base64url. */
  credential_id: string;
  /** COSE, in base64url. */
  public_key: string;
  /** The newest count of signatures that the authenticator gave; 0: it does not count. */
  counter: number;
  /** How a browser reaches the authenticator, separated by blanks. */
  transports: string;
  created_at: number;
  last_used_at: number | null;
}

/** A passkey that an authenticator was asked to make. */
export interface PasskeyRegistrationRow {
  member_id: string;
  session_id: string;
  challenge: string;
  expires_at: number;
}

/** A right password that waits for the second factor. */
export interface SignInTicketRow {
  digest: Uint8Array;
  member_id: string;
  /** Keyed digest of the address that knew the password. */
  address: Uint8Array;
  tries: number;
  expires_at: number;
}

export interface VisitorRow {
  /** Internal key: the same UUID under another application or mode is another person. */
  id: string;
  /** The X-Visitor-Id, lower case. */
  visitor_id: string;
  organization_id: string;
  application_id: string;
  mode: Mode;
  name: string | null;
  email: string | null;
  verified: 0 | 1;
  /** Which of name, email and attributes were verified, with commas between. */
  verified_fields: string;
  attributes: string;
  created_at: number;
  /** Keyed digest of the address from which they wrote last; null: by API key only. */
  address_digest: Uint8Array | null;
}

export interface VisitorBlockRow {
  id: string;
  organization_id: string;
  /** VisitorRow.id */
  visitor_key: string;
  /** Null: until it is lifted. */
  expires_at: number | null;
  /** The member who did it. */
  created_by: string;
  created_at: number;
}

/** A block with whom it concerns. */
export interface VisitorBlockWithVisitor
  extends VisitorBlockRow, Pick<VisitorRow, 'visitor_id' | 'application_id' | 'mode' | 'name'> {}

export interface AddressBlockRow {
  id: string;
  organization_id: string;
  /** Keyed digest of the address. */
  digest: Uint8Array;
  /** The visitor with whom it was blocked; null: by itself. */
  visitor_key: string | null;
  expires_at: number;
  created_by: string;
  created_at: number;
}

export interface ConversationRow {
  id: string;
  organization_id: string;
  application_id: string;
  /** VisitorRow.id */
  visitor_key: string;
  mode: Mode;
  status: ConversationStatus;
  subject: string | null;
  assigned_to: string | null;
  resolved_by: string | null;
  resolved_at: number | null;
  /** Rises with every message, edit and deletion: the one order of this conversation. */
  last_seq: number;
  /** Since when the visitor has been waiting for staff; null: not waiting. */
  waiting_since: number | null;
  first_response_at: number | null;
  idempotency_key: string | null;
  /** Since when the assistant writes nothing here: a person was asked for, or it gave up. Null: it may. */
  assistant_muted_at: number | null;
  priority: Priority;
  /** Until when it is left out of the queue; null: it is in it. */
  snoozed_until: number | null;
  /** The number of the visitor's newest message that still exists; 0: there is none. */
  last_visitor_seq: number;
  /** How it was begun; null: in the chat. */
  channel: 'email' | null;
  /** The closed conversation that it goes on with. */
  continues: string | null;
  /** Since when the visitor wants no mails of it; null: they may go. */
  mail_stopped_at: number | null;
  created_at: number;
  updated_at: number;
}

export interface TagRow {
  id: string;
  organization_id: string;
  name: string;
  /** The name in lower case: once per organization. */
  folded: string;
  created_at: number;
}

export interface ConversationTagRow {
  conversation_id: string;
  tag_id: string;
}

export interface ViewRow {
  id: string;
  organization_id: string;
  name: string;
  /** 1: for every member; 0: for its maker alone. */
  shared: 0 | 1;
  /** JSON of the protocol's viewQuery. */
  query: string;
  created_by: string;
  created_at: number;
  updated_at: number;
}

export interface ParticipantRow {
  conversation_id: string;
  user_id: string;
  role: 'visitor' | 'operator';
  joined_at: number;
  /** Set when an operator leaves; the row stays for its read position. */
  left_at: number | null;
  last_read_message_id: string | null;
  last_read_seq: number;
}

export interface MessageRow {
  id: string;
  conversation_id: string;
  organization_id: string;
  seq: number;
  /** The conversation's seq at the last edit or deletion; equals `seq` before any. */
  changed_seq: number;
  sender_id: string;
  sender_role: SenderRole;
  /** Only for the assistant and the system, whose names are in no other row. */
  sender_label: string | null;
  content: string;
  content_format: ContentFormat;
  content_html: string | null;
  /** Readable text of a lexical message, for search and previews; null: the content is the text. */
  content_text: string | null;
  internal: 0 | 1;
  /** JSON: an array of AiChoice that an assistant's message offers. */
  choices: string | null;
  /** The passage that a visitor's message chooses. */
  choice: string | null;
  /** JSON: an array of StoredAttachment; null: none. */
  attachments: string | null;
  client_message_id: string | null;
  created_at: number;
  edited_at: number | null;
  deleted_at: number | null;
  /** How it came in; null: by the chat. */
  via: 'email' | null;
  /** The Message-ID of the mail that it came in by, without angle brackets. */
  mail_id: string | null;
  /** How the mail stands by which it goes to its visitor; null: by none. */
  emailed: 'queued' | 'sent' | 'bounced' | null;
  emailed_at: number | null;
}

/** A file that was sent, or waits for its message. */
export interface FileRow {
  id: string;
  organization_id: string;
  /** Who may send it: VisitorRow.id, or a member's id. */
  uploader: string;
  /** VisitorRow.id; null: a member's. */
  visitor_key: string | null;
  /** null: it waits to be sent. */
  message_id: string | null;
  /** Its name in the store. */
  object: string;
  name: string;
  /** The media type that its bytes have. */
  type: string;
  size: number;
  /** Of a picture, as it is shown. */
  width: number | null;
  height: number | null;
  /** SHA-256 of the stored bytes, in hex. */
  digest: string;
  /** `scanning`: it can't be sent before the scanner has looked at it. */
  state: 'ready' | 'scanning';
  idempotency_key: string | null;
  created_at: number;
}

/** How much of an organization is stored. */
export interface FileTotalsRow {
  organization_id: string;
  files: number;
  bytes: number;
}

/** An object of the store that is to go. */
export interface FileRemovalRow {
  object: string;
  due_at: number;
  attempts: number;
  /** Why the last attempt failed; null: none has. */
  error: string | null;
}

/** Who hears an event. `room` is everyone joined; `room_staff` only staff joined; `staff` all staff of the organization. */
export type Audience = 'staff' | 'room' | 'room_staff' | 'staff_and_room';

/** The event types that are rows; typing and presence pass without one. */
export type LoggedEventType =
  | 'message:new'
  | 'message:edited'
  | 'message:deleted'
  | 'message:emailed'
  | 'conversation:new'
  | 'conversation:accepted'
  | 'conversation:released'
  | 'conversation:resolved'
  | 'conversation:reopened'
  | 'conversation:changed'
  | 'conversation:read';

/** The event types that webhooks are told of. */
export type ToldEventType = Exclude<LoggedEventType, 'message:emailed'>;

export interface EventRow {
  seq: number;
  organization_id: string;
  conversation_id: string;
  mode: Mode;
  type: LoggedEventType;
  audience: Audience;
  /** Who caused it (visitor UUID or member id). */
  actor_id: string;
  /** The message it speaks of: its text is loaded from there, never kept here. */
  message_id: string | null;
  /** The member it speaks of: the new assignee of an accepted conversation. */
  member_id: string | null;
  created_at: number;
}

export interface CannedReplyRow {
  id: string;
  organization_id: string;
  shortcut: string;
  content: string;
  content_format: ContentFormat;
  content_html: string | null;
  created_at: number;
  updated_at: number;
}

export interface InvitationRow {
  member_id: string;
  /** Keyed digest of the link's token. */
  digest: Uint8Array;
  expires_at: number;
}

/** A message that the search index does not hold as it is now. */
export type UnindexedMessage = Pick<MessageRow, 'id' | 'organization_id' | 'conversation_id'>;

export interface AuditRow {
  id: string;
  organization_id: string | null;
  actor: string;
  action: string;
  subject: string;
  detail: string;
  address: string | null;
  created_at: number;
}

export interface WebhookRow {
  id: string;
  organization_id: string;
  url: string;
  /** JSON array of event types; null: all. */
  events: string | null;
  /** The signing secret, sealed. */
  sealed: Uint8Array;
  /** The secret before the last rotation, sealed; null: there is none. */
  previous_sealed: Uint8Array | null;
  /** Until when the previous secret signs too. */
  previous_until: number | null;
  enabled: 0 | 1;
  /** The event log up to here has been turned into deliveries. */
  position: number;
  created_at: number;
}

export interface WebhookDeliveryRow {
  /** Also the header webhook-id. */
  id: string;
  webhook_id: string;
  type: ToldEventType | 'webhook:test';
  /** Columns of the event that it tells: the log forgets sooner. Null for a test. */
  event_seq: number | null;
  event_at: number;
  conversation_id: string | null;
  actor_id: string | null;
  message_id: string | null;
  member_id: string | null;
  /** 1: waits for the earlier ones of its conversation, and the later ones wait for it. */
  in_turn: 0 | 1;
  status: 'waiting' | 'delivered' | 'failed' | 'skipped';
  attempts: number;
  /** Null while it waits for its turn, and when it is over. */
  next_attempt_at: number | null;
  give_up_at: number;
  last_attempt_at: number | null;
  duration_ms: number | null;
  response_status: number | null;
  error: string | null;
  created_at: number;
}

/** Something that is to be sent: a row of the outbox. */
export interface EffectRow {
  id: string;
  organization_id: string;
  /** By what it is sent: `mail`, `push`. */
  kind: string;
  /** What it is the effect of: once per organization and kind. */
  key: string;
  /** What it is, for people and for the one that sends it: `reply`, `transcript`. */
  about: string;
  conversation_id: string | null;
  message_id: string | null;
  /** The member whom it concerns. */
  member_id: string | null;
  /** To whom it goes, as an admin may see it. */
  recipient: string | null;
  /** JSON; holds no text of a message. */
  payload: string;
  /** What has no row of its own, sealed; null: nothing, or it was sent. */
  sealed: Uint8Array | null;
  state: 'waiting' | 'delivered' | 'failed' | 'skipped';
  attempts: number;
  /** When it may be sent; null when it is over. */
  due_at: number | null;
  give_up_at: number;
  last_attempt_at: number | null;
  duration_ms: number | null;
  /** Why the last attempt failed, or why there was nothing to send. */
  error: string | null;
  created_at: number;
}

/** An address that takes no mails of an organization. */
export interface MailAddressRow {
  organization_id: string;
  /** Keyed digest of the address. */
  digest: Uint8Array;
  /** The person said so, or mails came back. */
  state: 'stopped' | 'bounced';
  created_at: number;
}

/** An organization's own mail server. */
export interface MailSettingsRow {
  organization_id: string;
  /** The server's address with its password, sealed. */
  sealed: Uint8Array;
  /** Its name and port, to be shown. */
  host: string;
  /** The address that mails come from, and whose plus-addresses lead back here. */
  address: string;
  updated_at: number;
}

/** The key under which mails for an application are handed in. */
export interface MailKeyRow {
  application_id: string;
  organization_id: string;
  /** Keyed digest of the whole key: how it is found. */
  digest: Uint8Array;
  created_at: number;
}

export interface KnowledgeDocumentRow {
  id: string;
  organization_id: string;
  application_id: string;
  /** What it was made from; once per application. */
  source: string;
  title: string;
  url: string | null;
  format: KnowledgeFormat;
  /** As it was handed in, so that passages can be cut anew. */
  content: string;
  /** By which version of the chunker its passages were made, negative while that version makes them; 0: not cut yet. */
  edition: number;
  created_at: number;
  updated_at: number;
}

export interface KnowledgePassageRow {
  /** The row of the full-text index. */
  row: number;
  id: string;
  document_id: string;
  application_id: string;
  position: number;
  heading: string | null;
  anchor: string | null;
  text: string;
  /** 32-bit floats; null: none yet. */
  embedding: Uint8Array | null;
  embedding_model: string | null;
}

export interface KnowledgeSynonymsRow {
  application_id: string;
  /** JSON: an array of arrays of words. */
  synonyms: string;
}

/** A question that a person kept with the passages under a heading of a document. */
export interface KnowledgeQuestionRow {
  id: string;
  application_id: string;
  document_id: string;
  heading: string | null;
  question: string;
  created_at: number;
}

export interface AiLogRow {
  /** For an automatic answer, the id of the visitor's message. */
  id: string;
  organization_id: string;
  /** null: a text of no application was rewritten. */
  application_id: string | null;
  /** VisitorRow.id of the visitor whose question or conversation it was; null: of no visitor. */
  visitor_key: string | null;
  conversation_id: string | null;
  mode: Mode;
  door: AiLogEntry['door'];
  actor: string;
  question: string;
  answer: string | null;
  outcome: AiLogEntry['outcome'];
  /** JSON: an array of AnswerSource. */
  sources: string;
  model: string | null;
  duration_ms: number;
  created_at: number;
  /** The passage that the visitor chose after this question. */
  chosen: string | null;
  /** When a person dealt with a question that had no answer. */
  settled_at: number | null;
}

// Rows as the queries join them.

/** A conversation with its visitor's UUID and name. */
export interface ConversationWithVisitor extends ConversationRow {
  visitor_id: string;
  visitor_name: string | null;
}

/** A message with the present name of its sender. */
export interface MessageWithSender extends MessageRow {
  visitor_name: string | null;
  member_name: string | null;
}

/** A line of the operators' queue without what is long; the `message_` columns are null where there is no message. */
export interface QueueLine extends ConversationWithVisitor {
  visitor_email: string | null;
  visitor_verified: 0 | 1;
  visitor_verified_fields: string;
  visitor_created_at: number;
  application_name: string;
  assignee_name: string | null;
  message_id: string | null;
  message_sender_id: string | null;
  message_sender_role: SenderRole | null;
  message_sender_label: string | null;
  message_sender_name: string | null;
  message_content: string | null;
  message_content_text: string | null;
  message_internal: 0 | 1 | null;
  message_created_at: number | null;
  /** Whether the reader has messages of the visitor still to read: by position, as the filter asks it. */
  unread: 0 | 1;
  /** How many, among the newest messages. */
  unread_count: number | null;
  /** The names of its tags, by their folded names. */
  tags: readonly string[];
}

/** A line of the operators' queue. */
export interface QueueRow extends QueueLine {
  visitor_attributes: string;
}

// What the queries of retention take.

/** One organization's data of one kind, older than a time (ms). */
export interface RetentionScope {
  readonly organization_id: string;
  /** null: all applications of the organization. */
  readonly application_id: string | null;
  readonly mode: Mode;
  readonly cutoff: number;
}

/** Where a walk by age stands: everything up to this row has been looked at. */
export interface RetentionCursor {
  readonly created_at: number;
  readonly id: string;
}

/** A document as lists show it: without its content, with how many passages it has. */
export type ListedDocument = Omit<KnowledgeDocumentRow, 'content'> & { passages: number };

/** Terms of a passage, in the order in which they stand in it. */
export interface PassageTerms {
  /** Of the document's title and the headings above the passage. */
  readonly heading: readonly string[];
  readonly text: readonly string[];
}

/** A passage with what an answer says about where it comes from, and its words as the index has them. */
export interface KnowledgeCandidate {
  row: number;
  id: string;
  document_id: string;
  heading: string | null;
  anchor: string | null;
  text: string;
  title: string;
  url: string | null;
  /** What its document is called by the one who added it; a kept reply's begins with a word of its own. */
  source: string;
  /** As the index has them. */
  terms: PassageTerms;
}
