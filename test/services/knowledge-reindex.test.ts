// The whole way of vectors through a real endpoint: the server makes them by itself, a
// question uses them, and an endpoint that is away, late or wrong changes no answer.
import { afterEach, beforeEach, expect, it } from 'vitest';
import { startApp, type TestApp } from '../helpers/app.ts';
import { rowsOf } from '../helpers/database.ts';
import { eventually } from '../helpers/eventually.ts';
import { statusAnswer, ModelServer, type ModelAnswer } from '../helpers/model-server.ts';
import { createOrganization, type TestOrganization } from '../helpers/fixtures.ts';

let model: ModelServer;
let app: TestApp;
let acme: TestOrganization;

/** Vectors by the first letters of words. */
const vectors: ModelAnswer = (response, { body }) => {
  const data = body.input.map((text, index) => {
    const embedding = Array.from({ length: 26 }, () => 0);
    for (const [letter] of text.toLowerCase().matchAll(/\b[a-z]/g))
      embedding[letter.charCodeAt(0) - 97]! += 1;
    return { index, embedding };
  });
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ data }));
};

beforeEach(async () => {
  model = await new ModelServer().start();
  model.answer = vectors;
  app = await startApp({ flags: { aiUrl: model.url, aiModel: 'm', aiEmbeddingModel: 'letters' } });
  acme = await createOrganization(app, 'acme');
  await app.local('knowledge.add', {
    applicationId: acme.application.id,
    source: 'a',
    content: '# Alpha\n\n## Qualm\n\nquiz quota quest\n\n## Zebra\n\nzebra zeal',
  });
});
afterEach(async () => {
  await app.stop();
  await model.stop();
});

const missing = async (): Promise<unknown[]> =>
  await rowsOf(app, 'select id from knowledge_passages where embedding is null');
const find = async (query: string): Promise<string[]> =>
  (await app.local('knowledge.search', { applicationId: acme.application.id, query })).passages.map(
    ({ text }) => text,
  );

async function embedded(): Promise<void> {
  await eventually(async () => {
    app.clock.advance(5_000);
    expect(await missing()).toEqual([]);
  });
}

it('makes them in the background and finds by them', async () => {
  expect(await find('quaint queer quarry')).toEqual([]);
  await embedded();
  expect((await find('quaint queer quarry'))[0]).toBe('quiz quota quest');
  expect(
    model.requests.every(({ path, body }) => path.endsWith('/embeddings') && body.model === 'letters'),
  ).toBe(true);
});

it('tries again after a fault, says so in the log, and answers by words in between', async () => {
  model.answer = statusAnswer(400);
  await eventually(async () => {
    app.clock.advance(5_000);
    expect(app.logged.some((line) => line.includes('knowledge could not be kept up'))).toBe(true);
  });
  expect(app.logged.join('')).not.toContain('sk-SECRET');
  expect(await find('zebra')).toEqual(['zebra zeal']);
  model.answer = vectors;
  await eventually(async () => {
    app.clock.advance(60_000);
    expect(await missing()).toEqual([]);
  });
  model.answer = statusAnswer(400);
  expect(await find('zebra')).toEqual(['zebra zeal']);
});

it.each([400, 413, 500])(
  'leaves a passage without one that is refused with %i, and makes the others',
  async (status) => {
    const long = 'x'.repeat(600);
    model.answer = (response, asked) =>
      asked.body.input.some((text) => text.includes(long))
        ? statusAnswer(status)(response, asked)
        : vectors(response, asked);
    await app.local('knowledge.add', {
      applicationId: acme.application.id,
      source: 'b',
      content: `# Beta\n\n## Long\n\n${long}\n\n## Yak\n\nyellow yam yoke`,
    });
    await eventually(async () => {
      app.clock.advance(1_000);
      expect((await missing()).length).toBeLessThan(2);
      expect((await find('young yarn year'))[0]).toBe('yellow yam yoke');
    });
    const asked = model.requests.length;
    expect(await rowsOf(app, 'select id from knowledge_passages where embedding_model is null')).toEqual([]);
    expect(await missing()).toHaveLength(1);
    await app.local('knowledge.add', { applicationId: acme.application.id, source: 'c', content: 'Zinc.' });
    await eventually(async () => {
      app.clock.advance(5_000);
      expect(await missing()).toHaveLength(1);
      expect(model.requests.slice(asked).map(({ body }) => body.input)).toEqual([expect.any(Array)]);
    });
  },
);

it('stops at once with the server, even in the middle of a call', async () => {
  model.answer = () => undefined;
  const before = model.requests.length;
  await eventually(async () => {
    app.clock.advance(5_000);
    expect(model.requests.length).toBeGreaterThan(before);
  });
  await app.stop();
  await eventually(() => expect(model.abortedCount).toBeGreaterThan(0));
});
