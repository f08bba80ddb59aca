// Owns: the client of a language model against a server that fails in every way, with time moved by hand.
// Must not know what is asked: texts here mean nothing.
import { Readable } from 'node:stream';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { readCompletion, type ModelResponse } from '../../src/llm/completion-body.ts';
import { createOpenAiModel, type OpenAiOptions } from '../../src/llm/openai-client.ts';
import {
  ModelBusyError,
  ModelError,
  type LanguageModel,
} from '../../src/services/assistant/language-model.ts';
import { createTestClock, type TestClock } from '../helpers/clock.ts';
import { eventually } from '../helpers/eventually.ts';
import {
  deferredAnswer,
  statusAnswer,
  wholeAnswer,
  delta,
  ModelServer,
  streamAnswer,
} from '../helpers/model-server.ts';

let server: ModelServer;
let clock: TestClock;

beforeEach(async () => {
  server = await new ModelServer().start();
  clock = createTestClock();
});
afterEach(() => server.stop());

function aModel(more: Partial<OpenAiOptions> = {}): LanguageModel {
  return createOpenAiModel({
    url: `${server.url}/v1`,
    model: 'small-1',
    embeddingModel: null,
    key: null,
    timeoutMs: 30_000,
    clock,
    ...more,
  });
}

/** A response whose body comes in these pieces. */
const streamOf = (pieces: readonly Uint8Array[]): ModelResponse =>
  Object.assign(Readable.from(pieces), { headers: { 'content-type': 'text/event-stream' } });

const schema = { name: 'answer', schema: { type: 'object' } };
const ask = (model: LanguageModel, signal = new AbortController().signal, asker = 'acme'): Promise<string> =>
  model.complete(
    { messages: [{ role: 'user', content: `hello from ${asker}` }], schema, maxTokens: 100 },
    { asker, signal },
  );

