// The one client of a language model: any server with OpenAI's chat completions. Owns time limits, retries, how many
// calls run at once, and how much is read. Must not know what is asked, nor log it: what it throws names no text.
import { ModelFailed, type Completion, type Embeddings, type LanguageModel } from '../services/assistant/language-model.ts';
import type { Clock } from '../engine/engine.ts';
import { BrokenOff, readCompletion, readJson } from './completion-body.ts';
import { createGate } from './gate.ts';

export interface OpenAiOptions {
  /** The base address, with its /v1 where it has one, without a trailing slash. */
  readonly url: string;
  readonly model: string;
  readonly embeddingModel: string | null;
  /** Revealed for each request and kept nowhere else. */
  readonly key: { reveal(): string } | null;
  /** For one answer, all attempts and waiting together. */
  readonly timeoutMs: number;
  readonly clock: Pick<Clock, 'after' | 'monotonic'>;
  /** Withdraws every question, now and later. */
  readonly closing?: AbortSignal | undefined;
}

const mostAtOnce = 8;
const mostWaiting = 64;
const mostAttempts = 3;
const firstDelayMs = 500;
/** Whoever is asked to wait longer than this waits for nothing. */
const longestDelayMs = 10_000;
/** Between two pieces of one answer. */
const idleMs = 10_000;
const textsPerCall = 64;
const embeddingBytes = 33_554_432;
/** Overloaded or passing faults; anything else would be refused again. */
const passing: ReadonlySet<number> = new Set([408, 425, 429, 500, 502, 503, 504, 529]);

/** An attempt that failed; `again`: another may do better, not before `afterMs`. */
class Attempt extends Error {
  readonly again: boolean;
  readonly afterMs: number;
  readonly status: number | null;
  constructor(
    why: string,
    { again = false, afterMs = 0, status = null }: { again?: boolean; afterMs?: number; status?: number | null } = {},
  ) {
    super(why);
    this.again = again;
    this.afterMs = afterMs;
    this.status = status;
  }
}

type Body = Readonly<Record<string, unknown>>;

/** A client of one model. Nothing is asked before the first call. */
export function createOpenAiModel(options: OpenAiOptions): LanguageModel {
  const { url, model, embeddingModel, clock, timeoutMs } = options;
  const gate = createGate(mostAtOnce, mostWaiting);
  /** In turn, in time, and again where that may help. */
  const run = <T>(signal: AbortSignal, attempt: (signal: AbortSignal, touch: () => void) => Promise<T>): Promise<T> => {
    const outer = options.closing === undefined ? signal : AbortSignal.any([signal, options.closing]);
    return gate(outer, () =>
      withinTime(clock, timeoutMs, outer, (inTime, touch) => insistently(clock, inTime, () => attempt(inTime, touch))),
    );
  };
  /** Whether the server has refused our usual way of asking and taken a plainer one. */
  let plain = false;

  const chat = (body: Body, signal: AbortSignal, touch: () => void): Promise<string> =>
    post(options, '/chat/completions', body, signal, (response) => readCompletion(response, touch));

  async function ask(completion: Completion, signal: AbortSignal, touch: () => void): Promise<string> {
    const simple = { model, messages: completion.messages, stream: true };
    if (plain) return chat(simple, signal, touch);
    try {
      return await chat({ ...simple, ...details(completion) }, signal, touch);
    } catch (error) {
      if (!(error instanceof Attempt) || (error.status !== 400 && error.status !== 422)) throw error;
      // Not every server knows answers with a schema, a temperature or this name of a limit.
      const text = await chat(simple, signal, touch);
      plain = true;
      return text;
    }
  }

  return {
    name: model,
    complete: (completion, signal) => run(signal, (inTime, touch) => ask(completion, inTime, touch)),
    embeddings: embeddingModel === null ? null : createEmbeddings(embeddingModel),
  };

  function createEmbeddings(name: string): Embeddings {
    const embed = (input: readonly string[], signal: AbortSignal): Promise<Float32Array[]> =>
      post(options, '/embeddings', { model: name, input, encoding_format: 'float' }, signal, async (response) =>
        vectorsOf(await readJson(response, embeddingBytes), input.length),
      );
    return {
      name,
      embed: async (texts, signal) => {
        const vectors: Float32Array[] = [];
        for (let at = 0; at < texts.length; at += textsPerCall) {
          const some = texts.slice(at, at + textsPerCall);
          vectors.push(...(await run(signal, (inTime) => embed(some, inTime))));
        }
        if (vectors.some(({ length }) => length !== vectors[0]?.length)) throw new ModelFailed(`${url}: its vectors differ in length`);
        return vectors;
      },
    };
  }
}

function details({ schema, maxTokens }: Completion): Body {
  const format = schema === undefined ? {} : { response_format: { type: 'json_schema', json_schema: { ...schema, strict: true } } };
  return { temperature: 0, max_tokens: maxTokens, ...format };
}

