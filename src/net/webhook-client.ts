// Sends webhooks: one request on one connection, only to addresses that the server's owner allows.
import type { IncomingMessage } from 'node:http';
import type { Clock } from '../engine/engine.ts';
import { sendRequest } from './http-request.ts';
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
  readonly clock: Pick<Clock, 'after'>;
  /** Whether private and local addresses may be reached. */
  readonly allowPrivate: boolean;
  /** The system's resolver unless a test has its own. */
  readonly resolve?: ResolveHost | undefined;
}

/** For lookup, connection, request and response together. */
const timeoutMs = 10_000;
const maxResponseBytes = 1_024;
const blockedMessage = 'the address is private or local, and the server does not send there';

/** Creates a client that follows no redirect, keeps no connection and keeps nothing of a response but its status. */
export function createWebhookClient({ clock, allowPrivate, resolve }: WebhookClientOptions): SendWebhook {
  const guard = createSsrfGuard(allowPrivate, resolve);
  return async (webhook, signal) => {
    const url = new URL(webhook.url);
    if (guard.blocks(url)) return failure(blockedMessage);
    if (url.protocol !== 'https:' && !(url.protocol === 'http:' && allowPrivate))
      return failure('the address does not begin with https://');
    const timeout = new AbortController();
    const cancelTimeout = clock.after(timeoutMs, () => timeout.abort());
    try {
      const response = await sendRequest(url, {
        method: 'POST',
        headers: webhook.headers,
        body: Buffer.from(webhook.body),
        guard,
        signal: AbortSignal.any([signal, timeout.signal]),
      });
      await discardBody(response);
      return { status: response.statusCode ?? 0, error: null };
    } catch (error) {
      return failure(
        timeout.signal.aborted ? `did not answer within ${timeoutMs / 1000} s` : describeError(error),
      );
    } finally {
      cancelTimeout();
    }
  };
}

const failure = (error: string): WebhookResponse => ({ status: null, error });

/** Lets the receiver end a short response, so that its connection closes in order. */
async function discardBody(response: IncomingMessage): Promise<void> {
  let bytes = 0;
  try {
    for await (const chunk of response) {
      bytes += Buffer.isBuffer(chunk) ? chunk.length : 0;
      if (bytes > maxResponseBytes) return;
    }
  } catch {
    // A body that breaks off changes nothing: the status is known.
  } finally {
    response.destroy();
  }
}

function describeError(error: unknown): string {
  if (error instanceof BlockedAddressError) return blockedMessage;
  return describeNetworkError(error) ?? `could not be sent (${errorCode(error)})`;
}
