// All tables' queries, bound to one runner: what a rule reaches through `tx.tables`.
import type { Runner } from './query.ts';
import { organizationsTable } from './organizations.ts';
import { applicationsTable } from './applications.ts';
import { apiKeysTable } from './api-keys.ts';
import { membersTable } from './members.ts';
import { visitorsTable } from './visitors.ts';
import { conversationsTable } from './conversations.ts';
import { participantsTable } from './participants.ts';
import { messagesTable } from './messages.ts';
import { eventsTable } from './events.ts';
import { auditTable } from './audit.ts';
import { metaTable } from './meta.ts';
import { retentionTable } from './retention.ts';
import { transferDataTable } from './transfer-data.ts';
import { visitorDataTable } from './visitor-data.ts';
import { webhooksTable } from './webhooks.ts';
import { searchTable } from './search.ts';
import { statsTable } from './stats.ts';
import { invitationsTable } from './invitations.ts';
import { cannedRepliesTable } from './canned-replies.ts';
import { knowledgeTable } from './knowledge.ts';
import { aiLogTable } from './ai-log.ts';

/** @param runner runs the queries on one connection */
export function createTables(runner: Runner) {
  return {
    meta: metaTable(runner),
    organizations: organizationsTable(runner),
    applications: applicationsTable(runner),
    apiKeys: apiKeysTable(runner),
    members: membersTable(runner),
    visitors: visitorsTable(runner),
    conversations: conversationsTable(runner),
    participants: participantsTable(runner),
    messages: messagesTable(runner),
    events: eventsTable(runner),
    audit: auditTable(runner),
    retention: retentionTable(runner),
    visitorData: visitorDataTable(runner),
    transferData: transferDataTable(runner),
    webhooks: webhooksTable(runner),
    search: searchTable(runner),
    stats: statsTable(runner),
    invitations: invitationsTable(runner),
    cannedReplies: cannedRepliesTable(runner),
    knowledge: knowledgeTable(runner),
    aiLog: aiLogTable(runner),
  };
}

export type Tables = ReturnType<typeof createTables>;
