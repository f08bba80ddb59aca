// Owns which answers a frame may have, told from the protocol alone, and whether those that came fit those that were
// sent, in their order. Must not know how frames travel.
import { clientFrames, type ClientFrameType } from '../../src/protocol/frames.ts';
import { parseJson } from '../../src/services/content/json.ts';

/** What a frame is answered with: `refused` is an error for what the frame is, `maybe` an error or nothing. */
export interface Expectation {
  readonly answer: 'pong' | 'acknowledged' | 'joined' | 'maybe' | 'refused' | 'nothing';
  /** The ids that an answer repeats. */
  readonly ids: Readonly<Record<string, unknown>>;
}

const isFrameType = (type: unknown): type is ClientFrameType =>
  typeof type === 'string' && Object.hasOwn(clientFrames, type);

const answers: Readonly<Record<ClientFrameType, Expectation['answer']>> = {
  ping: 'pong',
  'room:join': 'joined',
  'room:leave': 'nothing',
  'message:send': 'acknowledged',
  'message:edit': 'maybe',
  'message:delete': 'maybe',
  'conversation:read': 'maybe',
  'typing:start': 'maybe',
  'typing:stop': 'maybe',
  'desk:focus': 'maybe',
};

/** @param payload the bytes of a text frame; null: a binary one */
export function expectationOf(payload: Buffer | null): Expectation {
  const refused: Expectation = { answer: 'refused', ids: {} };
  if (payload === null) return refused;
  const parsed = parseJson(payload.toString());
  if (!parsed.ok || typeof parsed.value !== 'object' || parsed.value === null) return refused;
  const { type, payload: fields } = parsed.value as { type?: unknown; payload?: unknown };
  if (!isFrameType(type)) return refused;
  const schema = clientFrames[type];
  if (schema === null) return { answer: answers[type], ids: {} };
  const checked = schema.safeParse(fields);
  return checked.success ? { answer: answers[type], ids: checked.data } : refused;
}

interface Answer {
  readonly type: string;
  readonly payload?: Readonly<Record<string, unknown>>;
}

const direct = new Set(['pong', 'message:ack', 'room:joined', 'error']);

/** Whether an answer may be that of a frame. */
function fits({ type, payload = {} }: Answer, { answer, ids }: Expectation): boolean {
  if (type === 'error') {
    const bad = payload['code'] === 'PARSE_ERROR' || payload['code'] === 'VALIDATION_ERROR';
    if (answer === 'refused') return bad;
    if (answer === 'nothing' || answer === 'pong') return payload['code'] === 'RATE_LIMITED';
    return ['conversationId', 'clientMessageId', 'messageId'].every(
      (name) => payload[name] === undefined || payload[name] === ids[name],
    );
  }
  if (type === 'pong') return answer === 'pong';
  if (type === 'room:joined')
    return answer === 'joined' && payload['conversationId'] === ids['conversationId'];
  return answer === 'acknowledged' && payload['clientMessageId'] === ids['clientMessageId'];
}

const mayBeSilent = ({ answer }: Expectation): boolean => answer === 'maybe' || answer === 'nothing';

/** What came of frames: the messages that were acknowledged, how many were refused by a limit, and what does not fit. */
export interface Outcome {
  readonly acknowledged: readonly { readonly id: string; readonly conversationId: string }[];
  readonly limited: number;
  readonly fault: string | null;
}

/**
 * Finds for each answer the frame that it answers: both are in order, and some frames may have none.
 * @param heard the text frames that were received
 */
export function matchAnswers(heard: readonly string[], expected: readonly Expectation[]): Outcome {
  const given = heard.map((one) => JSON.parse(one) as Answer).filter(({ type }) => direct.has(type));
  const dead = new Set<string>();
  const pairs: [Answer, Expectation][] = [];
  const match = (at: number, from: number): boolean => {
    const wanted = expected[from];
    if (wanted === undefined) return at === given.length;
    const place = `${at} ${from}`;
    if (dead.has(place)) return false;
    const answer = given[at];
    if (answer !== undefined && fits(answer, wanted)) {
      pairs.push([answer, wanted]);
      if (match(at + 1, from + 1)) return true;
      pairs.pop();
    }
    if (mayBeSilent(wanted) && match(at, from + 1)) return true;
    dead.add(place);
    return false;
  };
  const fault = match(0, 0)
    ? null
    : `sent ${JSON.stringify(expected).slice(0, 4_000)}, was answered ${JSON.stringify(given).slice(0, 4_000)}`;
  return {
    acknowledged: pairs.flatMap(([{ type, payload }, { ids }]) =>
      type === 'message:ack'
        ? [{ id: String(payload?.['serverMessageId']), conversationId: String(ids['conversationId']) }]
        : [],
    ),
    limited: given.filter(({ payload }) => payload?.['code'] === 'RATE_LIMITED').length,
    fault,
  };
}
