// A mail without the bytes of its files: those of more than a few kilobytes are decoded into files of their own while the
// mail is read from the disk, and a mark stands in their place. However large a mail is, little of it is in memory.
// Runs in a thread (mail-worker.ts).
import { Splitter, type MessageChunk, type MimeNode } from '@zone-eu/mailsplit';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createReadStream, createWriteStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { pipeline, type Transform } from 'node:stream';
import { finished, pipeline as piped } from 'node:stream/promises';
import { maxMailParts, maxMailText, type StoredBytes } from './parsed-mail.ts';

/** What stays in the mail of a part that is no text. */
const maxKeptPart = 64 * 1024;
/** Of a text: as much as is looked at, in the widest encoding, with its markup. */
const maxKeptText = 32 * maxMailText;
/** Of all parts together. What is beyond goes into files, however small it is. */
const maxKept = maxKeptText + maxKeptPart;
/** A boundary is shorter; what stands between parts and is longer says nothing. */
const maxBoundary = 1_024;

export interface LightMail {
  readonly raw: Uint8Array;
  /** SHA-256 of all that came, in base64url. */
  readonly digest: string;
  /** What stands for this content of a part; undefined: the content itself does. */
  fileOf(content: Uint8Array): StoredBytes | undefined;
}

/** A part that is being read: kept as it is, or decoded into a file from where it is too long. */
interface OpenPart {
  readonly node: MimeNode;
  kept: Buffer[];
  bytes: number;
  file: PartFile | null;
}

interface PartFile {
  readonly path: string;
  readonly decoder: Transform;
  readonly written: Promise<void>;
}

/**
 * Reads a mail from a file. Those of its parts lie beside it, and go with the folder.
 * @param keptPart bytes of a part, no text, that stay where they are
 * @throws Error for headers or parts as no person's mail has them
 */
export async function lightenMail(path: string, keptPart = maxKeptPart): Promise<LightMail> {
  const hash = createHash('sha256');
  const source = createReadStream(path);
  source.on('data', (chunk) => hash.update(chunk));
  const splitter = new Splitter({ ignoreEmbedded: true, maxChildNodes: 20_000 });
  const light = new Lightening(path, keptPart);
  // An error of any of them ends the loop.
  const parts: AsyncIterable<MimeNode | MessageChunk> = pipeline(source, splitter, () => undefined);
  for await (const part of parts) await light.take(part);
  await light.closePart();
  const { files } = light;
  return {
    raw: Buffer.concat(light.kept),
    digest: hash.digest('base64url'),
    fileOf: (content) => files.get(markOf(content)),
  };
}

/** A mark is text that stays itself in each encoding but base64, where it is what other bytes are written as. */
const markBytes = 36;
const newMark = (): string => randomBytes(24).toString('hex');
const markOf = (content: Uint8Array): string =>
  content.length === markBytes
    ? Buffer.from(content).toString('base64')
    : Buffer.from(content.subarray(0, 100)).toString('latin1').trim();

class Lightening {
  readonly kept: Buffer[] = [];
  readonly files = new Map<string, StoredBytes>();
  readonly #path: string;
  readonly #keptPart: number;
  #bytes = 0;
  #part: OpenPart | null = null;

  constructor(path: string, keptPart: number) {
    this.#path = path;
    this.#keptPart = keptPart;
  }

  async take(chunk: MimeNode | MessageChunk): Promise<void> {
    if (chunk.type === 'body' && chunk.value !== undefined) {
      if (this.#part?.node !== chunk.node) await this.closePart();
      this.#part ??= { node: chunk.node, kept: [], bytes: 0, file: null };
      await this.#takeBody(this.#part, chunk.value);
      return;
    }
    await this.closePart();
    const bytes = chunk.type === 'node' ? chunk.getHeaders() : chunk.value;
    if (
      bytes !== undefined &&
      (chunk.type === 'node' || this.#bytes < maxKept || bytes.length <= maxBoundary)
    )
      this.#keep(bytes);
  }

  async #takeBody(part: OpenPart, value: Buffer): Promise<void> {
    part.bytes += value.length;
    const isText = isShownText(part.node);
    const most = Math.min(isText ? maxKeptText : this.#keptPart, maxKept - this.#bytes);
    if (part.file === null && part.bytes <= most) {
      // A copy: what is kept of a stretch must not keep all of it.
      part.kept.push(Buffer.from(value));
      return;
    }
    // Of a text that is longer than what is looked at, the rest goes.
    if (isText) return;
    if (part.file === null) {
      part.file = this.#openFile(part.node);
      for (const one of part.kept) await write(part.file, one);
      part.kept = [];
    }
    await write(part.file, value);
  }

  #openFile(node: MimeNode): PartFile {
    const path = `${this.#path}.${this.files.size + 1}`;
    const decoder = node.getDecoder();
    const written =
      this.files.size < maxMailParts
        ? piped(decoder, createWriteStream(path, { flags: 'wx', mode: 0o600 }))
        : discard(decoder);
    // Where it fails, writing and closing say so.
    written.catch(() => undefined);
    return { path, decoder, written };
  }

  /** Ends the part that is being read. */
  async closePart(): Promise<void> {
    const part = this.#part;
    this.#part = null;
    if (part === null) return;
    const { file } = part;
    if (file === null) {
      for (const one of part.kept) this.#keep(one);
      return;
    }
    file.decoder.end();
    await file.written;
    const mark = newMark();
    const size = this.files.size < maxMailParts ? (await stat(file.path)).size : 0;
    this.files.set(mark, { path: file.path, size });
    this.#keep(Buffer.from(mark));
  }

  #keep(bytes: Buffer): void {
    this.#bytes += bytes.length;
    this.kept.push(Buffer.from(bytes));
  }
}

async function write({ decoder, written }: PartFile, bytes: Buffer): Promise<void> {
  if (!decoder.write(bytes)) await Promise.race([once(decoder, 'drain'), written]);
}

/** Parts beyond those that are kept are read, and leave nothing. */
function discard(decoder: Transform): Promise<void> {
  return finished(decoder.resume());
}

/** As the reader of mails sees it: what is not said to be another thing is text. */
function isShownText({ headers, contentType, disposition }: MimeNode): boolean {
  if (disposition === 'attachment') return false;
  const isSaid = headers !== false && headers.getFirst('Content-Type') !== '';
  return !isSaid || contentType === 'text/plain' || contentType === 'text/html' || isReport(contentType);
}

/** What a program says of a mail: it is looked at, and is no one's file. */
const isReport = (contentType: string | false): boolean => contentType === 'message/delivery-status';
