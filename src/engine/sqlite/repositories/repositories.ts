// All tables' queries, bound to one runner: what a rule reaches through `tx.repositories`.
import type { Repositories } from '../../repositories.ts';
import type { KnownConversations } from '../known-conversations.ts';
import { LogEnd } from '../log-end.ts';
import type { ImmediateRunner } from '../query.ts';
import { createOrganizationsRepository } from './organizations.ts';
import { createApplicationsRepository } from './applications.ts';
import { createApiKeysRepository } from './api-keys.ts';
import { createMembersRepository } from './members.ts';
import { createVisitorsRepository } from './visitors.ts';
import { createConversationsRepository } from './conversations.ts';
import { createParticipantsRepository } from './participants.ts';
import { createTagsRepository } from './tags.ts';
import { createViewsRepository } from './views.ts';
import { createMessagesRepository } from './messages.ts';
import { createGrowingEvents, type GrowingEvents } from './events.ts';
import { createFilesRepository } from './files.ts';
import { createAuditRepository } from './audit.ts';
import { createMetaRepository } from './meta.ts';
import { createRetentionRepository } from './retention.ts';
import { createExportImportRepository } from './export-import.ts';
import { createVisitorDataRepository } from './visitor-data.ts';
import { createWebhooksRepository } from './webhooks.ts';
import { createSearchRepository } from './search.ts';
import { createSubstringsRepository } from './substrings.ts';
import { createStatsRepository } from './stats.ts';
import { createInvitationsRepository } from './invitations.ts';
import { createBlocksRepository } from './blocks.ts';
import { createPasskeysRepository } from './passkeys.ts';
import { createSecondFactorsRepository } from './second-factors.ts';
import { createCannedRepliesRepository } from './canned-replies.ts';
import { createDraftsRepository } from './drafts.ts';
import { createSightingsRepository } from './sightings.ts';
import { createKnowledgeRepository } from './knowledge.ts';
import { createPushDevicesRepository } from './push-devices.ts';
import { createPasswordResetsRepository } from './password-resets.ts';
import { createAiLogRepository } from './ai-log.ts';
import { createCrawlsRepository } from './crawls.ts';
import { createEffectsRepository } from './effects.ts';
import { createMailRepository } from './mail.ts';

/** The store itself appends events. */
export interface SqliteRepositories extends Repositories {
  readonly events: GrowingEvents;
}

/**
 * @param runner runs the queries on one connection
 * @param known the rows that this connection knows, for the one that writes
 * @param log where the log ends, as the one that writes knows it
 */
export function createRepositories(
  runner: ImmediateRunner,
  known?: KnownConversations,
  log: LogEnd = new LogEnd(runner.direct),
): SqliteRepositories {
  return {
    meta: createMetaRepository(runner),
    organizations: createOrganizationsRepository(runner),
    applications: createApplicationsRepository(runner),
    apiKeys: createApiKeysRepository(runner),
    members: createMembersRepository(runner),
    visitors: createVisitorsRepository(runner),
    conversations: createConversationsRepository(runner, known),
    participants: createParticipantsRepository(runner),
    tags: createTagsRepository(runner),
    views: createViewsRepository(runner),
    messages: createMessagesRepository(runner, known, log),
    events: createGrowingEvents(runner, log),
    files: createFilesRepository(runner),
    audit: createAuditRepository(runner),
    retention: createRetentionRepository(runner),
    visitorData: createVisitorDataRepository(runner),
    exportImport: createExportImportRepository(runner, log),
    webhooks: createWebhooksRepository(runner),
    search: createSearchRepository(runner),
    substrings: createSubstringsRepository(runner),
    stats: createStatsRepository(runner),
    invitations: createInvitationsRepository(runner),
    blocks: createBlocksRepository(runner),
    secondFactors: createSecondFactorsRepository(runner),
    passkeys: createPasskeysRepository(runner),
    pushDevices: createPushDevicesRepository(runner),
    passwordResets: createPasswordResetsRepository(runner),
    cannedReplies: createCannedRepliesRepository(runner),
    drafts: createDraftsRepository(runner),
    sightings: createSightingsRepository(runner),
    knowledge: createKnowledgeRepository(runner),
    aiLog: createAiLogRepository(runner),
    crawls: createCrawlsRepository(runner),
    effects: createEffectsRepository(runner),
    mail: createMailRepository(runner),
  };
}
