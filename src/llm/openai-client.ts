// The client of a language model: any server with OpenAI's chat completions. Bounds the time, the attempts, the calls at
// once and the bytes of an answer. It logs nothing, and its errors hold neither prompt nor answer.
import { globalAgent as httpAgent, type IncomingMessage } from 'node:http';
import { globalAgent as httpsAgent } from 'node:https';
import {
  ModelBusyError,
  ModelError,
  ModelRefusalError,
  type Completion,
  type Embeddings,
  type LanguageModel,
  type ModelCall,
} from '../services/assistant/language-model.ts';
import type { Clock } from '../engine/engine.ts';
import { IncompleteResponseError, maxBytes, readCompletion, readJson, toFields } from './completion-body.ts';
import { backoffDelay, type Backoff } from '../net/backoff.ts';
import { SaidTooMuchError } from '../net/bounded-stream.ts';
import { createFairLimit, QueueFullError, type FairLimit } from '../net/fair-limit.ts';
import { sendRequest } from '../net/http-request.ts';
import { createSsrfGuard } from '../net/ssrf-guard.ts';
import { errorCode } from '../net/network-errors.ts';

export interface OpenAiOptions {
  /** The base address, with its /v1 where it has one, without a trailing slash. */
  readonly url: string;
  readonly model: string;
  readonly embeddingModel: string | null;
  /** Revealed for each request and kept nowhere else. */
  readonly key: { reveal(): string } | null;
  /** For one answer: all attempts and delays together. */
  readonly timeoutMs: number;
  readonly clock: Pick<Clock, 'after' | 'monotonic'>;
  /** Aborts every call, now and later. */
  readonly closing?: AbortSignal | undefined;
}

/** Of completions, and once more of vectors: an answer takes seconds, and a question waits 1.5 s for its vector. */
const turns = { maxRunning: 8, maxRunningPerKey: 4, maxWaiting: 64, maxWaitingPerKey: 16 };
const maxAttempts = 3;
/** A server that asks for a longer delay is not asked again. */
const maxDelayMs = 10_000;
const retryBackoff: Backoff = { firstMs: 500, factor: 2, maxMs: maxDelayMs, jitter: [1, 1.5] };
/** Between two pieces of one answer. */
const idleTimeoutMs = 10_000;
const textsPerCall = 64;
const maxEmbeddingBytes = 33_554_432;
/** Overload and temporary errors; a request that failed with another status would fail again. */
const retryableStatuses: ReadonlySet<number> = new Set([408, 425, 429, 500, 502, 503, 504, 529]);

/** A failed attempt. `retryable`: another one may succeed, not before `afterMs`. */
class AttemptError extends Error {
  readonly retryable: boolean;
  readonly afterMs: number;
  readonly status: number | null;
  constructor(
    why: string,
    {
      retryable = false,
      afterMs = 0,
      status = null,
    }: { retryable?: boolean; afterMs?: number; status?: number | null } = {},
  ) {
    super(why);
    this.retryable = retryable;
    this.afterMs = afterMs;
    this.status = status;
  }
}

type Body = Readonly<Record<string, unknown>>;

