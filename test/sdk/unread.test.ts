// The unread count against answers that are older than what the socket has told since they were asked for.
import { expect, it } from 'vitest';
import { startApp } from '../helpers/app.ts';
import { eventually } from '../helpers/eventually.ts';
import { openPage } from '../helpers/sdk-page.ts';
import { createMember, createOrganization } from '../helpers/fixtures.ts';

it('asks again when a message comes while the unread count is on its way', async () => {
  const app = await startApp();
  const { application } = await createOrganization(app, 'acme');
  const operator = await createMember(app, 'acme');
  let holding = false;
  let answered = 0;
  const held = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
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
        if (!url.endsWith('/unread')) return response;
        // The count is fixed before it is held back.
        const text = await response.text();
        held.resolve();
        if (holding) await released.promise;
        answered += 1;
        return new Response(text, response);
      },
    },
  });
  try {
    const { sdk } = page;
    const { conversationId: id } = await sdk.sendMessage('hello');
    await eventually(() => expect(sdk.getState().connection).toBe('online'));
    await operator.call('POST', `/conversations/${id}/accept`);
    await operator.call('POST', `/conversations/${id}/messages`, { content: 'one' });
    await eventually(() => expect(sdk.getState().unread).toBe(1));
    expect(answered).toBe(0);
    holding = true;
    page.sockets.at(-1)!.terminate();
    await held.promise;
    await operator.call('POST', `/conversations/${id}/messages`, { content: 'two' });
    await eventually(() => expect(sdk.getState().unread).toBe(2));
    const counts: number[] = [];
    sdk.on('unread', ({ count }) => counts.push(count));
    released.resolve();
    await eventually(() => expect(answered).toBe(2));
    expect(sdk.getState().unread).toBe(2);
    expect(counts).toEqual([]);
  } finally {
    page.sdk.destroy();
    await app.stop();
  }
});
