// Owns: the SDK's way to a person: the wish travels with the message, also through the outbox, and nothing else that a
// page puts into a message does.
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startApp, type TestApp } from '../helpers/app.ts';
import { configure } from '../helpers/assistant.ts';
import { rowsOf } from '../helpers/database.ts';
import { eventually } from '../helpers/eventually.ts';
import { Browser, openPage } from '../helpers/sdk-page.ts';
import { createOrganization, type TestOrganization } from '../helpers/fixtures.ts';

let app: TestApp;
let shop: TestOrganization;

beforeAll(async () => {
  app = await startApp();
  shop = await createOrganization(app, 'shop');
  await configure(app, shop.application.id, { 'ai.mode': 'auto' });
});
afterAll(() => app.stop());

const muted = async (id: string): Promise<unknown> =>
  (await rowsOf(app, 'select assistant_muted_at from conversations where id = ?', id))[0]?.[
    'assistant_muted_at'
  ];

it('a message that asks for a person silences the assistant, and the visitor hears that a person comes', async () => {
  const page = openPage({
    url: app.url,
    appId: shop.application.id,
    origin: shop.application.origin,
    browser: new Browser(),
  });
  try {
    const first = await page.sdk.sendMessage({ content: 'Hello' });
    expect(await muted(first.conversationId)).toBeNull();
    await page.sdk.sendMessage({ content: 'A person, please', person: true });
    expect(await muted(first.conversationId)).not.toBeNull();
    await eventually(() =>
      expect(
        page.sdk
          .getState()
          .messages.map(({ senderRole, contentHtml }) =>
            senderRole === 'assistant' ? contentHtml : senderRole,
          ),
      ).toEqual(['visitor', 'visitor', '<p>A person will answer you here.</p>']),
    );
  } finally {
    page.sdk.destroy();
  }
});

it('what else a page puts into a message changes nothing about where it goes', async () => {
  const page = openPage({
    url: app.url,
    appId: shop.application.id,
    origin: shop.application.origin,
    browser: new Browser(),
  });
  try {
    const strange = {
      content: ' Hello ',
      conversationId: 'elsewhere',
      key: 'mine',
      draft: false,
      sentAs: 'x',
      at: 5,
    };
    const sent = await page.sdk.sendMessage(strange);
    expect(sent).toMatchObject({ content: 'Hello', contentFormat: 'plain', state: 'sent' });
    expect(sent.conversationId).not.toBe('elsewhere');
    expect(sent.key).not.toBe('mine');
  } finally {
    page.sdk.destroy();
  }
});
