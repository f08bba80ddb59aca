// Reads a completion from its response, streamed or whole, within bounds. Nothing in a response is trusted.
import { ModelError } from '../services/assistant/language-model.ts';

/** The longest answer, in UTF-16 units. */
const maxTextLength = 65_536;
/** Of a stream: each piece of an answer comes in a few hundred bytes of JSON. */
export const maxBytes = 2_097_152;

/** A response of the model's server, as far as it is read here. */
export interface ModelResponse extends AsyncIterable<unknown> {
  readonly headers: { readonly 'content-type'?: string | undefined };
}

/** A body without a whole answer. `retryable`: the next one may be whole. */
export class IncompleteResponseError extends Error {
  readonly retryable: boolean;
  constructor(message: string, retryable: boolean) {
    super(message);
    this.retryable = retryable;
  }
}

/**
 * The text of a chat completion.
 * @param touch called for each part that arrives
 * @throws IncompleteResponseError, ModelError (too long, refused by the model)
 */
export async function readCompletion(response: ModelResponse, touch: () => void): Promise<string> {
  if (!isStream(response)) return getText(firstChoice(await readJson(response, maxBytes, touch)), 'message');
  let text = '';
  for await (const lines of readLines(response, maxBytes, touch))
    for (const line of lines) {
      if (!line.startsWith('data:')) continue;
      const data = line.slice(5).trim();
      if (data === '[DONE]') return assertNotEmpty(text);
      const choice = firstChoice(parseJson(data), true);
      text += getContent(choice, 'delta');
      if (text.length > maxTextLength) throw new ModelError("the model's answer is too long");
      const reason = choice['finish_reason'];
      if (typeof reason !== 'string') continue;
      assertFinished(reason);
      return assertNotEmpty(text);
    }
  throw new IncompleteResponseError("the model's answer broke off", true);
}

/** A body as JSON. @param max bytes @throws IncompleteResponseError, ModelError */
export async function readJson(
  response: ModelResponse,
  max: number,
  touch: () => void = () => undefined,
): Promise<unknown> {
  const parts: string[] = [];
  for await (const part of decodeChunks(response, max, touch)) parts.push(part);
  return parseJson(parts.join(''));
}

function isStream({ headers }: ModelResponse): boolean {
  return headers['content-type']?.toLowerCase().startsWith('text/event-stream') === true;
}

/** Lines as they come, those of a piece together: to wait for each would hold the loop where they are short and many. */
async function* readLines(
  response: ModelResponse,
  max: number,
  touch: () => void,
): AsyncGenerator<readonly string[]> {
  // What came of a line is not looked at again for each piece that comes of it.
  let parts: string[] = [];
  for await (const piece of decodeChunks(response, max, touch)) {
    const [head = '', ...lines] = piece.split('\n');
    parts.push(head);
    const rest = lines.pop();
    if (rest === undefined) continue;
    yield [parts.join('')];
    yield lines;
    parts = [rest];
  }
  yield [parts.join('')];
}

async function* decodeChunks(
  response: ModelResponse,
  max: number,
  touch: () => void,
): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let bytes = 0;
  for await (const chunk of response) {
    if (!(chunk instanceof Uint8Array)) continue;
    touch();
    bytes += chunk.length;
    if (bytes > max) throw new ModelError("the model's answer is too long");
    yield decoder.decode(chunk, { stream: true });
  }
}

type Fields = Readonly<Record<string, unknown>>;

export function toFields(value: unknown): Fields {
  return typeof value === 'object' && value !== null ? { ...value } : {};
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new IncompleteResponseError("the model's server answered something that is no JSON", false);
  }
}

/** @param mayBeNone the last parts of a stream may hold nothing but usage figures */
function firstChoice(value: unknown, mayBeNone = false): Fields {
  const fields = toFields(value);
  if (fields['error'] !== undefined)
    throw new IncompleteResponseError("the model's server reported a fault in its answer", true);
  const choices = fields['choices'];
  if (!Array.isArray(choices) || (choices.length === 0 && !mayBeNone))
    throw new IncompleteResponseError('the model gave no answer', false);
  return toFields(choices[0]);
}

function getContent(choice: Fields, name: 'delta' | 'message'): string {
  const content = toFields(choice[name])['content'];
  return typeof content === 'string' ? content : '';
}

function getText(choice: Fields, name: 'message'): string {
  const text = getContent(choice, name);
  if (text.length > maxTextLength) throw new ModelError("the model's answer is too long");
  const reason = choice['finish_reason'];
  if (typeof reason === 'string') assertFinished(reason);
  return assertNotEmpty(text);
}

function assertFinished(reason: string): void {
  if (reason === 'length') throw new ModelError("the model's answer was cut off at its limit");
  if (reason === 'content_filter') throw new ModelError('the model refused to answer');
}

function assertNotEmpty(text: string): string {
  if (text.trim() === '') throw new ModelError('the model answered nothing');
  return text;
}