/** Creates a client of one model. It connects with the first call. */
export function createOpenAiModel(options: OpenAiOptions): LanguageModel {
  const { url, model, embeddingModel, clock, timeoutMs } = options;
  const completionTurns = createFairLimit(turns);
  /** Runs a call in its asker's turn, within its time, waiting included, and again where that may help. */
  const run = async <T>(
    inTurn: FairLimit,
    { asker, signal }: ModelCall,
    attempt: (signal: AbortSignal, touch: () => void) => Promise<T>,
  ): Promise<T> => {
    const outer = options.closing === undefined ? signal : AbortSignal.any([signal, options.closing]);
    try {
      return await withTimeout(clock, timeoutMs, outer, (inTime, touch) =>
        inTurn(asker, () => withRetries(clock, inTime, () => attempt(inTime, touch)), inTime),
      );
    } catch (error) {
      if (error instanceof ModelError) throw error;
      if (outer.aborted) throw new ModelError('the question was withdrawn');
      if (error instanceof QueueFullError) throw new ModelBusyError('too many questions wait for the model');
      throw error;
    }
  };
  /** Whether the server has refused a schema, a temperature or a limit, and accepted a request without them. */
  let plain = false;

  const chat = (body: Body, signal: AbortSignal, touch: () => void): Promise<string> =>
    post(options, '/chat/completions', { body, max: maxBytes }, signal, (response) =>
      readCompletion(response, touch),
    );

  async function ask(completion: Completion, signal: AbortSignal, touch: () => void): Promise<string> {
    const simple = { model, messages: completion.messages, stream: true };
    if (plain) return chat(simple, signal, touch);
    try {
      return await chat({ ...simple, ...completionOptions(completion) }, signal, touch);
    } catch (error) {
      if (!(error instanceof AttemptError) || (error.status !== 400 && error.status !== 422)) throw error;
      // Not every server knows answers with a schema, a temperature or this name of a limit.
      const text = await chat(simple, signal, touch);
      plain = true;
      return text;
    }
  }

  return {
    name: model,
    complete: (completion, call) =>
      run(completionTurns, call, (inTime, touch) => ask(completion, inTime, touch)),
    embeddings: embeddingModel === null ? null : createEmbeddings(embeddingModel),
  };

  function createEmbeddings(name: string): Embeddings {
    const embeddingTurns = createFairLimit(turns);
    const embed = (input: readonly string[], signal: AbortSignal): Promise<Float32Array[]> =>
      post(
        options,
        '/embeddings',
        { body: { model: name, input, encoding_format: 'float' }, max: maxEmbeddingBytes },
        signal,
        async (response) => parseVectors(await readJson(response, maxEmbeddingBytes), input.length),
      );
    return {
      name,
      embed: async (texts, call) => {
        const vectors: Float32Array[] = [];
        for (let at = 0; at < texts.length; at += textsPerCall) {
          const some = texts.slice(at, at + textsPerCall);
          vectors.push(...(await run(embeddingTurns, call, (inTime) => embed(some, inTime))));
        }
        if (vectors.some(({ length }) => length !== vectors[0]?.length))
          throw new ModelError(`${url}: its vectors differ in length`);
        return vectors;
      },
    };
  }
}

function completionOptions({ schema, maxTokens }: Completion): Body {
  const format =
    schema === undefined
      ? {}
      : { response_format: { type: 'json_schema', json_schema: { ...schema, strict: true } } };
  return { temperature: 0, max_tokens: maxTokens, ...format };
}

/** Runs work under a time limit: for all of it, and, once a part has arrived, from each part to the next. */
async function withTimeout<T>(
  clock: OpenAiOptions['clock'],
  timeoutMs: number,
  outer: AbortSignal,
  work: (signal: AbortSignal, touch: () => void) => Promise<T>,
): Promise<T> {
  const late = new AbortController();
  const give = (): void => late.abort();
  const cancelTotal = clock.after(timeoutMs, give);
  let cancelIdle = (): void => undefined;
  const touch = (): void => {
    cancelIdle();
    cancelIdle = clock.after(idleTimeoutMs, give);
  };
  try {
    return await work(AbortSignal.any([outer, late.signal]), touch);
  } catch (error) {
    if (outer.aborted) throw new ModelError('the question was withdrawn');
    if (late.signal.aborted) throw new ModelError('the model did not answer in time');
    if (error instanceof AttemptError)
      throw isRefusal(error) ? new ModelRefusalError(error.message) : new ModelError(error.message);
    throw error;
  } finally {
    cancelTotal();
    cancelIdle();
  }
}

/** Some servers answer 500 to a text that is too long for them, each time. */
function isRefusal({ retryable, status }: AttemptError): boolean {
  return !retryable || status === 500;
}

/** Repeats attempts whose error may be temporary. @throws AttemptError the last one */
async function withRetries<T>(
  clock: OpenAiOptions['clock'],
  signal: AbortSignal,
  attempt: () => Promise<T>,
): Promise<T> {
  for (let tried = 1; ; tried++) {
    try {
      return await attempt();
    } catch (error) {
      if (
        !(error instanceof AttemptError) ||
        !error.retryable ||
        tried >= maxAttempts ||
        error.afterMs > maxDelayMs ||
        signal.aborted
      )
        throw error;
      await pause(clock, Math.max(error.afterMs, backoffDelay(retryBackoff, tried)), signal);
    }
  }
}

