// Owns a small shop's documents for tests of the assistant, switching it on, and what it has said in a conversation and
// in its log. Must not ask it anything.
import { expect } from 'vitest';
import type { AiLogEntry } from '../../src/protocol/assistant.ts';
import type { TestApp } from './app.ts';
import { setByPath } from './settings.ts';
import { eventually } from './eventually.ts';
import { createOrganization, type TestClient, type TestOrganization } from './fixtures.ts';

export const refunds =
  '# Refunds\n\nYou can return any product within 30 days after delivery. We refund the full price to your card within 5 working days. Shipping costs are not refunded.';
export const delivery =
  '# Delivery\n\nWe deliver to every country of the European Union. Parcels leave our warehouse in Lisbon every weekday at noon. See https://shop.example/tracking to follow a parcel, or write to help@shop.example.';

/** Adds a document and answers its id. */
export async function createDocument(
  app: TestApp,
  applicationId: string,
  source: string,
  content: string,
  url?: string,
): Promise<string> {
  const { id } = await app.local('knowledge.add', {
    applicationId,
    source,
    content,
    ...(url === undefined ? {} : { url }),
  });
  return id;
}

/** Sets `ai.mode`, and other settings by their paths. */
export async function configure(
  app: TestApp,
  applicationId: string,
  settings: Readonly<Record<string, unknown>>,
): Promise<void> {
  await setByPath(app, applicationId, settings);
}

/** An organization with the shop's documents, whose assistant answers by itself. */
export async function createShop(
  app: TestApp,
  slug: string,
  mode: 'off' | 'assist' | 'auto' = 'auto',
): Promise<TestOrganization> {
  const organization = await createOrganization(app, slug, 'premium');
  const { id } = organization.application;
  await createDocument(app, id, 'refunds.md', refunds, 'https://shop.example/refunds');
  await createDocument(app, id, 'delivery.md', delivery, 'https://shop.example/delivery');
  await configure(app, id, { 'ai.mode': mode, 'ai.name': 'Robin' });
  return organization;
}

export interface HistoryMessage {
  readonly id: string;
  readonly senderRole: string;
  readonly senderName: string;
  readonly senderId: string;
  readonly content: string;
  readonly contentFormat: string;
  readonly contentHtml: string | null;
}

/** A conversation's messages, oldest first, as someone at a transport gets them. */
export async function historyOf(
  person: TestClient,
  conversationId: string,
): Promise<readonly HistoryMessage[]> {
  const { body } = await person.call('GET', `/conversations/${conversationId}/messages?limit=100`);
  return body.messages as HistoryMessage[];
}

export async function assistantMessages(
  person: TestClient,
  conversationId: string,
): Promise<readonly HistoryMessage[]> {
  return (await historyOf(person, conversationId)).filter(({ senderRole }) => senderRole === 'assistant');
}

/** Waits until the assistant has said so much; what it said. */
export async function waitForAssistantMessages(
  person: TestClient,
  conversationId: string,
  count: number,
): Promise<readonly HistoryMessage[]> {
  return eventually(async () => {
    const all = await assistantMessages(person, conversationId);
    expect(all).toHaveLength(count);
    return all;
  });
}

/** The shop's log, newest first. */
export async function aiLogOf(app: TestApp): Promise<readonly AiLogEntry[]> {
  return (await app.local('ai.log', { organization: 'shop' })).entries;
}

/** Waits until the shop's log has so many rows; newest first. */
export async function waitForAiLog(app: TestApp, count: number): Promise<readonly AiLogEntry[]> {
  return eventually(async () => {
    const entries = await aiLogOf(app);
    expect(entries).toHaveLength(count);
    return entries;
  });
}
