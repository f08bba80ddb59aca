// The 15 minutes in which a message may be changed end once, also on a clock that is set back.
import { afterEach, beforeEach, expect, it } from 'vitest';
import { sizeLimits } from '../../src/protocol/codes.ts';
import { startApp, type TestApp } from '../helpers/app.ts';
import {
  createConversation,
  createMessage,
  createOrganization,
  createVisitor,
  type TestClient,
} from '../helpers/fixtures.ts';

let app: TestApp;
let visitor: TestClient;
let conversation: string;

beforeEach(async () => {
  app = await startApp();
  const { application } = await createOrganization(app, 'acme');
  visitor = createVisitor(app, application);
  conversation = await createConversation(visitor);
});
afterEach(() => app.stop());

async function change(message: string): Promise<unknown[]> {
  const path = `/conversations/${conversation}/messages/${message}`;
  const edited = await visitor.call('PATCH', path, { content: 'changed' });
  return [edited.status, edited.body.error];
}

it('does not follow a clock that is set back once something newer was stored, nor after a restart', async () => {
  const message = await createMessage(visitor, conversation, 'said');
  expect(await change(message)).toEqual([200, undefined]);
  app.clock.step(sizeLimits.editWindowMs + 1);
  await createMessage(visitor, conversation, 'later');
  app.clock.step(-sizeLimits.editWindowMs - 1);
  expect(await change(message)).toEqual([422, 'edit_window_expired']);
  await createMessage(visitor, conversation, 'by the wrong clock');
  expect(await change(message)).toEqual([422, 'edit_window_expired']);
  const path = `/conversations/${conversation}/messages/${message}`;
  expect((await visitor.call('DELETE', path)).status).toBe(422);
  app = await app.restart();
  const again = await fetch(`${app.url}/api/v1${path}`, {
    method: 'DELETE',
    headers: { ...visitor.headers },
  });
  expect(again.status).toBe(422);
});

it('is not shortened by a clock that is set back by seconds', async () => {
  const message = await createMessage(visitor, conversation, 'said');
  app.clock.step(-5_000);
  expect(await change(message)).toEqual([200, undefined]);
});
