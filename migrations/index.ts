// The static list of migrations, oldest first. The database's `user_version` is the
// number of entries it has seen: append only, never reorder or edit a released one.
import type { Kysely } from 'kysely';
import * as service from './0001-service.ts';
import * as staffTools from './0002-staff-tools.ts';
import * as webhooks from './0003-webhooks.ts';
import * as retention from './0004-retention.ts';
import * as assistant from './0005-assistant.ts';
import * as signInAndBlocks from './0006-sign-in-and-blocks.ts';
import * as searchByOrganization from './0007-search-by-organization.ts';
import * as choicesAndLearning from './0008-choices-and-learning.ts';
import * as passkeys from './0009-passkeys.ts';
import * as clientIds from './0010-client-ids.ts';
import * as searchNumbers from './0011-search-numbers.ts';
import * as identityAndRotation from './0012-identity-and-rotation.ts';
import * as ownAccountAndDrafts from './0013-own-account-and-drafts.ts';
import * as queueOrder from './0014-queue-order.ts';
import * as crawlsAndQueueChanges from './0015-crawls-and-queue-changes.ts';
import * as outbox from './0016-outbox.ts';
import * as notifications from './0017-notifications.ts';
import * as files from './0018-files.ts';
import * as mail from './0019-mail.ts';
import * as searchWords from './0020-search-words.ts';
import * as messagePlaces from './0021-message-places.ts';
import * as webhookTurns from './0022-webhook-turns.ts';
import * as substrings from './0023-substrings.ts';
import * as messageEvents from './0024-message-events.ts';
import * as searchMerges from './0025-search-merges.ts';
import * as changedMessages from './0026-changed-messages.ts';
import * as visitorExports from './0027-visitor-exports.ts';
import * as heldConversations from './0028-held-conversations.ts';
import * as searchParts from './0029-search-parts.ts';
import * as ownRetention from './0030-own-retention.ts';

export interface Migration {
  readonly name: string;
  readonly up: (db: Kysely<unknown>) => Promise<void>;
}

export const migrations: readonly Migration[] = [
  { name: '0001-service', up: service.up },
  { name: '0002-staff-tools', up: staffTools.up },
  { name: '0003-webhooks', up: webhooks.up },
  { name: '0004-retention', up: retention.up },
  { name: '0005-assistant', up: assistant.up },
  { name: '0006-sign-in-and-blocks', up: signInAndBlocks.up },
  { name: '0007-search-by-organization', up: searchByOrganization.up },
  { name: '0008-choices-and-learning', up: choicesAndLearning.up },
  { name: '0009-passkeys', up: passkeys.up },
  { name: '0010-client-ids', up: clientIds.up },
  { name: '0011-search-numbers', up: searchNumbers.up },
  { name: '0012-identity-and-rotation', up: identityAndRotation.up },
  { name: '0013-own-account-and-drafts', up: ownAccountAndDrafts.up },
  { name: '0014-queue-order', up: queueOrder.up },
  { name: '0015-crawls-and-queue-changes', up: crawlsAndQueueChanges.up },
  { name: '0016-outbox', up: outbox.up },
  { name: '0017-notifications', up: notifications.up },
  { name: '0018-files', up: files.up },
  { name: '0019-mail', up: mail.up },
  { name: '0020-search-words', up: searchWords.up },
  { name: '0021-message-places', up: messagePlaces.up },
  { name: '0022-webhook-turns', up: webhookTurns.up },
  { name: '0023-substrings', up: substrings.up },
  { name: '0024-message-events', up: messageEvents.up },
  { name: '0025-search-merges', up: searchMerges.up },
  { name: '0026-changed-messages', up: changedMessages.up },
  { name: '0027-visitor-exports', up: visitorExports.up },
  { name: '0028-held-conversations', up: heldConversations.up },
  { name: '0029-search-parts', up: searchParts.up },
  { name: '0030-own-retention', up: ownRetention.up },
];
