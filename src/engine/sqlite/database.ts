// The tables as the query builder sees them, with those that only SQLite has.
import type { Generated } from 'kysely';
import type {
  AddressBlockRow,
  AiLogRow,
  ApiKeyRow,
  ApplicationRow,
  ApplicationSightingRow,
  AuditRow,
  CannedReplyRow,
  ConversationRow,
  ConversationTagRow,
  CrawlRow,
  DomainRow,
  DraftRow,
  EffectRow,
  EventRow,
  FileRemovalRow,
  FileRow,
  FileTotalsRow,
  InvitationRow,
  KnowledgeDocumentRow,
  KnowledgePassageRow,
  KnowledgeSynonymsRow,
  KnowledgeQuestionRow,
  MailAddressRow,
  MailKeyRow,
  MailSettingsRow,
  MemberRow,
  MemberTotpRow,
  MessageRow,
  MetaRow,
  OrganizationRow,
  ParticipantRow,
  PasskeyRegistrationRow,
  PasskeyRow,
  PasswordResetRow,
  PushDeviceRow,
  RecoveryCodeRow,
  SignInTicketRow,
  StaffSessionRow,
  TagRow,
  ViewRow,
  VisitorBlockRow,
  VisitorRow,
  WebhookDeliveryRow,
  WebhookRow,
} from '../rows.ts';

export interface SearchRow {
  id: Generated<number>;
  message_id: string;
}

/** A conversation whose facets in the queue have changed. */
export interface QueueChangeRow {
  number: Generated<number>;
  organization_id: string;
  /** The conversation's rowid. */
  place: number;
}

/** The number that begins each of an organization's words in the index of messages. */
export interface SearchScopeRow {
  number: Generated<number>;
  organization_id: string;
}

/** The number that begins each of an application's words in the index. */
export interface KnowledgeScopeRow {
  number: Generated<number>;
  application_id: string;
}

/** The small number that stands for a conversation in `message_places`. SQLite alone has the table. */
export interface ConversationNumberRow {
  number: Generated<number>;
  conversation_id: string;
}

/** The place of a message in its conversation. SQLite alone has the table: it is filled behind the messages. */
export interface MessagePlaceRow {
  /** Its number in `conversation_numbers`. */
  conversation: number;
  seq: number;
  /** `messages.number`. */
  number: number;
}

/** Events of new messages that one commit has stored: consecutive numbers of both. SQLite alone has the table. */
export interface MessageEventsRow {
  /** The number of the first event. */
  seq: number;
  /** `messages.number` of its message. */
  number: number;
  /** How many they are. */
  messages: number;
  created_at: number;
}

/** Every table, for the query builder. */
export interface Database {
  meta: MetaRow;
  organizations: OrganizationRow;
  applications: ApplicationRow;
  domains: DomainRow;
  api_keys: ApiKeyRow;
  members: MemberRow;
  drafts: DraftRow;
  application_sightings: ApplicationSightingRow;
  staff_sessions: StaffSessionRow;
  member_totp: MemberTotpRow;
  recovery_codes: RecoveryCodeRow;
  sign_in_tickets: SignInTicketRow;
  member_passkeys: PasskeyRow;
  passkey_registrations: PasskeyRegistrationRow;
  push_devices: PushDeviceRow;
  password_resets: PasswordResetRow;
  visitors: VisitorRow;
  visitor_blocks: VisitorBlockRow;
  address_blocks: AddressBlockRow;
  conversations: ConversationRow;
  tags: TagRow;
  conversation_tags: ConversationTagRow;
  views: ViewRow;
  participants: ParticipantRow;
  /** On SQLite with `number`, which says when a message was stored (log-end.ts); no other database knows it. */
  messages: MessageRow;
  /** The messages, by whatever says their order: a conversation's are read from here. */
  ordered_messages: MessageRow;
  conversation_numbers: ConversationNumberRow;
  message_places: MessagePlaceRow;
  /** One row: messages up to this number have their places. */
  message_placing: { through: number };
  files: FileRow;
  file_totals: FileTotalsRow;
  file_removals: FileRemovalRow;
  events: EventRow;
  message_events: MessageEventsRow;
  audit: AuditRow;
  canned_replies: CannedReplyRow;
  invitations: InvitationRow;
  search_rows: SearchRow;
  search_scopes: SearchScopeRow;
  /** The FTS5 table; `rowid` is SearchRow.id. */
  search: { rowid: number; words: string };
  /** A line for each time that a word occurs; SQLite alone has it. */
  search_vocabulary: { term: string };
  /** FTS5 tables of trigrams; `rowid` is that of the conversation and of the visitor. SQLite alone has them. */
  search_subjects: { rowid: number; words: string };
  search_visitors: { rowid: number; words: string };
  search_subjects_vocabulary: { term: string };
  search_visitors_vocabulary: { term: string };
  webhooks: WebhookRow;
  webhook_deliveries: WebhookDeliveryRow;
  knowledge_documents: KnowledgeDocumentRow;
  knowledge_passages: Omit<KnowledgePassageRow, 'row'> & { row: Generated<number> };
  /** `rowid` is KnowledgePassageRow.row. On SQLite the FTS5 table, which has neither scope nor lengths. */
  knowledge_search: {
    rowid: number;
    heading: string;
    words: string;
    scope: Generated<number>;
    length: Generated<number>;
    heading_length: Generated<number>;
  };
  /** On PostgreSQL alone: how often a term is in a passage. */
  knowledge_words: { term: string; rowid: number; heading_count: number; text_count: number };
  /** Its words, each once. */
  knowledge_vocabulary: { term: string };
  knowledge_scopes: KnowledgeScopeRow;
  knowledge_synonyms: KnowledgeSynonymsRow;
  knowledge_questions: KnowledgeQuestionRow;
  /** The FTS5 table of headings alone; `rowid` is KnowledgePassageRow.row. */
  knowledge_headings: { rowid: number; words: string };
  ai_log: AiLogRow;
  crawls: CrawlRow;
  queue_changes: QueueChangeRow;
  effects: EffectRow;
  mail_addresses: MailAddressRow;
  mail_settings: MailSettingsRow;
  mail_keys: MailKeyRow;
}
