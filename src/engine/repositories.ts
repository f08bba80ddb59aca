// The queries that rules may ask for, by table. Every method reads or writes inside the transaction it was reached
// through. A method that changes rows answers how many it changed; "0 when …" is then part of its contract, and the
// caller looks at it. Times are ms since the epoch, limits and offsets count rows. Text is compared and
// ordered byte by byte.
import type { ConversationStatus, Mode } from '../protocol/entities.ts';
import type {
  AddressBlockRow,
  AiLogRow,
  ApiKeyRow,
  ApplicationRow,
  AuditRow,
  CannedReplyRow,
  ConversationRow,
  ConversationWithVisitor,
  DomainRow,
  EventRow,
  InvitationRow,
  KnowledgeCandidate,
  KnowledgeDocumentRow,
  KnowledgePassageRow,
  KnowledgeQuestionRow,
  ListedDocument,
  MemberRow,
  MemberTotpRow,
  MessageRow,
  MessageWithSender,
  OrganizationRow,
  ParticipantRow,
  PasskeyRegistrationRow,
  PasskeyRow,
  PassageTerms,
  QueueRow,
  RetentionCursor,
  RetentionScope,
  SignInTicketRow,
  StaffSessionRow,
  UnindexedMessage,
  VisitorBlockRow,
  VisitorBlockWithVisitor,
  VisitorRow,
  WebhookDeliveryRow,
  WebhookRow,
} from './rows.ts';

/** Facts about the database itself, by key. */
export interface MetaRepository {
  /** The value under a key, or undefined. */
  get(key: string): Promise<string | undefined>;
  set(key: string, value: string): Promise<number>;
  /** Sets a value in place of another; 0 when the key has another value by now, or none. */
  replace(key: string, expected: string, value: string): Promise<number>;
  /** 0 when there is none. */
  remove(key: string): Promise<number>;
}

export interface OrganizationsRepository {
  byId(id: string): Promise<OrganizationRow | undefined>;
  bySlug(slug: string): Promise<OrganizationRow | undefined>;
  /** All of them, by slug. */
  list(): Promise<OrganizationRow[]>;
  insert(row: OrganizationRow): Promise<number>;
  setPlan(values: Pick<OrganizationRow, 'id' | 'plan' | 'plan_changed_at'>): Promise<number>;
  /** Sets its own limits; null: the plan's. */
  setLimits(
    values: Pick<
      OrganizationRow,
      'id' | 'requests_per_minute' | 'retention_days' | 'max_applications' | 'max_seats'
    >,
  ): Promise<number>;
  setName(id: string, name: string): Promise<number>;
  setReleaseAfter(id: string, minutes: number | null): Promise<number>;
  setSecondFactor(id: string, demand: OrganizationRow['second_factor']): Promise<number>;
  /** Removes the organization and all it owns but its events; 0 when there is none. The newest event of the log stays, without content. */
  remove(id: string): Promise<number>;
  /** How many applications and enabled members it has. */
  counts(id: string): Promise<{ applications: number; members: number }>;
  /** Its conversations of a mode, oldest first. */
  conversations(
    id: string,
    mode: Mode,
    cursor: RetentionCursor,
    limit: number,
  ): Promise<Pick<ConversationRow, 'id' | 'created_at' | 'visitor_key'>[]>;
  /**
   * Looks at the next messages of a conversation: up to which number (null: there is none), how many of them were made
   * between two times, and the bytes of text that all of them keep.
   */
  messageUsage(
    conversationId: string,
    from: number,
    to: number,
    after: number,
    limit: number,
  ): Promise<{ last: number | null; messages: number; storage: number }>;
}

export interface ApplicationsRepository {
  byId(id: string): Promise<ApplicationRow | undefined>;
  /** In the order in which they were made. */
  byOrganization(organizationId: string): Promise<ApplicationRow[]>;
  insert(row: ApplicationRow): Promise<number>;
  setSettings(id: string, settings: string): Promise<number>;
  setName(id: string, name: string): Promise<number>;
  setIdentitySecret(id: string, sealed: Uint8Array): Promise<number>;
  /** Removes it with its domains, keys, visitors, conversations and documents. */
  remove(id: string): Promise<number>;
  /** In the order in which they were added. */
  domains(applicationId: string): Promise<DomainRow[]>;
  /** Every domain of every application, each once: what a preflight, which names no application, is compared with. */
  allDomains(): Promise<string[]>;
  /** 0 when the application has it already. */
  insertDomain(row: DomainRow): Promise<number>;
  /** 0 when there is none. */
  removeDomain(applicationId: string, domain: string): Promise<number>;
}

