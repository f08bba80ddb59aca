// The queries that rules may ask for, by table: one file for each noun in repositories/. Every method reads or writes
// inside the transaction it was reached through. A method that changes rows answers how many it changed; "0 when …" is
// then part of its contract, and the caller looks at it. Times are ms since the epoch, limits and offsets count rows.
// Text is compared and ordered byte by byte.
import type { MetaRepository } from './repositories/meta.ts';
import type { OrganizationsRepository } from './repositories/organizations.ts';
import type { ApplicationsRepository } from './repositories/applications.ts';
import type { ApiKeysRepository } from './repositories/api-keys.ts';
import type { MembersRepository } from './repositories/members.ts';
import type { VisitorsRepository } from './repositories/visitors.ts';
import type { ConversationsRepository } from './repositories/conversations.ts';
import type { ParticipantsRepository } from './repositories/participants.ts';
import type { TagsRepository } from './repositories/tags.ts';
import type { ViewsRepository } from './repositories/views.ts';
import type { MailRepository } from './repositories/mail.ts';
import type { MessagesRepository } from './repositories/messages.ts';
import type { FilesRepository } from './repositories/files.ts';
import type { EventsRepository } from './repositories/events.ts';
import type { AuditRepository } from './repositories/audit.ts';
import type { RetentionRepository } from './repositories/retention.ts';
import type { VisitorDataRepository } from './repositories/visitor-data.ts';
import type { TransferRepository } from './repositories/export-import.ts';
import type { WebhooksRepository } from './repositories/webhooks.ts';
import type { SearchRepository } from './repositories/search.ts';
import type { SubstringsRepository } from './repositories/substrings.ts';
import type { StatsRepository } from './repositories/stats.ts';
import type { InvitationsRepository } from './repositories/invitations.ts';
import type { BlocksRepository } from './repositories/blocks.ts';
import type { SecondFactorsRepository } from './repositories/second-factors.ts';
import type { PasskeysRepository } from './repositories/passkeys.ts';
import type { PushDevicesRepository } from './repositories/push-devices.ts';
import type { PasswordResetsRepository } from './repositories/password-resets.ts';
import type { CannedRepliesRepository } from './repositories/canned-replies.ts';
import type { DraftsRepository } from './repositories/drafts.ts';
import type { SightingsRepository } from './repositories/sightings.ts';
import type { KnowledgeRepository } from './repositories/knowledge.ts';
import type { AiLogRepository } from './repositories/ai-log.ts';
import type { CrawlsRepository } from './repositories/crawls.ts';
import type { EffectsRepository } from './repositories/effects.ts';

export type { Soon } from './repositories/soon.ts';

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
  readonly tags: TagsRepository;
  readonly views: ViewsRepository;
  readonly messages: MessagesRepository;
  readonly files: FilesRepository;
  readonly events: EventsRepository;
  readonly audit: AuditRepository;
  readonly retention: RetentionRepository;
  readonly visitorData: VisitorDataRepository;
  readonly exportImport: TransferRepository;
  readonly webhooks: WebhooksRepository;
  readonly search: SearchRepository;
  /** null: this database has no such index. */
  readonly substrings: SubstringsRepository | null;
  readonly stats: StatsRepository;
  readonly invitations: InvitationsRepository;
  readonly blocks: BlocksRepository;
  readonly secondFactors: SecondFactorsRepository;
  readonly passkeys: PasskeysRepository;
  readonly pushDevices: PushDevicesRepository;
  readonly passwordResets: PasswordResetsRepository;
  readonly cannedReplies: CannedRepliesRepository;
  readonly drafts: DraftsRepository;
  readonly sightings: SightingsRepository;
  readonly knowledge: KnowledgeRepository;
  readonly aiLog: AiLogRepository;
  readonly crawls: CrawlsRepository;
  readonly effects: EffectsRepository;
  readonly mail: MailRepository;
}
