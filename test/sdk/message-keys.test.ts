// Owns that what the SDK calls a message begins with the time, on both sides of a conversation: ids in no order cost a
// server a page of its index each.
import { expect, test } from 'vitest';
import { browserEnvironment } from '../../src/sdk/browser-environment.ts';
import { newMessageKey } from '../../src/sdk/outbox-entries.ts';
import { createStaffClient } from '../../src/sdk/staff.ts';
import { startApp } from '../helpers/app.ts';
import { rowsOf } from '../helpers/database.ts';
import { createMember, createOrganization } from '../helpers/fixtures.ts';
import { openPage } from '../helpers/sdk-page.ts';

const version4 = /^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/;

test('keys are in order of time, and unlike each other within a millisecond', () => {
  let time = Date.UTC(2026, 10, 26);
  const environment = { ...browserEnvironment(), now: () => (time += 1) };
  const keys = Array.from({ length: 1_000 }, () => newMessageKey(environment));
  expect(keys.toSorted()).toEqual(keys);
  environment.now = () => time;
  expect(new Set(Array.from({ length: 1_000 }, () => newMessageKey(environment))).size).toBe(1_000);
});

test('visitors and members send such keys; a visitor has a plain UUID', async () => {
  const app = await startApp();
  try {
    const { application } = await createOrganization(app, 'acme');
    const member = await createMember(app, 'acme');
    const now = Date.UTC(2026, 10, 26, 12);
    const environment = { ...browserEnvironment(), now: () => now };
    const page = openPage({
      url: app.url,
      appId: application.id,
      origin: application.origin,
      environment: { newId: environment.newId, now: environment.now },
    });
    const client = createStaffClient({ baseUrl: app.url, environment });
    try {
      const { conversationId } = await page.sdk.sendMessage('hello');
      await member.call('POST', `/conversations/${conversationId}/accept`);
      await client.resume(member.token);
      await client.sendMessage(conversationId, 'hi');
      const rows = await rowsOf(
        app,
        'select client_message_id as id from messages where client_message_id is not null order by number',
      );
      expect(rows).toHaveLength(2);
      for (const { id } of rows) {
        const [time, ...rest] = String(id).split('-');
        expect(Number(time)).toBe(now);
        expect(rest.join('-')).toMatch(version4);
      }
      const visitors = await rowsOf(app, 'select visitor_id as id from visitors');
      for (const { id } of visitors) expect(id).toMatch(version4);
      expect(visitors).toHaveLength(1);
    } finally {
      client.stop();
      page.sdk.destroy();
    }
  } finally {
    await app.stop();
  }
});