export interface ApiKeysRepository {
  byDigest(digest: Uint8Array): Promise<ApiKeyRow | undefined>;
  byId(id: string): Promise<ApiKeyRow | undefined>;
  /** In the order in which they were made. */
  byApplication(applicationId: string): Promise<ApiKeyRow[]>;
  insert(row: ApiKeyRow): Promise<number>;
  setExpiry(id: string, expiresAt: number): Promise<number>;
  /** 0 when it was revoked already. */
  setRevoked(id: string, revokedAt: number): Promise<number>;
  setLastUsed(id: string, lastUsedAt: number): Promise<number>;
}

export interface MembersRepository {
  byId(id: string): Promise<MemberRow | undefined>;
  byEmail(organizationId: string, email: string): Promise<MemberRow | undefined>;
  /** In the order in which they were added. */
  byOrganization(organizationId: string): Promise<MemberRow[]>;
  insert(row: MemberRow): Promise<number>;
  setRole(id: string, role: MemberRow['role']): Promise<number>;
  setPassword(id: string, passwordHash: string): Promise<number>;
  setDisabled(id: string, disabledAt: number | null): Promise<number>;
  remove(id: string): Promise<number>;
  /** How many enabled admins an organization has besides this member, those with a certain hash left out. */
  otherAdmins(organizationId: string, id: string, exceptHash: string): Promise<number>;
  sessionByDigest(digest: Uint8Array): Promise<StaffSessionRow | undefined>;
  sessionById(id: string): Promise<StaffSessionRow | undefined>;
  insertSession(row: StaffSessionRow): Promise<number>;
  touchSession(id: string, lastSeenAt: number, expiresAt: number): Promise<number>;
  removeSession(id: string): Promise<number>;
  /** Ends every session, token and half-way sign-in of a member. */
  removeSessionsOf(memberId: string): Promise<number>;
  /** Sessions and tokens of a member, newest first. */
  sessionsOf(memberId: string): Promise<StaffSessionRow[]>;
  /** Ends every session and half-way sign-in of a member but one session, null: without exception; tokens stay. */
  removeOtherSessionsOf(memberId: string, sessionId: string | null): Promise<number>;
  setSecondFactorShown(sessionId: string): Promise<number>;
  clearSecondFactorShown(memberId: string): Promise<number>;
  removeExpiredSessions(now: number): Promise<number>;
}

/** What naming a visitor changes. */
export type NamedVisitor = Pick<
  VisitorRow,
  'id' | 'name' | 'email' | 'verified' | 'verified_fields' | 'attributes'
>;

export interface VisitorsRepository {
  byVisitorId(applicationId: string, mode: Mode, visitorId: string): Promise<VisitorRow | undefined>;
  /** Whether there is one with this internal key. */
  has(id: string): Promise<boolean>;
  insert(row: VisitorRow): Promise<number>;
  identify(values: NamedVisitor): Promise<number>;
  setAddressDigest(id: string, digest: Uint8Array): Promise<number>;
}

/** What the operators' queue shows. */
export interface ConversationFilter {
  readonly organizationId: string;
  /** Left out: both. */
  readonly mode?: Mode | undefined;
  /** A conversation: those of the same visitor. */
  readonly visitorOf?: string | undefined;
  readonly status?: ConversationStatus | undefined;
  /** A member's id, or null for conversations that are assigned to no member. */
  readonly assignedTo?: string | null | undefined;
  readonly applicationId?: string | undefined;
  /** Occurs in the subject, or in the visitor's name or address, whatever the case of ASCII letters … */
  readonly text?: string | undefined;
  /** … or in a message: the conversations that the search index has found for it. */
  readonly matching: readonly string[];
  /** One conversation only. */
  readonly id?: string | undefined;
}

/** What takes a conversation a step on. */
export type ConversationStep = 'visitor' | 'operator' | 'other' | 'note';