/** Why an answer failed; the message must never hold what the server said, nor the key. */
async function why(asked: Promise<unknown>): Promise<string> {
  const error: unknown = await asked.then(
    () => new Error('it answered'),
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(ModelError);
  const { message } = error as Error;
  expect(`${message} ${String((error as Error).stack)}`).not.toMatch(/SECRET|hello/);
  return message;
}

/** Moves time on by half seconds until something has ended. */
async function inTime<T>(work: Promise<T>): Promise<T> {
  let over = false;
  void work.catch(() => undefined).finally(() => (over = true));
  await eventually(async () => {
    if (over) return;
    clock.advance(500);
    throw new Error('still working');
  });
  return work;
}

describe('an answer', () => {
  test('is read from a stream, piece by piece, wherever the pieces end', async () => {
    server.answer = streamAnswer('Grüße aus 東京 🙂', 9);
    await expect(ask(aModel())).resolves.toBe('Grüße aus 東京 🙂');
    server.answer = (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' });
      const bytes = Buffer.from(
        `: comment\n\n${delta('ü')}${delta('b')}data: {"choices":[],"usage":{}}\n\ndata: [DONE]\n\n`,
      );
      for (const byte of bytes) response.write(Buffer.from([byte]));
      response.end();
    };
    await expect(ask(aModel())).resolves.toBe('üb');
  });

  test('is looked at once, however small the pieces of a line are', async () => {
    const line = delta('x'.repeat(20_000));
    const pieces = [...Buffer.from(`${line}data: [DONE]\n\n`)].map((byte) => Uint8Array.of(byte));
    const split = vi.spyOn(String.prototype, 'split');
    try {
      expect(await readCompletion(streamOf(pieces), () => undefined)).toHaveLength(20_000);
      const looked = split.mock.contexts.reduce<number>((sum, text) => sum + String(text).length, 0);
      expect(looked).toBeLessThan(2 * line.length);
    } finally {
      split.mockRestore();
    }
  });

  test('waits for each piece once, however many lines are in it', async () => {
    const pieces = [Buffer.from('\n'.repeat(500_000)), Buffer.from(`${delta('through')}data: [DONE]\n\n`)];
    let turns = 0;
    let over = false;
    const counting = (async () => {
      while (!over) {
        await Promise.resolve();
        turns += 1;
      }
    })();
    expect(await readCompletion(streamOf(pieces), () => undefined)).toBe('through');
    over = true;
    await counting;
    expect(turns).toBeLessThan(1_000);
  });

  test('is read whole where the server does not stream', async () => {
    server.answer = wholeAnswer('all at once');
    await expect(ask(aModel())).resolves.toBe('all at once');
  });

  test('is asked for with model, limit, schema and key, and the key is in the header only', async () => {
    server.answer = streamAnswer('x');
    await ask(aModel({ key: { reveal: () => 'sk-KEY' } }));
    const [asked] = server.requests;
    expect(asked).toMatchObject({
      path: '/v1/chat/completions',
      body: { model: 'small-1', stream: true, max_tokens: 100, response_format: { type: 'json_schema' } },
    });
    expect(asked?.headers.authorization).toBe('Bearer sk-KEY');
    expect(JSON.stringify(asked?.body)).not.toContain('sk-KEY');
    await ask(aModel());
    expect(server.requests[1]?.headers.authorization).toBeUndefined();
  });

  test('comes from a server that refuses the schema, which is not asked that way again', async () => {
    const model = aModel();
    server.next.push(statusAnswer(400));
    server.answer = streamAnswer('plain');
    await expect(ask(model)).resolves.toBe('plain');
    await expect(ask(model)).resolves.toBe('plain');
    expect(server.requests.map(({ body }) => body.response_format !== undefined)).toEqual([
      true,
      false,
      false,
    ]);
  });

  test('a refusal for another reason is not taken for one of the schema', async () => {
    const model = aModel();
    server.answer = statusAnswer(400);
    expect(await why(ask(model))).toBe("the model's server answered 400");
    server.answer = streamAnswer('fine');
    await ask(model);
    expect(server.requests.at(-1)?.body.response_format).toBeDefined();
  });
});

describe('a failure', () => {
  test.each([429, 500, 503])('%i is tried again, three times in all, and then it is over', async (status) => {
    server.answer = statusAnswer(status);
    expect(await why(inTime(ask(aModel())))).toBe(`the model's server answered ${status}`);
    expect(server.requests).toHaveLength(3);
  });

  test('that passes is never noticed', async () => {
    server.next.push(statusAnswer(503), (response) => response.destroy());
    server.answer = streamAnswer('third time');
    await expect(inTime(ask(aModel()))).resolves.toBe('third time');
  });

  test.each([401, 403, 404])('%i is not tried again', async (status) => {
    server.answer = statusAnswer(status);
    await why(ask(aModel()));
    expect(server.requests).toHaveLength(1);
  });

  test('waits as long as it is told, and not at all when that is too long', async () => {
    server.next.push(statusAnswer(429, { 'retry-after': '7' }));
    server.answer = streamAnswer('after a while');
    const asked = ask(aModel());
    await server.waitForRequests(1);
    const began = clock.monotonic();
    await expect(inTime(asked)).resolves.toBe('after a while');
    expect(clock.monotonic() - began).toBeGreaterThanOrEqual(7_000);
    server.next.push(statusAnswer(429, { 'retry-after': '3600' }));
    await why(ask(aModel()));
  });

  test('a redirect is not followed, wherever it leads', async () => {
    const inside = await new ModelServer().start();
    inside.answer = streamAnswer('the secrets of the cloud');
    for (const status of [301, 302, 307, 308]) {
      server.answer = statusAnswer(status, { location: `${inside.url}/v1/chat/completions` });
      expect(await why(ask(aModel({ key: { reveal: () => 'sk-KEY' } })))).toContain('redirect');
    }
    expect(inside.requests).toEqual([]);
    await inside.stop();
  });

  test('a stream that breaks off is no answer, however much has come', async () => {
    server.answer = (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(delta('You will get all your money ba'), () => response.destroy());
    };
    expect(await why(inTime(ask(aModel())))).toContain('broke off');
    server.answer = (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.end(delta('ended without an end'));
    };
    expect(await why(inTime(ask(aModel())))).toContain('broke off');
  });

  test('an answer that was cut at its limit, filtered or empty is none', async () => {
    for (const reason of ['length', 'content_filter']) {
      server.answer = (response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.end(`${delta('half')}data: {"choices":[{"delta":{},"finish_reason":"${reason}"}]}\n\n`);
      };
      await why(ask(aModel()));
    }
    for (const nothing of ['', '  \n ']) {
      server.answer = streamAnswer(nothing);
      expect(await why(ask(aModel()))).toContain('nothing');
    }
  });

  test.each([
    ['no JSON', '<html>'],
    ['an error inside', '{"error":{"message":"SECRET"}}'],
    ['no choices', '{"choices":[]}'],
    ['a list', '[]'],
    ['null', 'null'],
    ['choices of something', '{"choices":[null]}'],
    ['deep', '['.repeat(100_000)],
  ])('a body that is %s', async (_name, body) => {
    server.answer = (response) => response.writeHead(200, { 'content-type': 'application/json' }).end(body);
    expect(await why(inTime(ask(aModel())))).toMatch(/^the model/);
  });

  test('100 MB are not read', async () => {
    for (const type of ['text/event-stream', 'application/json']) {
      let written = 0;
      server.answer = (response) => {
        response.writeHead(200, { 'content-type': type });
        const block = type === 'application/json' ? 'x'.repeat(65_536) : delta('x'.repeat(60_000));
        const pour = (): void => {
          while (written < 100_000_000 && !response.destroyed) {
            written += block.length;
            if (!response.write(block)) {
              response.once('drain', pour);
              return;
            }
          }
        };
        pour();
      };
      const before = server.abortedCount;
      expect(await why(ask(aModel()))).toContain('too long');
      await eventually(() => expect(server.abortedCount).toBe(before + 1));
      expect(written).toBeLessThan(30_000_000);
    }
  });

  test.each([
    ['before it', '', 'HTTP/1.1 102 Processing\r\n\r\n'],
    ['as empty lines', '', '\r\n'],
    [
      'as the length of a piece of it',
      'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n',
      '0',
    ],
  ])('what is said without end around an answer, %s', async (_where, begin, endless) => {
    server.answer = ({ socket }) => {
      if (socket === null) return;
      const bytes = endless.repeat(Math.ceil(65_536 / endless.length));
      const pour = (): void => {
        while (!socket.destroyed && socket.write(bytes));
      };
      socket.on('drain', pour).on('error', () => undefined);
      socket.write(begin);
      pour();
    };
    // No time passes: only what was said ends it.
    expect(await why(ask(aModel()))).toBe("the model's server says more than it may");
    expect(server.requests).toHaveLength(1);
    await eventually(() => expect(server.abortedCount).toBe(1));
  });

  test('no server there', async () => {
    const { url } = server;
    await server.stop();
    expect(await why(inTime(ask(aModel({ url: `${url}/v1` }))))).toContain('ECONNREFUSED');
    server = await new ModelServer().start();
  });
});

describe('time', () => {
  const silent = (): void => undefined;

  test('an answer that never comes ends with the time that it may take', async () => {
    server.answer = silent;
    const asked = ask(aModel({ timeoutMs: 5_000 }));
    await server.waitForRequests(1);
    clock.advance(4_999);
    clock.advance(1);
    expect(await why(asked)).toContain('in time');
    await eventually(() => expect(server.abortedCount).toBe(1));
  });

  test('an answer that stops in the middle ends sooner', async () => {
    server.answer = (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(delta('and then'));
    };
    const asked = ask(aModel({ timeoutMs: 600_000 }));
    expect(await why(inTime(asked))).toContain('in time');
    expect(clock.monotonic()).toBeLessThan(60_000);
  });

  test('one that is withdrawn ends at once, waiting or not', async () => {
    server.answer = silent;
    const withdrawn = new AbortController();
    const model = aModel();
    const asked = ask(model, withdrawn.signal);
    await server.waitForRequests(1);
    withdrawn.abort();
    expect(await why(asked)).toContain('withdrawn');
    expect(await why(ask(model, withdrawn.signal))).toContain('withdrawn');
  });

  test('one organization has four places and sixteen who wait; the next is told so', async () => {
    const { answer, go } = deferredAnswer('done');
    server.answer = answer;
    const model = aModel();
    const all = Array.from({ length: 20 }, () => ask(model));
    await server.waitForRequests(4);
    const refused: unknown = await ask(model).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(ModelBusyError);
    expect(server.requests).toHaveLength(4);
    let answered = 0;
    for (const one of all) void one.then(() => (answered += 1));
    await eventually(() => {
      go();
      expect(answered).toBe(20);
    });
  });

  test("an organization's slow answers hold no one else up", async () => {
    server.answer = silent;
    const model = aModel();
    const slow = Array.from({ length: 20 }, () => ask(model).catch(() => 'late'));
    await server.waitForRequests(4);
    server.answer = streamAnswer('at once');
    await expect(ask(model, new AbortController().signal, 'other')).resolves.toBe('at once');
    expect(server.requests).toHaveLength(5);
    // Who waits for a place waits within its time: all are over together.
    clock.advance(30_000);
    expect(new Set(await Promise.all(slow))).toEqual(new Set(['late']));
    expect(server.requests).toHaveLength(5);
  });

  test('where every place is taken, organizations take turns', async () => {
    const open: ((text: string) => void)[] = [];
    server.answer = (response, asked) => open.push((text) => streamAnswer(text)(response, asked));
    const model = aModel();
    const order: string[] = [];
    const asking = (asker: string): Promise<unknown> =>
      ask(model, new AbortController().signal, asker).then(() => order.push(asker));
    const all = ['a', 'b'].flatMap((asker) => Array.from({ length: 10 }, () => asking(asker)));
    await server.waitForRequests(8);
    all.push(asking('c'));
    // Twelve others wait longer, but those of the same two organizations.
    for (const place of [9, 10]) {
      open.shift()?.('a place is free');
      await server.waitForRequests(place);
    }
    expect(server.requests.slice(8).map(({ body }) => body.messages[0]?.content)).toContain('hello from c');
    await eventually(() => {
      for (const go of open.splice(0)) go('done');
      expect(order).toHaveLength(21);
    });
    await Promise.all(all);
  });

  test('answers under way leave vectors their own places', async () => {
    server.answer = silent;
    const model = aModel({ embeddingModel: 'vectors-1' });
    const slow = Array.from({ length: 5 }, () => ask(model).catch(() => 'late'));
    await server.waitForRequests(4);
    server.answer = (response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ data: [{ embedding: [1] }] }));
    };
    const call = { asker: 'acme', signal: new AbortController().signal };
    await expect(model.embeddings?.embed(['one'], call)).resolves.toHaveLength(1);
    clock.advance(30_000);
    await Promise.all(slow);
  });
});

