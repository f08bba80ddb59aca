// Sends one file to the service: the body is the file, with how far it is, and again where that may help. The same key
// however often: it is stored once. A module of its own, loaded with the first file; the SDK's core carries none of it.
import type { ErrorCode } from '../protocol/codes.ts';
import { newKey } from './attachments.ts';
import { asSdkError, sdkError } from './error.ts';
import type { SdkFile } from './types.ts';

/** Where files go, and who sends them. */
export interface FileTarget {
  readonly address: string;
  readonly headers: Readonly<Record<string, string>>;
}

export interface UploadOptions {
  /** Names this upload to the service: 1 to 100 characters. A new one unless told. */
  readonly key?: string;
  /** Ends it: nothing is answered then. */
  readonly signal?: AbortSignal;
  /** @param share from 0 to 1; not told outside browsers */
  onProgress?(share: number): void;
}

/** The part of the web's XMLHttpRequest that is used. */
interface ProgressRequest {
  readonly upload: {
    onprogress: ((event: { readonly loaded: number; readonly total: number }) => void) | null;
  };
  readonly status: number;
  readonly responseText: string;
  onload: (() => void) | null;
  onerror: (() => void) | null;
  onabort: (() => void) | null;
  open(method: string, address: string): void;
  setRequestHeader(name: string, value: string): void;
  send(body: File): void;
  abort(): void;
}

interface Answer {
  readonly status: number;
  readonly text: string;
}

const attempts = 3;
const maxWaitSeconds = 60;
/** How often it is asked whether a file was found harmless: after 1, 2, 4 … 64 s. */
const scanQuestions = 7;
const rejected = JSON.stringify({ error: 'file_rejected', message: 'The file was refused.' });

/**
 * Uploads a file, and waits until it can be sent.
 * @param target from `fileTarget` of a staff client, or made of the service's address and the visitor's headers
 * @throws SdkError `payload_too_large`, `file_rejected`, `plan_limit`, `network` and what else the service answers
 */
export async function uploadFile(
  target: FileTarget,
  file: File,
  options: UploadOptions = {},
): Promise<SdkFile> {
  const { onProgress = () => undefined, signal = new AbortController().signal, key = newKey() } = options;
  const headers = {
    ...target.headers,
    'Content-Type': file.type === '' ? 'application/octet-stream' : file.type,
    'X-File-Name': encodeFileName(file.name),
    'Idempotency-Key': key,
  };
  for (let attempt = 1; ; attempt++) {
    try {
      const request = newRequest();
      const answer = await (request === null
        ? sendByFetch(target.address, headers, file, signal)
        : sendWithProgress(request, target.address, headers, file, signal, onProgress));
      return await untilHarmless(target, fileOf(answer), signal);
    } catch (thrown) {
      const error = asSdkError(thrown);
      const { status = 0, retryAfter } = error;
      const wait = retryAfter ?? 2 ** attempt;
      const passes = [0, 429, 502, 503, 504].includes(status) && error.code !== 'destroyed';
      if (!passes || attempt === attempts || wait > maxWaitSeconds) throw error;
      onProgress(0);
      await pause(wait);
    }
  }
}

/** Fetch does not tell how much has left. Null outside browsers: there fetch does it. */
function newRequest(): ProgressRequest | null {
  const found: unknown = Reflect.get(globalThis, 'XMLHttpRequest');
  return isRequestClass(found) ? new found() : null;
}

function isRequestClass(value: unknown): value is new () => ProgressRequest {
  return typeof value === 'function';
}

/** A name of any letters as a header takes it (RFC 8187). */
export function encodeFileName(name: string): string {
  // Half a pair of surrogates has no encoding.
  const whole = Array.from(name, (sign) => (/^[\ud800-\udfff]$/.test(sign) ? '\ufffd' : sign)).join('');
  const escaped = encodeURIComponent(whole).replace(
    /[!'()*]/g,
    (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return `UTF-8''${escaped}`;
}

function sendWithProgress(
  request: ProgressRequest,
  address: string,
  headers: Readonly<Record<string, string>>,
  file: File,
  signal: AbortSignal,
  onProgress: (share: number) => void,
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(sdkError('destroyed'));
    request.open('POST', address);
    for (const [name, value] of Object.entries(headers)) request.setRequestHeader(name, value);
    request.upload.onprogress = ({ loaded, total }) => onProgress(total === 0 ? 0 : loaded / total);
    request.onload = () => resolve({ status: request.status, text: request.responseText });
    request.onerror = () => reject(sdkError('network'));
    request.onabort = () => reject(sdkError('destroyed'));
    signal.addEventListener('abort', () => request.abort(), { once: true });
    request.send(file);
    return undefined;
  });
}

async function sendByFetch(
  address: string,
  headers: Readonly<Record<string, string>>,
  file: File,
  signal: AbortSignal,
): Promise<Answer> {
  try {
    const response = await fetch(address, { method: 'POST', headers, body: file, signal });
    return { status: response.status, text: await response.text() };
  } catch (error) {
    throw signal.aborted ? sdkError('destroyed') : asSdkError(error);
  }
}

/** Asks as long as a scanner has not told what it thinks of the file. */
async function untilHarmless(
  { address, headers }: FileTarget,
  file: SdkFile,
  signal: AbortSignal,
): Promise<SdkFile> {
  let latest = file;
  for (let question = 0; latest.state === 'scanning' && question < scanQuestions; question++) {
    await pause(2 ** question);
    if (signal.aborted) throw sdkError('destroyed');
    const response = await fetch(`${address}/${file.id}/state`, { headers, signal });
    const text = await response.text();
    // It is gone once it was found harmful.
    if (response.status === 404) return fileOf({ status: 422, text: rejected });
    if (response.ok) latest = fileOf({ status: 200, text });
  }
  return latest;
}

function fileOf({ status, text }: Answer): SdkFile {
  const answer = fieldsOf(text);
  const { file, error, message, retryAfter } = answer;
  if (status >= 200 && status < 300 && isFile(file)) return file;
  throw sdkError(
    isCode(error) ? error : 'internal_error',
    typeof message === 'string' ? message : `HTTP ${status}`,
    status,
    typeof retryAfter === 'number' ? retryAfter : undefined,
  );
}

function fieldsOf(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text);
    return isFields(value) ? value : {};
  } catch {
    return {};
  }
}

function isFields(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}

function isFile(value: unknown): value is SdkFile {
  return isFields(value) && typeof value['id'] === 'string' && typeof value['name'] === 'string';
}

/** The service's codes are words; whether this SDK knows one makes no difference. */
function isCode(value: unknown): value is ErrorCode {
  return typeof value === 'string' && value !== '';
}

function pause(seconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, seconds * 1_000));
}
