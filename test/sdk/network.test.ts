// Owns the promise "no gap and no double" over a network that delays, cuts at random bytes
// and swallows: what the SDK shows is held against the stored history.
import { afterEach, expect, it } from 'vitest';
import { startApp, type TestApp } from '../helpers/app.ts';
import { eventually } from '../helpers/eventually.ts';
import { rounds, seed, seededRandom } from '../helpers/rounds.ts';
import { openPage, type Page } from '../helpers/sdk-page.ts';
import { startProxy, type Proxy } from '../helpers/proxy.ts';
import { createMember, createOrganization, createVisitor, type TestClient } from '../helpers/fixtures.ts';

const disconnects = rounds(50, 1_000);

let app: TestApp;
let proxy: Proxy;
let page: Page;

afterEach(async () => {
  page.sdk.destroy();
  await proxy.stop();
  await app.stop();
});

/** All that is stored, as the visitor may see it. */
async function history(
  visitor: TestClient,
  conversationId: string,
): Promise<{ id: string; content: string; editedAt: string | null }[]> {
  const all: { id: string; content: string; editedAt: string | null }[] = [];
  for (;;) {
    const { body } = await visitor.call(
      'GET',
      `/conversations/${conversationId}/messages?limit=100&offset=${all.length}`,
    );
    all.push(...body.messages);
    if (body.messages.length < 100)
      return all.map(({ id, content, editedAt }) => ({ id, content, editedAt }));
  }
}

it(`shows exactly what is stored after ${disconnects} disconnects at random bytes (seed ${seed})`, async () => {
  const random = seededRandom();
  // Who catches up more than ten times in a second waits for the next one.
  app = await startApp({ realTime: true });
  const acme = await createOrganization(app, 'acme');
  const operator = await createMember(app, 'acme');
  proxy = await startProxy(app.url);
  page = openPage({
    url: proxy.url,
    appId: acme.application.id,
    origin: acme.application.origin,
    environment: { random },
  });
  const { sdk } = page;
  await page.ready;
  const first = await sdk.sendMessage('0 from the visitor');
  const { conversationId } = first;
  const visitor = createVisitor(app, acme.application, sdk.getState().visitorId!);
  await operator.call('POST', `/conversations/${conversationId}/accept`);

  proxy.injectFaults(
    () => ({ afterBytes: Math.floor(random() * 4_000), what: random() < 0.85 ? 'cut' : 'swallow' }),
    () => (random() < 0.3 ? Math.floor(random() * 20) : 0),
  );
  proxy.cutAll();
  const sends: Promise<unknown>[] = [];
  let sent = 0;
  while (proxy.faults < disconnects) {
    sent += 1;
    const written = await operator.call('POST', `/conversations/${conversationId}/messages`, {
      content: `${sent} from the operator`,
    });
    const { id } = written.body.message as { id: string };
    const chance = random();
    if (chance < 0.15)
      await operator.call('PATCH', `/conversations/${conversationId}/messages/${id}`, {
        content: `${sent} edited`,
      });
    else if (chance < 0.25) await operator.call('DELETE', `/conversations/${conversationId}/messages/${id}`);
    if (chance > 0.5) sends.push(sdk.sendMessage(`${sent} from the visitor`));
    await new Promise((resolve) => setTimeout(resolve, random() * 30));
  }
  proxy.injectFaults(null);
  proxy.cutAll();
  await Promise.all(sends);

  // What is older than the pages that the SDK was asked for is not expected to be there.
  await eventually(async () => {
    const stored = await history(visitor, conversationId);
    const shown = sdk.getState().messages.map(({ id, content, editedAt }) => ({ id, content, editedAt }));
    expect(shown).toEqual(stored);
  });
  const keys = sdk.getState().messages.map(({ key }) => key);
  expect(new Set(keys).size).toBe(keys.length);
  const own = sdk
    .getState()
    .messages.filter((message) => message.own)
    .map(({ content }) => content);
  expect(own.toSorted()).toEqual([...new Set(own)].toSorted());
  expect(own.length).toBe(sends.length + 1);
  const announced = page.received('message').map(({ id }) => id);
  expect(new Set(announced).size).toBe(announced.length);
});