export interface ConversationsRepository {
  /** The conversation with its visitor's UUID and name. */
  byId(id: string): Promise<ConversationWithVisitor | undefined>;
  /** The id of the visitor's conversation that was opened with this key. */
  byIdempotencyKey(visitorKey: string, key: string): Promise<string | undefined>;
  countPending(visitorKey: string): Promise<number>;
  /** Most recently updated first. */
  ofVisitor(visitorKey: string, limit: number, offset: number): Promise<ConversationRow[]>;
  countOfVisitor(visitorKey: string): Promise<number>;
  insert(row: ConversationRow): Promise<number>;
  /**
   * Takes the next sequence number and records what the step changes: a visitor's message starts the waiting time,
   * an operator's ends it; 'note' changes nothing else, 'other' only when the conversation was last updated.
   * @throws Error when there is no such conversation
   */
  advance(
    id: string,
    by: ConversationStep,
    now: number,
  ): Promise<Pick<ConversationRow, 'last_seq' | 'waiting_since' | 'first_response_at' | 'updated_at'>>;
  /** pending → active; 0 when it is no longer pending. */
  accept(id: string, memberId: string, now: number): Promise<number>;
  /** The assistant writes nothing more; 0 when it was so already. */
  muteAssistant(id: string, now: number): Promise<number>;
  /** active → pending; 0 when it is no longer active and assigned to this member. */
  release(id: string, assignedTo: string, now: number): Promise<number>;
  /** pending or active → closed; 0 when status or assignee are no longer those of `from`. */
  resolve(
    from: Pick<ConversationRow, 'id' | 'status' | 'assigned_to'>,
    memberId: string,
    now: number,
  ): Promise<number>;
  /** Another assignee; 0 when it is no longer active and assigned to `from`. */
  transfer(id: string, from: string, to: string, now: number): Promise<number>;
  /** The ids of the active conversations that a member has. */
  assignedTo(organizationId: string, memberId: string): Promise<string[]>;
  /** Members with active conversations in organizations that release those of absent ones. */
  holders(): Promise<{ organization_id: string; member_id: string; release_after_minutes: number }[]>;
  /** The queue: waiting longest first among pending ones, then the others, most recently updated first. */
  queue(filter: ConversationFilter, readerId: string, limit: number, offset: number): Promise<QueueRow[]>;
  countQueue(filter: ConversationFilter): Promise<number>;
  /** One conversation as the queue shows it. */
  queueItem(organizationId: string, id: string, readerId: string): Promise<QueueRow | undefined>;
}

export interface ParticipantsRepository {
  get(conversationId: string, userId: string): Promise<ParticipantRow | undefined>;
  /** Those who take part now: the visitor first, then staff in the order in which they joined. */
  present(conversationId: string): Promise<ParticipantRow[]>;
  /** Joins, or joins again; `left_at` set from the start records a reader who never took part. */
  join(
    values: Pick<ParticipantRow, 'conversation_id' | 'user_id' | 'role' | 'joined_at' | 'left_at'>,
  ): Promise<number>;
  leave(conversationId: string, userId: string, now: number): Promise<number>;
  /** Moves a read position forward; 0 when it is there or further already. */
  read(values: {
    conversation_id: string;
    user_id: string;
    message_id: string;
    seq: number;
  }): Promise<number>;
}

/** A page of a conversation's messages. */
export interface HistoryFilter {
  readonly conversationId: string;
  /** Whether internal notes are among them. */
  readonly notes: boolean;
  readonly order: 'asc' | 'desc';
  /** Only messages after, or before, this sequence number. */
  readonly afterSeq?: number | undefined;
  readonly beforeSeq?: number | undefined;
  readonly limit: number;
  readonly offset: number;
}

export interface MessagesRepository {
  /** Also a deleted one: its row stays, without text. */
  byId(id: string): Promise<MessageWithSender | undefined>;
  byClientId(
    conversationId: string,
    senderId: string,
    clientMessageId: string,
  ): Promise<MessageWithSender | undefined>;
  /** 0 when its sender has one with the same client id in this conversation. */
  insert(row: MessageRow): Promise<number>;
  edit(
    values: Pick<
      MessageRow,
      'id' | 'changed_seq' | 'content' | 'content_format' | 'content_html' | 'content_text' | 'edited_at'
    >,
  ): Promise<number>;
  /** Takes the text out of a message, and its words out of the search index; 0 when it was deleted already. */
  remove(id: string, changedSeq: number, now: number): Promise<number>;
  /** A page of what still exists. */
  page(filter: HistoryFilter): Promise<MessageWithSender[]>;
  /** How many messages from staff or the assistant come after a position, as the visitor sees them. */
  unreadByVisitor(conversationId: string, seq: number): Promise<number>;
  /** Messages up to a position that were edited or deleted after it was written. */
  changedSince(conversationId: string, seq: number, notes: boolean): Promise<MessageWithSender[]>;
}

