// Owns: files sent with messages, at both transports: upload, use, download, limits, who may what, and what is refused.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startApp, type TestApp } from '../helpers/app.ts';
import {
  createOrganization,
  createVisitor,
  createConversation,
  type TestClient,
  type TestOrganization,
} from '../helpers/fixtures.ts';
import { download, pngPicture, uploadFile } from '../helpers/files.ts';

let app: TestApp;
let acme: TestOrganization;
let visitor: TestClient;

beforeAll(async () => {
  app = await startApp();
  acme = await createOrganization(app, 'acme');
  visitor = createVisitor(app, acme.application);
});
afterAll(() => app.stop());

test('a visitor sends a picture, and it is in the answer, the history and under its link', async () => {
  const conversation = await createConversation(visitor);
  const picture = pngPicture(40, 30);
  const { status, body } = await uploadFile(app, visitor, picture, { name: 'Bild ä.png', type: 'image/png' });
  expect(status).toBe(201);
  const { file } = body;
  expect(file).toEqual({
    id: expect.any(String),
    name: 'Bild ä.png',
    type: 'image/png',
    size: picture.length,
    width: 40,
    height: 30,
    state: 'ready',
  });
  const sent = await visitor.call('POST', `/conversations/${conversation}/messages`, {
    content: 'see',
    attachments: [file.id],
  });
  expect(sent.status).toBe(201);
  const { state: _state, ...fields } = file;
  expect(sent.body.message.attachments).toEqual([
    { ...fields, url: expect.stringContaining('/api/v1/files/') },
  ]);
  const history = await visitor.call('GET', `/conversations/${conversation}/messages`);
  expect(history.body.messages[0].attachments).toEqual(sent.body.message.attachments);
  const got = await download(sent.body.message.attachments[0].url as string);
  expect(got.status).toBe(200);
  expect(got.bytes.equals(picture)).toBe(true);
  expect(got.headers.get('content-disposition')).toMatch(/^inline;/);
});
