// What an IMAP server says, counted before imapflow reads it: that takes an answer apart in one go, several times over, and
// some of them in the square of their length. Beyond the bounds the connection is given up.
import type { Transform, TransformCallback } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import { SaidTooMuchError } from './bounded-stream.ts';

/** Of one response, with the texts in it that have a length of their own. Taken apart in one go. */
const maxResponseBytes = 8_192;
/** For one question, and for as long as the connection only listens. The bytes of a mail come on top. */
const maxAnswerBytes = 262_144;
/** From a server that is not known yet. It comes in one piece: what follows STARTTLS in the clear must be seen with it. */
const maxOpeningBytes = 8_192;
/** How many mails a response may name by ranges: each is written out. */
const maxNamed = 10_000;
/** After so much the event loop has its turn; a line costs at least as much as so many bytes. */
const portionBytes = 2_048;
const leastLineBytes = 64;

/** The bytes of a mail, told by nothing but items that are short. */
const bodyPattern = /^\* \d+ FETCH \((?:[A-Z0-9.-]+ (?:\d+|\([^()"{]*\)) )*BODY\[\](?:<\d+>)? \{\d+\}\r?\n$/i;
const literalPattern = /\{(\d+)\}\r?\n$/;
/** Responses that name mails by ranges, however they are written. */
const rangesPattern = /^[\0\s]*\*\s+(?:\d+\s+)?(?:ESEARCH|VANISHED)/i;
const searchPattern = /^\* ESEARCH(?: \(TAG "\w+"\))?(?: UID)?(?: ALL ([\d:,]+))?\r?\n$/i;

type Read = (chunk: Buffer, encoding: BufferEncoding, done: TransformCallback) => void;

interface Chunk {
  readonly chunk: Buffer;
  readonly isOpening: boolean;
  readonly done: () => void;
}

/** The answers of one connection. */
export class ImapAnswers {
  #refusal: SaidTooMuchError | null = null;
  /** Since the last question. */
  #said = 0;
  #mailBytes = 0;
  /** Of the response that is under way: its bytes, and its line as far as it came. */
  #bytes = 0;
  #line: Buffer[] = [];
  #isFirstLine = true;
  #literalLeft = 0;

  /** Why the connection is given up; null: it is not. */
  get refusal(): SaidTooMuchError | null {
    return this.#refusal;
  }

  /** A question follows. @param mailBytes how much of a mail may come with its answer */
  expect(mailBytes = 0): void {
    this.#said = 0;
    this.#mailBytes = mailBytes;
  }

  /**
   * Stands before a stream that reads answers, and hands them to it a little at a time.
   * @param isOpening whether the server is not signed in to and not known by its certificate
   */
  guard(stream: Transform, isOpening: () => boolean): void {
    const read: Read = stream._transform.bind(stream);
    stream._transform = (chunk: Buffer, _encoding, done) => {
      void this.#pass(stream, read, { chunk, isOpening: isOpening(), done });
    };
  }

  async #pass(stream: Transform, read: Read, { chunk, isOpening, done }: Chunk): Promise<void> {
    try {
      for (const { bytes, hasText } of this.#portions(chunk, isOpening)) {
        await new Promise<void>((resolve) => read(bytes, 'utf8', () => resolve()));
        if (stream.destroyed) return;
        if (hasText && !isOpening) await setImmediate();
      }
    } catch (error) {
      stream.destroy(error instanceof Error ? error : new Error('refused'));
    } finally {
      done();
    }
  }

  *#portions(chunk: Buffer, isOpening: boolean): Generator<{ bytes: Buffer; hasText: boolean }> {
    let from = 0;
    let text = 0;
    for (let at = 0; at < chunk.length;) {
      if (this.#literalLeft > 0) {
        const length = Math.min(this.#literalLeft, chunk.length - at);
        this.#literalLeft -= length;
        at += length;
        continue;
      }
      const end = chunk.indexOf('\n', at) + 1;
      const part = chunk.subarray(at, end === 0 ? chunk.length : end);
      const cost = end === 0 ? part.length : Math.max(part.length, leastLineBytes);
      text += cost;
      at += part.length;
      // What can't be cut in portions may have few lines, too.
      this.#count(part.length, isOpening ? cost : part.length, isOpening);
      this.#line.push(part);
      if (end > 0) text += this.#endLine(isOpening);
      if (text < portionBytes || isOpening) continue;
      yield { bytes: chunk.subarray(from, at), hasText: true };
      from = at;
      text = 0;
    }
    if (from < chunk.length) yield { bytes: chunk.subarray(from), hasText: text > 0 };
  }

  /** @returns how many bytes of text are announced */
  #endLine(isOpening: boolean): number {
    const line = Buffer.concat(this.#line).toString('latin1');
    const isFirst = this.#isFirstLine;
    this.#line = [];
    if (isFirst && rangesPattern.test(line.replaceAll(/[\\"]/g, ''))) this.#checkRanges(line);
    const [, digits] = literalPattern.exec(line) ?? [];
    this.#isFirstLine = digits === undefined;
    if (digits === undefined) {
      this.#bytes = 0;
      return 0;
    }
    const size = Number(digits);
    const isMail = isFirst && size <= this.#mailBytes && bodyPattern.test(line);
    if (isMail) this.#mailBytes -= size;
    else this.#count(size, size, isOpening);
    this.#literalLeft = size;
    return isMail ? 0 : size;
  }

  #count(bytes: number, cost: number, isOpening: boolean): void {
    this.#said += cost;
    this.#bytes += bytes;
    if (this.#bytes > maxResponseBytes)
      this.#refuse(`the mail server says more than ${maxResponseBytes} bytes at once`);
    const most = isOpening ? maxOpeningBytes : maxAnswerBytes;
    if (this.#said > most) this.#refuse(`the mail server answers with more than ${most} bytes`);
  }

  #checkRanges(line: string): void {
    const [, ranges = ''] =
      searchPattern.exec(line) ?? this.#refuse('the mail server tells what was not asked');
    let named = 0;
    for (const range of ranges.split(',')) {
      const [first = 0, last = first] = range.split(':').map(Number);
      named += Math.abs(last - first) + 1;
    }
    if (!(named <= maxNamed)) this.#refuse(`the mail server names more than ${maxNamed} mails at once`);
  }

  #refuse(why: string): never {
    this.#refusal = new SaidTooMuchError(why);
    throw this.#refusal;
  }
}