/** The event log. Its numbers rise without gaps in the order of the commits, and none is ever given twice. */
export interface EventsRepository {
  /** At most `limit` rows after a number, oldest first. */
  after(seq: number, limit: number): Promise<EventRow[]>;
  /** The newest number, 0 for an empty log. */
  lastSeq(): Promise<number>;
  /** Looks at the oldest `limit` rows and removes those made before a time, but never the newest of all. */
  prune(before: number, limit: number): Promise<number>;
  /** Removes the events of a visitor's conversations with a number above `after` and up to `through`; not the newest of the log. */
  removeOfVisitor(visitorKey: string, after: number, through: number): Promise<number>;
  /** The same of an organization. */
  removeOfOrganization(organizationId: string, after: number, through: number): Promise<number>;
}

export interface AuditRepository {
  insert(row: AuditRow): Promise<number>;
  /** Newest first. */
  byOrganization(organizationId: string, limit: number, offset: number): Promise<AuditRow[]>;
  /** Of all organizations and of none, newest first. */
  everything(limit: number, offset: number): Promise<AuditRow[]>;
  /** How many rows an organization has; null: all there are. */
  count(organizationId: string | null): Promise<number>;
  /** Whether something was done to an organization after a time. */
  has(organizationId: string, action: string, after: number): Promise<boolean>;
  /** Removes at most `limit` rows of an organization that itself is removed. */
  removeOfOrganization(organizationId: string, limit: number): Promise<number>;
  /** How many rows are older than a time. */
  countOld(before: number): Promise<number>;
  /** Removes rows that are older than a time, at most so many, the oldest first. */
  removeOld(before: number, most: number): Promise<number>;
}

export interface RetentionRepository {
  /** Conversations begun before the window, oldest first, and whether each is removed as a whole. */
  candidates(
    scope: RetentionScope,
    cursor: RetentionCursor,
    limit: number,
  ): Promise<{ created_at: number; id: string; goes: number }[]>;
  /** Looks at the next messages of a conversation: how many, up to which number, and how many are before the window. */
  oldMessages(
    conversationId: string,
    cutoff: number,
    after: number,
    limit: number,
  ): Promise<{ looked: number; last: number | null; old: number }>;
  /** Removes messages older than the window, of those with a number above `after` and up to `upTo`. */
  removeMessages(conversationId: string, cutoff: number, after: number, upTo: number): Promise<number>;
  /** Removes a conversation that has no message left and was silent for the whole window; 0 when it was not. */
  removeConversation(id: string, cutoff: number): Promise<number>;
  /** Visitors from before the window, oldest first, and whether no conversation of theirs stays. */
  visitors(
    scope: RetentionScope,
    cursor: RetentionCursor,
    limit: number,
  ): Promise<{ created_at: number; id: string; goes: number }[]>;
  /** Removes a visitor without conversations and questions to the assistant; 0 when there is one. */
  removeVisitor(id: string): Promise<number>;
  countConversations(organizationId: string, mode: Mode): Promise<number>;
  /** When the newest row was made; null for a database without any. */
  newestTime(): Promise<number | null>;
}

/** Which visitors are meant by a UUID. */
export interface VisitorFilter {
  /** The X-Visitor-Id. */
  readonly visitorId: string;
  /** null: of every organization. */
  readonly organizationId: string | null;
  readonly applicationId?: string | undefined;
  readonly mode?: Mode | undefined;
}

export interface VisitorDataRepository {
  /** Every visitor with this UUID: the same one under another application or mode is another person. */
  find(filter: VisitorFilter): Promise<VisitorRow[]>;
  /** Oldest first. */
  conversations(visitorKey: string): Promise<ConversationRow[]>;
  /** How many internal notes are in the visitor's conversations. */
  countNotes(visitorKey: string): Promise<number>;
  /** What the audit log says about a subject, oldest first. */
  access(subject: string): Promise<AuditRow[]>;
  /** Removes at most `limit` messages of the visitor's conversations. */
  removeMessages(visitorKey: string, limit: number): Promise<number>;
  /** Removes at most `limit` deliveries to webhooks of what happened in the visitor's conversations. */
  removeDeliveries(visitorKey: string, limit: number): Promise<number>;
  /** Removes at most `limit` of the visitor's conversations. The newest event of the log stays, without content. */
  removeConversations(visitorKey: string, limit: number): Promise<number>;
  /** Removes the visitor with every row that refers to it; 0 when there is none. */
  remove(visitorKey: string): Promise<number>;
  /** How many visitors have ever been erased, as text: live connections prove themselves again when it has changed. */
  erasures(): Promise<string>;
  countErasure(): Promise<number>;
}