function pause(clock: OpenAiOptions['clock'], ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    // The clock's timers do not keep the process alive, and a command must not end before its answer.
    const alive = setInterval(() => undefined, 60_000);
    const stop = (): void => {
      cancel();
      clearInterval(alive);
      reject(new AttemptError('given up'));
    };
    const cancel = clock.after(ms, () => {
      signal.removeEventListener('abort', stop);
      clearInterval(alive);
      resolve();
    });
    signal.addEventListener('abort', stop, { once: true });
  });
}

/** The server's owner chose this address, and no other: no redirect is followed. */
const guard = createSsrfGuard(true);
/** Node's own, which go by a proxy where Node is told to. */
const connections = { http: httpAgent, https: httpsAgent };
/** What an answer may have between the pieces of its body, to each byte of it. */
const framing = 2;

/** One request. @param max how many bytes the body of its answer may have @throws AttemptError, ModelError */
async function post<T>(
  { url, key }: OpenAiOptions,
  path: string,
  { body, max }: { readonly body: Body; readonly max: number },
  signal: AbortSignal,
  read: (response: IncomingMessage) => Promise<T>,
): Promise<T> {
  let response: IncomingMessage;
  try {
    response = await sendRequest(new URL(url + path), {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'text/event-stream, application/json',
        'user-agent': 'Deskbell',
        ...(key === null ? {} : { authorization: `Bearer ${key.reveal()}` }),
      },
      body: Buffer.from(JSON.stringify(body)),
      guard,
      signal,
      maxAnswerBytes: framing * max,
      connections,
    });
  } catch (error) {
    if (error instanceof SaidTooMuchError) throw tooMuch();
    throw new AttemptError(`the model's server could not be reached (${errorReason(error)})`, {
      retryable: true,
    });
  }
  try {
    const { statusCode = 0 } = response;
    if (statusCode < 200 || statusCode > 299) throw statusError(response);
    return await read(response);
  } catch (error) {
    if (error instanceof AttemptError || error instanceof ModelError) throw error;
    if (error instanceof SaidTooMuchError) throw tooMuch();
    if (error instanceof IncompleteResponseError)
      throw new AttemptError(error.message, { retryable: error.retryable });
    throw new AttemptError(`the model's answer broke off (${errorReason(error)})`, { retryable: true });
  } finally {
    // Ends a response that was not read to its end.
    response.destroy();
  }
}

const tooMuch = (): ModelError => new ModelError("the model's server says more than it may");

function statusError({ statusCode: status = 0, headers }: IncomingMessage): AttemptError {
  if (status >= 300 && status < 400)
    return new AttemptError("the model's server leads elsewhere (a redirect), which is not followed", {
      status,
    });
  const seconds = Number(headers['retry-after']);
  const afterMs = Number.isFinite(seconds) && seconds > 0 ? seconds * 1000 : 0;
  return new AttemptError(`the model's server answered ${status}`, {
    retryable: retryableStatuses.has(status),
    afterMs,
    status,
  });
}

/** A short word for the log: what a library says may hold addresses and headers. */
function errorReason(error: unknown): string {
  return errorCode(error instanceof Error && error.cause !== undefined ? error.cause : error);
}

/** @throws IncompleteResponseError when the response holds no vectors */
function parseVectors(answer: unknown, count: number): Float32Array[] {
  const data: unknown =
    typeof answer === 'object' && answer !== null && 'data' in answer ? answer.data : null;
  if (!Array.isArray(data) || data.length !== count)
    throw new IncompleteResponseError('the model gave no vectors', false);
  const vectors: Float32Array[] = [];
  data.forEach((one: unknown, position) => {
    const { embedding, index = position } = toFields(one);
    const numbers = Array.isArray(embedding)
      ? embedding.filter((value): value is number => typeof value === 'number')
      : [];
    const whole =
      Array.isArray(embedding) &&
      numbers.length === embedding.length &&
      numbers.length > 0 &&
      numbers.every(Number.isFinite);
    if (!whole || typeof index !== 'number' || !(index >= 0 && index < count))
      throw new IncompleteResponseError('the model gave no vectors', false);
    vectors[index] = Float32Array.from(numbers);
  });
  if (Object.keys(vectors).length !== count)
    throw new IncompleteResponseError('the model gave no vectors', false);
  return vectors;
}
