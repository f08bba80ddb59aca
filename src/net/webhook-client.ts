// Sends webhooks: one request at a time on a connection, only to addresses that the server's owner allows.
import type { IncomingMessage } from 'node:http';
import type { Clock } from '../engine/engine.ts';
import { SaidTooMuchError } from './bounded-stream.ts';
import { sendRequest } from './http-request.ts';
import { createKeptConnections } from './kept-connections.ts';
import { describeNetworkError, errorCode } from './network-errors.ts';
import { BlockedAddressError, createSsrfGuard, type ResolveHost } from './ssrf-guard.ts';

export interface WebhookRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface WebhookResponse {
  /** null: there was no response. */
  readonly status: number | null;
  /** Why there was none, for people. It holds nothing that the receiver sent. */
  readonly error: string | null;
}

/** Sends one request. Never throws; ends soon after `signal` is aborted. */
export type SendWebhook = (request: WebhookRequest, signal: AbortSignal) => Promise<WebhookResponse>;

export interface WebhookClientOptions {
  readonly clock: Pick<Clock, 'after' | 'monotonic'>;
  /** Whether private and local addresses may be reached. */
  readonly allowPrivate: boolean;
  /** As the guard has it unless a test has its own. */
  readonly resolve?: ResolveHost | undefined;
}

/** For lookup, connection, request and response together. */
const timeoutMs = 10_000;
const maxResponseBytes = 1_024;
/** With its headers. */
const maxAnswerBytes = 65_536;
const blockedMessage = 'the address is private or local, and the server does not send there';

/**
 * Creates a client that follows no redirect and keeps nothing of a response but its status. It keeps connections for a
 * while (kept-connections.ts).
 */
export function createWebhookClient({ clock, allowPrivate, resolve }: WebhookClientOptions): SendWebhook {
  const guard = createSsrfGuard(allowPrivate, resolve);
  const connections = createKeptConnections(clock);
  return async (webhook, signal) => {
    const url = new URL(webhook.url);
    if (guard.blocks(url)) return failure(blockedMessage);
    if (url.protocol !== 'https:' && !(url.protocol === 'http:' && allowPrivate))
      return failure('the address does not begin with https://');
    if (signal.aborted) return failure('was not sent: the server stops');
    // One signal for the end of the time and of the server: `AbortSignal.any` costs more than all of the rest here.
    const end = new AbortController();
    let late = false;
    const cancelTimeout = clock.after(timeoutMs, () => {
      late = true;
      end.abort();
    });
    const stop = (): void => end.abort();
    signal.addEventListener('abort', stop);
    try {
      const response = await sendRequest(url, {
        method: 'POST',
        headers: webhook.headers,
        body: Buffer.from(webhook.body),
        guard,
        signal: end.signal,
        maxAnswerBytes,
        connections,
      });
      await discardBody(response);
      return { status: response.statusCode ?? 0, error: null };
    } catch (error) {
      return failure(late ? `did not answer within ${timeoutMs / 1000} s` : describeError(error));
    } finally {
      cancelTimeout();
      signal.removeEventListener('abort', stop);
    }
  };
}

const failure = (error: string): WebhookResponse => ({ status: null, error });

/**
 * Reads a short response to its end, so that its connection is free again; a longer one is cut off. A body that breaks off
 * changes nothing: the status is known.
 */
function discardBody(response: IncomingMessage): Promise<void> {
  return new Promise((resolve) => {
    let bytes = 0;
    response.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > maxResponseBytes) response.destroy();
    });
    response.on('error', () => undefined);
    response.on('end', resolve);
    response.on('close', resolve);
  });
}

function describeError(error: unknown): string {
  if (error instanceof BlockedAddressError) return blockedMessage;
  if (error instanceof SaidTooMuchError) return 'answered without end';
  return describeNetworkError(error) ?? `could not be sent (${errorCode(error)})`;
}