/** A row as it lies in its table, by column. */
export type AnyRow = Readonly<Record<string, unknown>>;

/** How a table's rows belong to an organization: by a column of their own, or by a row of another table. */
export interface ExportedTable {
  readonly name: string;
  readonly owner: 'id' | 'organization_id' | { readonly column: string; readonly table: string };
  /** Columns that name rows of other exported tables: they must have arrived before. */
  readonly references: Readonly<Record<string, string>>;
}

/** Carries one organization's rows out of a database and into another, of any engine with the same schema. */
export interface TransferRepository {
  /** Parents before children: the order in which rows must arrive. */
  readonly tables: readonly ExportedTable[];
  /** The number of the schema. */
  schema(): Promise<number>;
  /**
   * Rows of one table that belong to an organization, in an order that stays.
   * @param after where the page begins: null, or `next` of the page before
   * @returns `next` null: this was the last page
   */
  page(
    table: ExportedTable,
    organizationId: string,
    after: AnyRow | null,
    limit: number,
  ): Promise<{ rows: AnyRow[]; next: AnyRow | null }>;
  /** The columns of a table. */
  columns(table: string): Promise<string[]>;
  /**
   * Puts a row into its table; 0 when there is one like it, by id or by what must be unique.
   * @param columns all columns of the table
   */
  insert(table: string, columns: readonly string[], row: AnyRow): Promise<number>;
}

/** What rotating a webhook's secret changes. */
export type WebhookSecrets = Pick<WebhookRow, 'id' | 'sealed' | 'previous_sealed' | 'previous_until'>;

export interface WebhooksRepository {
  insert(row: WebhookRow): Promise<number>;
  byId(id: string): Promise<WebhookRow | undefined>;
  /** In the order in which they were made. */
  byOrganization(organizationId: string, limit: number, offset: number): Promise<WebhookRow[]>;
  count(organizationId: string): Promise<number>;
  /** Those of all organizations that are switched on. */
  enabled(): Promise<WebhookRow[]>;
  update(row: Pick<WebhookRow, 'id' | 'url' | 'events' | 'enabled' | 'position'>): Promise<number>;
  setSecrets(row: WebhookSecrets): Promise<number>;
  /** Removes previous secrets whose time was over before `now`. */
  removeExpiredSecrets(now: number): Promise<number>;
  /** Moves forward only; 0 when it is there or further already. */
  setPosition(id: string, position: number): Promise<number>;
  /** 0 when it was disabled already. */
  disable(id: string): Promise<number>;
  remove(id: string): Promise<number>;

  /** 0 when this webhook has that event already. */
  insertDelivery(row: WebhookDeliveryRow): Promise<number>;
  delivery(id: string): Promise<WebhookDeliveryRow | undefined>;
  /** The id of the earliest delivery that waits in a conversation, or undefined. */
  nextInTurn(webhookId: string, conversationId: string): Promise<string | undefined>;
  /** What may be attempted at `now`, longest due first, tests before events; a time beyond `latest` can't have been meant and is due too. */
  due(webhookId: string, now: number, latest: number, limit: number): Promise<WebhookDeliveryRow[]>;
  /** When the next attempt after `now` is due, or null. */
  nextDue(webhookId: string, now: number): Promise<number | null>;
  setDelivery(row: WebhookDeliveryRow): Promise<number>;
  /** 0 when it waits no more. */
  setNextAttempt(id: string, at: number): Promise<number>;
  /** Everything that waits for a later attempt is due now. */
  hasten(webhookId: string, now: number): Promise<number>;
  /** Newest first; of those made in the same ms, tests (which have no event) last. @param status left out: all */
  deliveries(
    webhookId: string,
    status: WebhookDeliveryRow['status'] | undefined,
    limit: number,
    offset: number,
  ): Promise<WebhookDeliveryRow[]>;
  countDeliveries(webhookId: string, status: WebhookDeliveryRow['status'] | undefined): Promise<number>;
  /** Removes at most `limit` rows of what waits no more and was made before a time. */
  prune(before: number, limit: number): Promise<number>;
  /** Removes at most `limit` deliveries of a webhook. */
  removeDeliveries(webhookId: string, limit: number): Promise<number>;
  /** Removes at most `limit` deliveries of what happened in a conversation. */
  removeDeliveriesOfConversation(conversationId: string, limit: number): Promise<number>;
}

