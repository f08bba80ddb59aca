// Owns the unread count against answers that are older than what was heard meanwhile.
// Must not need tabs or a bad network.
import { expect, it } from 'vitest';
import { startApp } from '../helpers/app.ts';
import { eventually } from '../helpers/eventually.ts';
import { openPage } from '../helpers/sdk-page.ts';
import { createMember, createOrganization } from '../helpers/fixtures.ts';

it('asks again when a message came while the unread count was on its way', async () => {
  const app = await startApp();
  const { application } = await createOrganization(app, 'acme');
  const operator = await createMember(app, 'acme');
  let holding = false;
  let isHeld = false;
  let release = (): void => undefined;
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  const page = openPage({
    url: app.url,
    appId: application.id,
    origin: application.origin,
    environment: {
      fetch: async (url, request) => {
        const { cache: _cache, keepalive: _keepalive, ...rest } = request;
        const response = await fetch(url, {
          ...rest,
          headers: { ...request.headers, origin: application.origin },
        });
        if (!holding || !url.endsWith('/unread')) return response;
        // The count is fixed before it is held back.
        const text = await response.text();
        isHeld = true;
        await released;
        return new Response(text, response);
      },
    },
  });
  try {
    const { sdk } = page;
    const { conversationId: id } = await sdk.sendMessage('hello');
    await operator.call('POST', `/conversations/${id}/accept`);
    await operator.call('POST', `/conversations/${id}/messages`, { content: 'one' });
    await eventually(() => expect(sdk.getState().unread).toBe(1));
    holding = true;
    const opened = sdk.openConversation(id);
    await eventually(() => expect(isHeld).toBe(true));
    await operator.call('POST', `/conversations/${id}/messages`, { content: 'two' });
    await eventually(() => expect(sdk.getState().unread).toBe(2));
    holding = false;
    release();
    expect((await opened)?.unread).toBe(2);
    expect(sdk.getState().unread).toBe(2);
  } finally {
    page.sdk.destroy();
    await app.stop();
  }
});
