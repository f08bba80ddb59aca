// What a server says to a command, in bounds and of the form that the contract gives it: whatever answers at an address that
// a person has typed may be anything.
import manifest from '../../package.json' with { type: 'json' };
import { CommandError } from './errors.ts';
import { sdkError } from '../sdk/error.ts';
import type { SdkError } from '../sdk/types.ts';

/** For so long a server's description of itself is waited for. */
const describeMs = 10_000;
/** The longest list with the longest texts, and as much again. */
const maxAnswerBytes = 67_108_864;
const maxRefusalBytes = 65_536;

/** The error of an answer that no Deskbell gives. */
export const strangeAnswer = (status: number): SdkError => sdkError('network', `HTTP ${status}`, status);

/**
 * The bytes of an answer as they come.
 * @throws SdkError network, with the status, where there are more than there may be; the error of the connection
 */
export async function* boundedBody(
  { body, status }: Response,
  maxBytes: number = maxAnswerBytes,
): AsyncGenerator<Uint8Array> {
  if (body === null) return;
  let left = maxBytes;
  const pieces: AsyncIterable<Uint8Array> = body;
  for await (const piece of pieces) {
    left -= piece.length;
    // Leaving ends the connection.
    if (left < 0) throw strangeAnswer(status);
    yield piece;
  }
}

/** The text of an answer; one that refuses has a sentence. @throws as boundedBody */
export async function readText(response: Response): Promise<string> {
  const pieces: Uint8Array[] = [];
  for await (const piece of boundedBody(response, response.ok ? maxAnswerBytes : maxRefusalBytes))
    pieces.push(piece);
  return Buffer.concat(pieces).toString();
}

/** What refuses, as text; empty where it has not the form of a refusal, so that only its status is told. */
export async function readRefusal(response: Response): Promise<string> {
  const said = await readJson(response);
  const isRefusal =
    typeof said === 'object' &&
    said !== null &&
    'message' in said &&
    typeof said.message === 'string' &&
    'error' in said &&
    typeof said.error === 'string';
  return isRefusal ? JSON.stringify(said) : '';
}

/** The JSON of an answer; null: it is none. @throws as boundedBody */
export async function readJson(response: Response): Promise<unknown> {
  const text = await readText(response);
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/**
 * Whether an answer is what the operation at a path answers, as far as its fields go: what is in them may be of a newer
 * version, with words that this one does not know.
 */
export async function isAnswerOf(method: string, path: string, answer: unknown): Promise<boolean> {
  const { operationNames, operationRow } = await import('../protocol/operations.ts');
  const asked = (path.split('?', 1)[0] ?? '').split('/');
  // Of two that fit, the one with more words of its own: `/conversations/counts` is no conversation.
  const [meant] = operationNames
    .map((name) => operationRow(name))
    .flatMap(({ rest, ...operation }) => {
      const own = rest?.[0] === method ? ownWords(rest[1].split('/'), asked) : null;
      return own === null ? [] : [{ own, ...operation }];
    })
    .toSorted((one, other) => other.own - one.own);
  if (meant === undefined) return true;
  const { envelope, output } = meant;
  if (typeof answer !== 'object' || answer === null) return false;
  const fields: Readonly<Record<string, unknown>> = { ...answer };
  const inside = envelope === undefined ? answer : fields[envelope];
  const checked = output.safeParse(inside);
  return (
    checked.success ||
    checked.error.issues.every(({ code, path: at }) => at.length > 1 || code === 'invalid_union')
  );
}

/**
 * The error of an answer that has not the fields that an operation answers. A Deskbell of another version describes itself
 * all the same: the person at the command is to hear that, and not that there is none.
 */
export async function otherAnswer(url: string, status: number): Promise<SdkError | CommandError> {
  return (await describesItself(url)) ? new CommandError(otherVersion(url)) : strangeAnswer(status);
}

/** What is said of a server that answers otherwise than this version knows. */
export function otherVersion(url: string): string {
  return `The Deskbell at ${url} is older or newer than this command (${manifest.version}), and answers this otherwise. Bring both to the same version, or use the command of the server's.`;
}

async function describesItself(url: string): Promise<boolean> {
  try {
    const signal = AbortSignal.timeout(describeMs);
    const said = await readJson(await fetch(new URL('/openapi.json', url), { redirect: 'manual', signal }));
    const info = typeof said === 'object' && said !== null && 'info' in said ? said.info : null;
    return typeof info === 'object' && info !== null && 'title' in info && info.title === 'Deskbell';
  } catch {
    return false;
  }
}

/** How many words of a route are in a path that it fits; null: it does not fit. */
function ownWords(route: readonly string[], asked: readonly string[]): number | null {
  if (route.length !== asked.length) return null;
  const own = route.filter((word, index) => word === asked[index]).length;
  return route.every((word, index) => word.startsWith(':') || word === asked[index]) ? own : null;
}