/** Words that are looked for: all of them must occur, and one that begins with `prefix`. */
export interface WordQuery {
  readonly words: readonly string[];
  readonly prefix: string;
}

/** The full-text index over messages. Words arrive cut and folded: the engine compares, and cuts nothing. */
export interface SearchRepository {
  /** Puts a message's words into the index, in place of those it had. */
  put(messageId: string, organizationId: string, words: readonly string[]): Promise<void>;
  has(messageId: string): Promise<boolean>;
  /** What of a message is to be found; undefined for one that was deleted. */
  textOf(messageId: string): Promise<string | undefined>;
  remove(messageId: string): Promise<number>;
  /** Messages after an id that the index does not have yet, by id. */
  unindexed(after: string, limit: number): Promise<UnindexedMessage[]>;
  /**
   * The conversations of an organization in which one of its newest 5,000 matching messages is; at most `limit`, in no
   * order. Takes as long for a word of another organization as for one that occurs nowhere.
   */
  conversations(query: WordQuery, organizationId: string, limit: number): Promise<string[]>;
}

export interface StatsRepository {
  /** Live conversations begun before `to`, oldest first; the first responder of those answered between the two times. */
  conversations(
    organizationId: string,
    from: number,
    to: number,
    cursor: RetentionCursor,
    limit: number,
  ): Promise<
    {
      id: string;
      application_id: string;
      created_at: number;
      first_response_at: number | null;
      first_responder: string | null;
      resolved_at: number | null;
      resolved_by: string | null;
    }[]
  >;
  /** The names of an organization's applications and members, by id. */
  names(organizationId: string): Promise<Map<string, string>>;
}

export interface InvitationsRepository {
  byDigest(digest: Uint8Array): Promise<InvitationRow | undefined>;
  /** A new invitation takes the place of an older one. */
  put(row: InvitationRow): Promise<number>;
  remove(memberId: string): Promise<number>;
}

/** Blocks of visitors, and of addresses by their keyed digest. */
export interface BlocksRepository {
  /** Of an organization, also those that are over. */
  visitors(organizationId: string): Promise<VisitorBlockWithVisitor[]>;
  /** Of an organization, also those that are over. */
  addresses(organizationId: string): Promise<AddressBlockRow[]>;
  /** Also one that is over. */
  ofVisitor(applicationId: string, mode: Mode, visitorId: string): Promise<VisitorBlockRow | undefined>;
  /** Also one that is over. */
  ofAddress(organizationId: string, digest: Uint8Array): Promise<AddressBlockRow | undefined>;
  /** Takes the place of an earlier block of the visitor. */
  putVisitor(row: VisitorBlockRow): Promise<number>;
  /** Takes the place of an earlier block of the address. */
  putAddress(row: AddressBlockRow): Promise<number>;
  /** Removes a visitor's block with the addresses that were blocked with them. */
  removeOfVisitor(visitorKey: string): Promise<number>;
  /** 0 when the organization has no such block. */
  remove(organizationId: string, id: string): Promise<number>;
  removeExpired(now: number): Promise<number>;
}

/** Secrets of authenticators, recovery codes, and sign-ins that wait for one of them. */
export interface SecondFactorsRepository {
  totpOf(memberId: string): Promise<MemberTotpRow | undefined>;
  /** A new secret takes the place of an older one. */
  putTotp(row: MemberTotpRow): Promise<number>;
  setLastStep(id: string, lastStep: number): Promise<number>;
  confirmTotp(id: string, now: number): Promise<number>;
  /** New recovery codes take the place of the older ones. */
  putRecoveryCodes(memberId: string, digests: readonly Uint8Array[]): Promise<void>;
  /** Uses a recovery code up; 0 when the member has no such code. */
  useRecoveryCode(memberId: string, digest: Uint8Array): Promise<number>;
  countRecoveryCodes(memberId: string): Promise<number>;
  removeTotp(memberId: string): Promise<number>;
  removeRecoveryCodes(memberId: string): Promise<number>;
  ticketByDigest(digest: Uint8Array): Promise<SignInTicketRow | undefined>;
  insertTicket(row: SignInTicketRow): Promise<number>;
  setTries(digest: Uint8Array, tries: number): Promise<number>;
  removeTicket(digest: Uint8Array): Promise<number>;
  removeExpiredTickets(now: number): Promise<number>;
}

