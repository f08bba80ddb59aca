// Reads a completion from its response, streamed or whole, and no more of it than anybody would show.
// Must not ask for one, and trusts nothing that it reads.
import { ModelFailed } from '../services/assistant/language-model.ts';

/** The longest answer, in UTF-16 units. */
const mostText = 65_536;
/** Of a stream: each piece of an answer comes in a few hundred bytes of JSON. */
const mostBytes = 2_097_152;

/** A body that was no answer; `again`: it may be one next time. */
export class BrokenOff extends Error {
  readonly again: boolean;
  constructor(message: string, again: boolean) {
    super(message);
    this.again = again;
  }
}

/**
 * The text of a chat completion.
 * @param touch called for each piece that arrives
 * @throws BrokenOff, ModelFailed (too long, refused by the model)
 */
export async function readCompletion(response: Response, touch: () => void): Promise<string> {
  if (!isStream(response)) return textOf(firstChoice(await readJson(response, mostBytes, touch)), 'message');
  let text = '';
  let over = false;
  for await (const line of lines(response, mostBytes, touch)) {
    if (!line.startsWith('data:')) continue;
    const data = line.slice(5).trim();
    if (data === '[DONE]') {
      over = true;
      break;
    }
    const choice = firstChoice(parse(data), true);
    text += pieceOf(choice, 'delta');
    if (text.length > mostText) throw new ModelFailed("the model's answer is too long");
    const reason = choice['finish_reason'];
    if (typeof reason === 'string') {
      assertWhole(reason);
      over = true;
      break;
    }
  }
  if (!over) throw new BrokenOff("the model's answer broke off", true);
  return notEmpty(text);
}

/** A body as JSON, of at most so many bytes. @throws BrokenOff, ModelFailed */
export async function readJson(response: Response, most: number, touch: () => void = () => undefined): Promise<unknown> {
  const parts: string[] = [];
  for await (const part of pieces(response, most, touch)) parts.push(part);
  return parse(parts.join(''));
}

function isStream({ headers }: Response): boolean {
  return headers.get('content-type')?.toLowerCase().startsWith('text/event-stream') === true;
}

async function* lines(response: Response, most: number, touch: () => void): AsyncGenerator<string> {
  let rest = '';
  for await (const piece of pieces(response, most, touch)) {
    const parts = (rest + piece).split('\n');
    rest = parts.pop() ?? '';
    yield* parts;
  }
  if (rest !== '') yield rest;
}

async function* pieces({ body }: Response, most: number, touch: () => void): AsyncGenerator<string> {
  if (body === null) return;
  const decoder = new TextDecoder();
  let bytes = 0;
  for await (const chunk of body as AsyncIterable<Uint8Array>) {
    touch();
    bytes += chunk.length;
    if (bytes > most) throw new ModelFailed("the model's answer is too long");
    yield decoder.decode(chunk, { stream: true });
  }
}

type Fields = Readonly<Record<string, unknown>>;

function fieldsOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null ? { ...value } : {};
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new BrokenOff("the model's server answered something that is no JSON", false);
  }
}

/** @param mayBeNone the last pieces of a stream may tell of its use only */
function firstChoice(value: unknown, mayBeNone = false): Fields {
  const fields = fieldsOf(value);
  if (fields['error'] !== undefined) throw new BrokenOff("the model's server reported a fault in its answer", true);
  const choices = fields['choices'];
  if (!Array.isArray(choices) || (choices.length === 0 && !mayBeNone)) throw new BrokenOff('the model gave no answer', false);
  return fieldsOf(choices[0]);
}

function pieceOf(choice: Fields, name: 'delta' | 'message'): string {
  const content = fieldsOf(choice[name])['content'];
  return typeof content === 'string' ? content : '';
}

function textOf(choice: Fields, name: 'message'): string {
  const text = pieceOf(choice, name);
  if (text.length > mostText) throw new ModelFailed("the model's answer is too long");
  const reason = choice['finish_reason'];
  if (typeof reason === 'string') assertWhole(reason);
  return notEmpty(text);
}

function assertWhole(reason: string): void {
  if (reason === 'length') throw new ModelFailed("the model's answer was cut off at its limit");
  if (reason === 'content_filter') throw new ModelFailed('the model refused to answer');
}

function notEmpty(text: string): string {
  if (text.trim() === '') throw new ModelFailed('the model answered nothing');
  return text;
}