/** Runs work under a time limit: for all of it, and, once something has come, between its signs of life. */
async function withinTime<T>(
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
    cancelIdle = clock.after(idleMs, give);
  };
  try {
    return await work(AbortSignal.any([outer, late.signal]), touch);
  } catch (error) {
    if (outer.aborted) throw new ModelFailed('the question was withdrawn');
    if (late.signal.aborted) throw new ModelFailed('the model did not answer in time');
    if (error instanceof Attempt) throw new ModelFailed(error.message);
    throw error;
  } finally {
    cancelTotal();
    cancelIdle();
  }
}

/** Tries again, a few times, what may pass. @throws Attempt, the last one */
async function insistently<T>(clock: OpenAiOptions['clock'], signal: AbortSignal, attempt: () => Promise<T>): Promise<T> {
  for (let tried = 1; ; tried++) {
    try {
      return await attempt();
    } catch (error) {
      if (!(error instanceof Attempt) || !error.again || tried >= mostAttempts || error.afterMs > longestDelayMs || signal.aborted)
        throw error;
      await pause(clock, Math.max(error.afterMs, firstDelayMs * 2 ** (tried - 1) * (1 + Math.random() / 2)), signal);
    }
  }
}

function pause(clock: OpenAiOptions['clock'], ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    // The clock's timers let a process end, and a command would end in the middle of its question.
    const alive = setInterval(() => undefined, 60_000);
    const stop = (): void => {
      cancel();
      clearInterval(alive);
      reject(new Attempt('given up'));
    };
    const cancel = clock.after(ms, () => {
      signal.removeEventListener('abort', stop);
      clearInterval(alive);
      resolve();
    });
    signal.addEventListener('abort', stop, { once: true });
  });
}

/** One request. @throws Attempt for whatever goes wrong with it */
async function post<T>(
  { url, key }: OpenAiOptions,
  path: string,
  body: Body,
  signal: AbortSignal,
  read: (response: Response) => Promise<T>,
): Promise<T> {
  let response: Response;
  try {
    response = await fetch(url + path, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'text/event-stream, application/json',
        'user-agent': 'Deskbell',
        ...(key === null ? {} : { authorization: `Bearer ${key.reveal()}` }),
      },
      body: JSON.stringify(body),
      // The address was chosen by the owner of the server; where that one sends us was not.
      redirect: 'manual',
      signal,
    });
  } catch (error) {
    throw new Attempt(`the model's server could not be reached (${reasonOf(error)})`, { again: true });
  }
  try {
    if (!response.ok) throw refusal(response);
    return await read(response);
  } catch (error) {
    if (error instanceof Attempt || error instanceof ModelFailed) throw error;
    if (error instanceof BrokenOff) throw new Attempt(error.message, { again: error.again });
    throw new Attempt(`the model's answer broke off (${reasonOf(error)})`, { again: true });
  } finally {
    // Whatever was not read is not wanted any more.
    await response.body?.cancel().catch(() => undefined);
  }
}

function refusal({ status, headers }: Response): Attempt {
  if (status >= 300 && status < 400)
    return new Attempt("the model's server leads elsewhere (a redirect), which is not followed", { status });
  const seconds = Number(headers.get('retry-after'));
  const afterMs = Number.isFinite(seconds) && seconds > 0 ? seconds * 1000 : 0;
  return new Attempt(`the model's server answered ${status}`, { again: passing.has(status), afterMs, status });
}

/** A short word for the log: what a library says may hold addresses and headers. */
function reasonOf(error: unknown): string {
  const cause: unknown = error instanceof Error && error.cause !== undefined ? error.cause : error;
  if (typeof cause === 'object' && cause !== null && 'code' in cause && typeof cause.code === 'string') return cause.code;
  return cause instanceof Error ? cause.name : 'unknown';
}

/** @throws BrokenOff when the answer is none */
function vectorsOf(answer: unknown, count: number): Float32Array[] {
  const data: unknown = typeof answer === 'object' && answer !== null && 'data' in answer ? answer.data : null;
  if (!Array.isArray(data) || data.length !== count) throw new BrokenOff('the model gave no vectors', false);
  const vectors: Float32Array[] = [];
  data.forEach((one: unknown, position) => {
    const { embedding, index = position } = (typeof one === 'object' && one !== null ? one : {}) as {
      embedding?: unknown;
      index?: unknown;
    };
    const numbers = Array.isArray(embedding) ? embedding.filter((value): value is number => typeof value === 'number') : [];
    const whole = Array.isArray(embedding) && numbers.length === embedding.length && numbers.length > 0 && numbers.every(Number.isFinite);
    if (!whole || typeof index !== 'number' || !(index >= 0 && index < count)) throw new BrokenOff('the model gave no vectors', false);
    vectors[index] = Float32Array.from(numbers);
  });
  if (Object.keys(vectors).length !== count) throw new BrokenOff('the model gave no vectors', false);
  return vectors;
}