/** Passkeys of members, and those that authenticators were asked to make. */
export interface PasskeysRepository {
  byId(id: string): Promise<PasskeyRow | undefined>;
  byCredentialId(credentialId: string): Promise<PasskeyRow | undefined>;
  /** Oldest first. */
  byMember(memberId: string): Promise<PasskeyRow[]>;
  count(memberId: string): Promise<number>;
  insert(row: PasskeyRow): Promise<number>;
  setName(id: string, name: string): Promise<number>;
  setUsed(id: string, counter: number, now: number): Promise<number>;
  remove(id: string): Promise<number>;
  removeAllOf(memberId: string): Promise<number>;
  /** A member has one at a time: the new one takes the place of an older one. */
  putRegistration(row: PasskeyRegistrationRow): Promise<number>;
  registrationOf(memberId: string): Promise<PasskeyRegistrationRow | undefined>;
  removeRegistration(memberId: string): Promise<number>;
  removeExpiredRegistrations(now: number): Promise<number>;
}

export interface CannedRepliesRepository {
  byId(id: string): Promise<CannedReplyRow | undefined>;
  byShortcut(organizationId: string, shortcut: string): Promise<CannedReplyRow | undefined>;
  /** By shortcut. */
  page(organizationId: string, limit: number, offset: number): Promise<CannedReplyRow[]>;
  count(organizationId: string): Promise<number>;
  insert(row: CannedReplyRow): Promise<number>;
  update(row: CannedReplyRow): Promise<number>;
  remove(id: string): Promise<number>;
}

/**
 * The assistant's documents, their passages, and the index over them. An application's part of the index has a number
 * (its scope), which no other application gets, also not after it was removed. Terms arrive cut and folded.
 */
export interface KnowledgeRepository {
  byId(id: string): Promise<KnowledgeDocumentRow | undefined>;
  bySource(applicationId: string, source: string): Promise<KnowledgeDocumentRow | undefined>;
  insert(row: KnowledgeDocumentRow): Promise<number>;
  update(row: KnowledgeDocumentRow): Promise<number>;
  /** Removes a document with its passages, their words and vectors. */
  remove(id: string): Promise<number>;
  /** Documents of an organization, of all its applications (null) or of one, by application and source. */
  list(
    organizationId: string,
    applicationId: string | null,
    limit: number,
    offset: number,
  ): Promise<ListedDocument[]>;
  count(organizationId: string, applicationId: string | null): Promise<number>;
  /** What the making of a document's passages goes by. */
  state(id: string): Promise<Pick<KnowledgeDocumentRow, 'edition' | 'updated_at'> | undefined>;
  setEdition(id: string, edition: number): Promise<number>;
  /** Documents whose passages were not made by this edition of the cutting. */
  stale(edition: number, limit: number): Promise<string[]>;

  /** Puts a passage and its terms into the index. @param scope of its application */
  insertPassage(
    row: Omit<KnowledgePassageRow, 'row' | 'embedding' | 'embedding_model'>,
    scope: number,
    terms: PassageTerms,
  ): Promise<void>;
  /** Removes at most `limit` passages of a document with their words. */
  removePassages(documentId: string, limit: number): Promise<number>;
  passagesOfDocument(documentId: string): Promise<number>;
  passagesOfApplication(applicationId: string): Promise<number>;

  /** The number of an application's part of the index; undefined while it has no knowledge. */
  scope(applicationId: string): Promise<number | undefined>;
  /** The same, made where it is missing. */
  ensureScope(applicationId: string): Promise<number>;
  /** In how many passages each term occurs. A term that occurs in none may be left out. */
  counts(scope: number, terms: readonly string[]): Promise<ReadonlyMap<string, number>>;
  /** The indexed terms that begin with a text, in order. */
  vocabulary(scope: number, beginning: string): Promise<string[]>;
  /** The passages that the terms match best, by a measure like BM25; at most `limit`. */
  matching(
    scope: number,
    applicationId: string,
    terms: readonly string[],
    limit: number,
  ): Promise<KnowledgeCandidate[]>;
  /** The same by their headings alone, which a common word of the texts can't bury. */
  matchingHeadings(
    scope: number,
    applicationId: string,
    terms: readonly string[],
    limit: number,
  ): Promise<KnowledgeCandidate[]>;
  /** One passage as `matching` answers it. */
  candidate(scope: number, applicationId: string, row: number): Promise<KnowledgeCandidate | undefined>;