describe('vectors', () => {
  const embeddings = (vectors: (texts: readonly string[]) => unknown): void => {
    server.answer = (response, { body }) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ data: vectors(body.input) }));
    };
  };
  const embed = (texts: readonly string[]) =>
    aModel({ embeddingModel: 'vectors-1' }).embeddings!.embed(texts, {
      asker: 'acme',
      signal: new AbortController().signal,
    });

  test('come in order, in several calls, even where the server mixes them', async () => {
    embeddings((texts) => texts.map((text, index) => ({ index, embedding: [Number(text), 1] })).toReversed());
    const vectors = await embed(Array.from({ length: 130 }, (_, at) => String(at)));
    expect(vectors.map(([first]) => first)).toEqual(Array.from({ length: 130 }, (_, at) => at));
    expect(server.requests.map(({ path, body }) => [path, body.model, body.input.length])).toEqual([
      ['/v1/embeddings', 'vectors-1', 64],
      ['/v1/embeddings', 'vectors-1', 64],
      ['/v1/embeddings', 'vectors-1', 2],
    ]);
  });

  test.each([
    ['too few', () => []],
    ['texts', () => [{ embedding: ['a'] }]],
    ['empty ones', () => [{ embedding: [] }]],
    ['at no place', () => [{ embedding: [1], index: 7 }]],
    ['nothing', () => null],
  ])('that are %s are none', async (_name, vectors) => {
    embeddings(vectors);
    expect(await why(inTime(embed(['one'])))).toContain('no vectors');
  });

  test('of different lengths are none', async () => {
    embeddings((texts) => texts.map((_, index) => ({ index, embedding: index === 0 ? [1] : [1, 2] })));
    expect(await why(embed(['one', 'two']))).toContain('differ');
  });

  test('are not there without a model for them', () => {
    expect(aModel().embeddings).toBeNull();
  });
});
