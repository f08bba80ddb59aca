// Owns: the settings of the language model, and what doctor says of one that answers, fails, or is not there.
// Must not start a process: the checks are plain functions.
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { checkModel } from '../../src/cli/model-check.ts';
import { ConfigError, readConfig } from '../../src/config.ts';
import { statusAnswer, ModelServer, streamAnswer } from '../helpers/model-server.ts';

let server: ModelServer;

beforeEach(async () => {
  server = await new ModelServer().start();
});
afterEach(() => server.stop());

const model = (more: Readonly<Record<string, string>> = {}) =>
  readConfig({}, { DESKBELL_AI_URL: server.url, DESKBELL_AI_MODEL: 'small-1', ...more });

describe('the settings', () => {
  test.each([
    ['http://localhost:11434', 'http://localhost:11434/v1'],
    ['http://localhost:11434/', 'http://localhost:11434/v1'],
    ['https://api.example.com/v1', 'https://api.example.com/v1'],
    ['https://api.example.com/v1/', 'https://api.example.com/v1'],
    ['https://api.example.com/v1/chat/completions', 'https://api.example.com/v1'],
    ['https://example.com/openai/v1', 'https://example.com/openai/v1'],
    ['http://169.254.169.254/v1', 'http://169.254.169.254/v1'],
  ])('%s is asked under %s', (typed, used) => {
    expect(model({ DESKBELL_AI_URL: typed }).aiUrl).toBe(used);
  });

  test.each([
    'example.com',
    'file:///etc/passwd',
    'gopher://x',
    'https://user:pass@example.com',
    'https://example.com/?key=1',
    'https://example.com/#x',
  ])('%s is no address of a model', (typed) => {
    expect(() => model({ DESKBELL_AI_URL: typed })).toThrow(ConfigError);
  });

  test('half a configuration is refused, whichever half', () => {
    for (const half of ['DESKBELL_AI_URL', 'DESKBELL_AI_MODEL'] as const)
      expect(() => model({ [half]: '' })).toThrow(/^DESKBELL_AI_\w+ is set without DESKBELL_AI_\w+/);
    expect(() => readConfig({}, { DESKBELL_AI_EMBEDDING_MODEL: 'vectors-1' })).toThrow(ConfigError);
    expect(readConfig({}, {})).toMatchObject({
      aiUrl: null,
      aiModel: null,
      aiEmbeddingModel: null,
      aiKey: null,
      metricsToken: null,
      aiTimeout: 30,
    });
  });

  test('the key shows nowhere, and no flag takes it', () => {
    const config = model({ DESKBELL_AI_KEY: 'sk-SECRET' });
    expect(config.aiKey?.reveal()).toBe('sk-SECRET');
    expect(JSON.stringify(config)).not.toContain('sk-SECRET');
    expect(String(config.aiKey)).toBe('***');
  });
});

describe('doctor', () => {
  test('is content without a model, and says that it quotes', async () => {
    expect(await checkModel(readConfig({}, {}))).toMatchObject([
      { state: 'ok', found: 'no language model: it quotes the documents' },
    ]);
  });

  test('asks the model, and the one for vectors', async () => {
    server.answer = (response, asked) => {
      if (asked.path.endsWith('/embeddings')) response.end(JSON.stringify({ data: [{ embedding: [1, 2] }] }));
      else streamAnswer('ready')(response, asked);
    };
    const findings = await checkModel(
      model({ DESKBELL_AI_EMBEDDING_MODEL: 'vectors-1', DESKBELL_AI_KEY: 'sk-SECRET' }),
    );
    expect(findings.map(({ state }) => state)).toEqual(['ok', 'ok', 'note']);
    expect(server.requests.map(({ headers }) => headers.authorization)).toEqual([
      'Bearer sk-SECRET',
      'Bearer sk-SECRET',
    ]);
    expect(JSON.stringify(findings)).not.toContain('sk-SECRET');
  });

  test('says why a model does not answer, without the key and without its words', async () => {
    server.answer = statusAnswer(401);
    const [finding] = await checkModel(model({ DESKBELL_AI_KEY: 'sk-SECRET' }));
    expect(finding).toMatchObject({
      state: 'wrong',
      found: expect.stringContaining("the model's server answered 401") as string,
    });
    expect(JSON.stringify(finding)).not.toContain('SECRET');
  });

  test('warns of a key that would travel in the open', async () => {
    const findings = await checkModel(
      model({ DESKBELL_AI_URL: 'http://192.0.2.1.example', DESKBELL_AI_TIMEOUT: '1' }),
    );
    expect(findings.at(-1)).toMatchObject({
      state: 'wrong',
      found: expect.stringContaining('unencrypted') as string,
    });
  });
});