  /** The row of a passage by its id; undefined: the application has none of this id. */
  rowOf(applicationId: string, id: string): Promise<number | undefined>;

  /** Keeps a question with the passages under a heading. */
  insertQuestion(row: KnowledgeQuestionRow): Promise<number>;
  removeQuestion(id: string): Promise<number>;
  /** Rows of the passages under a heading of a document, with the terms that the index has of each. */
  underHeading(
    scope: number,
    applicationId: string,
    documentId: string,
    heading: string | null,
  ): Promise<KnowledgeCandidate[]>;
  /** Puts other terms of the heading into the index. */
  setHeadingTerms(row: number, scope: number, terms: PassageTerms): Promise<void>;
  /** The questions kept with documents, oldest first. */
  questions(documentIds: readonly string[]): Promise<KnowledgeQuestionRow[]>;

  /** Passages that this model was not asked about yet. */
  unembedded(
    model: string,
    limit: number,
  ): Promise<{ id: string; heading: string | null; text: string; title: string }[]>;
  /** @param embedding null: the model has none for it, and is not asked again */
  setEmbedding(id: string, embedding: Uint8Array | null, model: string): Promise<number>;
  /** An application's vectors of one model, after a row, in order. The bytes may be part of a larger buffer. */
  embedded(
    applicationId: string,
    model: string,
    after: number,
    limit: number,
  ): Promise<{ row: number; embedding: Uint8Array | null }[]>;

  /** JSON, as it was stored; undefined: none. */
  synonyms(applicationId: string): Promise<string | undefined>;
  setSynonyms(applicationId: string, synonyms: string): Promise<number>;
}

export interface AiLogRepository {
  /** 0 when there is one of this id. */
  insert(row: AiLogRow): Promise<number>;
  /** Newest first. @param applicationId null: of all its applications */
  list(
    organizationId: string,
    applicationId: string | null,
    limit: number,
    offset: number,
  ): Promise<AiLogRow[]>;
  count(organizationId: string, applicationId: string | null): Promise<number>;
  /** Oldest first. */
  ofVisitor(visitorKey: string): Promise<AiLogRow[]>;
  /** Removes at most `limit` rows older than the scope's time, oldest first. */
  removeOld(scope: RetentionScope, limit: number): Promise<number>;
  /** Remembers which passage a visitor chose after the newest question of a conversation that was answered by choices. */
  setChosen(conversationId: string, passageId: string): Promise<number>;
  /** Questions of visitors of live data that had no answer and that no person dealt with, newest first. */
  gaps(applicationId: string, limit: number): Promise<AiLogRow[]>;
  /** Marks questions of an application as dealt with. @param at a time, ms */
  settle(applicationId: string, ids: readonly string[], at: number): Promise<number>;
  /** Takes the texts out of a conversation's rows since a time. */
  blank(conversationId: string, since: number): Promise<number>;
  /** Organizations with an application that answers by itself. */
  automaticOrganizations(): Promise<string[]>;
  /** Pending conversations that an assistant may answer in and that changed since a time, longest waiting first. */
  unanswered(since: number, limit: number): Promise<{ id: string; organization_id: string }[]>;
}

/** All tables' queries, as a transaction offers them. */
export interface Repositories {
  readonly meta: MetaRepository;
  readonly organizations: OrganizationsRepository;
  readonly applications: ApplicationsRepository;
  readonly apiKeys: ApiKeysRepository;
  readonly members: MembersRepository;
  readonly visitors: VisitorsRepository;
  readonly conversations: ConversationsRepository;
  readonly participants: ParticipantsRepository;
  readonly messages: MessagesRepository;
  readonly events: EventsRepository;
  readonly audit: AuditRepository;
  readonly retention: RetentionRepository;
  readonly visitorData: VisitorDataRepository;
  readonly exportImport: TransferRepository;
  readonly webhooks: WebhooksRepository;
  readonly search: SearchRepository;
  readonly stats: StatsRepository;
  readonly invitations: InvitationsRepository;
  readonly blocks: BlocksRepository;
  readonly secondFactors: SecondFactorsRepository;
  readonly passkeys: PasskeysRepository;
  readonly cannedReplies: CannedRepliesRepository;
  readonly knowledge: KnowledgeRepository;
  readonly aiLog: AiLogRepository;
}
