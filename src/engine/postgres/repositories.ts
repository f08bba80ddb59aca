// All tables' queries on PostgreSQL, bound to one runner: what a rule reaches through `tx.repositories`. An operation
// has a runner of its own and asks a few tables, so each repository is made when it is asked for.
import type { Repositories } from '../repositories.ts';
import type { Runner } from '../sqlite/query.ts';
import { createOrganizationsRepository } from '../sqlite/repositories/organizations.ts';
import { createApplicationsRepository } from '../sqlite/repositories/applications.ts';
import { createApiKeysRepository } from '../sqlite/repositories/api-keys.ts';
import { createMembersRepository } from '../sqlite/repositories/members.ts';
import { createVisitorsRepository } from '../sqlite/repositories/visitors.ts';
import { createConversationsRepository } from '../sqlite/repositories/conversations.ts';
import { createParticipantsRepository } from '../sqlite/repositories/participants.ts';
import { createTagsRepository } from '../sqlite/repositories/tags.ts';
import { createViewsRepository } from '../sqlite/repositories/views.ts';
import { createMessagesRepository } from '../sqlite/repositories/messages.ts';
import { createEventsRepository } from '../sqlite/repositories/events.ts';
import { createFilesRepository } from '../sqlite/repositories/files.ts';
import { createAuditRepository } from '../sqlite/repositories/audit.ts';
import { createMetaRepository } from '../sqlite/repositories/meta.ts';
import { createRetentionRepository } from '../sqlite/repositories/retention.ts';
import { createExportImportRepository } from '../sqlite/repositories/export-import.ts';
import { createVisitorDataRepository } from '../sqlite/repositories/visitor-data.ts';
import { createWebhooksRepository } from '../sqlite/repositories/webhooks.ts';
import { createSearchRepository } from '../sqlite/repositories/search.ts';
import { createStatsRepository } from '../sqlite/repositories/stats.ts';
import { createInvitationsRepository } from '../sqlite/repositories/invitations.ts';
import { createBlocksRepository } from '../sqlite/repositories/blocks.ts';
import { createPasskeysRepository } from '../sqlite/repositories/passkeys.ts';
import { createSecondFactorsRepository } from '../sqlite/repositories/second-factors.ts';
import { createCannedRepliesRepository } from '../sqlite/repositories/canned-replies.ts';
import { createDraftsRepository } from '../sqlite/repositories/drafts.ts';
import { createSightingsRepository } from '../sqlite/repositories/sightings.ts';
import { createKnowledgeRepository } from '../sqlite/repositories/knowledge.ts';
import { createPushDevicesRepository } from '../sqlite/repositories/push-devices.ts';
import { createPasswordResetsRepository } from '../sqlite/repositories/password-resets.ts';
import { createAiLogRepository } from '../sqlite/repositories/ai-log.ts';
import { createCrawlsRepository } from '../sqlite/repositories/crawls.ts';
import { createEffectsRepository } from '../sqlite/repositories/effects.ts';
import { createMailRepository } from '../sqlite/repositories/mail.ts';

/** How each is made. One that is missing does not compile. */
const makers: { readonly [K in keyof Repositories]: (runner: Runner) => Repositories[K] } = {
  meta: createMetaRepository,
  organizations: createOrganizationsRepository,
  applications: createApplicationsRepository,
  apiKeys: createApiKeysRepository,
  members: createMembersRepository,
  visitors: createVisitorsRepository,
  conversations: (runner) => createConversationsRepository(runner),
  participants: createParticipantsRepository,
  tags: createTagsRepository,
  views: createViewsRepository,
  messages: (runner) => createMessagesRepository(runner),
  events: createEventsRepository,
  files: createFilesRepository,
  audit: createAuditRepository,
  retention: createRetentionRepository,
  visitorData: createVisitorDataRepository,
  exportImport: (runner) => createExportImportRepository(runner),
  webhooks: createWebhooksRepository,
  search: createSearchRepository,
  substrings: () => null,
  stats: createStatsRepository,
  invitations: createInvitationsRepository,
  blocks: createBlocksRepository,
  secondFactors: createSecondFactorsRepository,
  passkeys: createPasskeysRepository,
  pushDevices: createPushDevicesRepository,
  passwordResets: createPasswordResetsRepository,
  cannedReplies: createCannedRepliesRepository,
  drafts: createDraftsRepository,
  sightings: createSightingsRepository,
  knowledge: createKnowledgeRepository,
  aiLog: createAiLogRepository,
  crawls: createCrawlsRepository,
  effects: createEffectsRepository,
  mail: createMailRepository,
};

/** Repositories of one runner: a getter for each of the makers, which keeps what it has made. */
class Bound {
  readonly #runner: Runner;

  constructor(runner: Runner) {
    this.#runner = runner;
  }

  static {
    for (const [name, make] of Object.entries(makers))
      Object.defineProperty(Bound.prototype, name, {
        get(this: Bound): unknown {
          const value = make(this.#runner);
          Object.defineProperty(this, name, { value });
          return value;
        },
      });
  }
}

/** @param runner runs the queries on one connection */
export function createRepositories(runner: Runner): Repositories;
// Its getters are one for each of the makers.
export function createRepositories(runner: Runner): object {
  return new Bound(runner);
}
