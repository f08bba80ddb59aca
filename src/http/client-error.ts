// Answers that are written to the connection itself, in the same shape as every other refusal: to what is not even HTTP,
// which Node's parser refuses before any request exists, to an upgrade that leads to no WebSocket, to
// CONNECT, and to too many requests at once. Holds no rule.
import { randomUUID } from 'node:crypto';
import { type IncomingMessage, ServerResponse, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { errorCodes, type ErrorCode } from '../protocol/codes.ts';
import { ServiceError } from '../services/core/errors.ts';
import { commonHeaders } from './common-headers.ts';
import { methods } from './request.ts';
import { describeFailure } from './responses.ts';

interface Refusal {
  readonly status: string;
  readonly error: ErrorCode;
  readonly message: string;
}

const malformed: Refusal = {
  status: '400 Bad Request',
  error: 'bad_request',
  message: 'The request is not valid HTTP.',
};

/** By the code of the parser's error; everything else is malformed. */
const refusals: Readonly<Record<string, Refusal>> = {
  HPE_HEADER_OVERFLOW: {
    status: '431 Request Header Fields Too Large',
    error: 'bad_request',
    message: 'The headers of the request are too large.',
  },
  HPE_CHUNK_EXTENSIONS_OVERFLOW: {
    status: '413 Payload Too Large',
    error: 'payload_too_large',
    message: 'The chunk extensions of the body are too large.',
  },
  ERR_HTTP_REQUEST_TIMEOUT: {
    status: '408 Request Timeout',
    error: 'request_timeout',
    message: 'The request took too long to arrive.',
  },
};

/** For the server's `clientError`: answers what can be answered, and ends the connection. */
export function sendClientError(error: NodeJS.ErrnoException, socket: Duplex): void {
  if (error.code !== 'ECONNRESET') {
    const { status, error: code, message } = refusals[error.code ?? ''] ?? malformed;
    writeRefusal(socket, status, new ServiceError(code, message));
  }
  socket.destroy(error);
}

/** Says why a connection is ended, and ends it with all that was asked on it. */
export function endConnection(socket: Duplex, refusal: ServiceError): void {
  writeRefusal(socket, statusLine(refusal), refusal);
  socket.destroy();
}

function writeRefusal(socket: Duplex, status: string, refusal: ServiceError): void {
  // As Node's own answer does: an answer that has begun on this connection must not get another one into it.
  const begun =
    '_httpMessage' in socket &&
    socket._httpMessage instanceof ServerResponse &&
    socket._httpMessage.headersSent;
  if (!socket.writable || begun) return;
  const requestId = randomUUID();
  const { headers, body } = describeFailure(refusal, refusal.message, requestId);
  socket.write(answerText(status, { ...commonHeaders(requestId), ...headers }, body));
}

function statusLine({ code }: ServiceError): string {
  const { status } = errorCodes[code];
  return `${status} ${STATUS_CODES[status] ?? ''}`;
}

/**
 * Answers a request to upgrade that is refused, and closes the connection, even if the peer keeps its half open. The version
 * of the protocol is said to who asked for another one, as RFC 6455 (4.2.2) has it.
 */
export function refuseUpgrade(stream: Duplex, refusal: ServiceError): void {
  refuse(stream, refusal, { 'Sec-WebSocket-Version': '13' });
}

/** For the server's `connect`, which Node hands over as a bare connection: this is no proxy. */
export function refuseConnect(_request: IncomingMessage, stream: Duplex): void {
  stream.on('error', () => stream.destroy());
  const possible = [...methods].join(', ');
  const message = `CONNECT is not possible here. Possible are ${possible}.`;
  refuse(stream, new ServiceError('method_not_allowed', message), { Allow: possible });
}

function refuse(stream: Duplex, refusal: ServiceError, more: Readonly<Record<string, string>>): void {
  const requestId = randomUUID();
  const { headers, body } = describeFailure(refusal, refusal.message, requestId);
  stream.once('finish', () => stream.destroy());
  const all = { ...commonHeaders(requestId), ...headers, ...more };
  stream.end(answerText(statusLine(refusal), all, body));
}

function answerText(status: string, headers: Readonly<Record<string, string>>, body: object): string {
  const text = JSON.stringify(body);
  const all = {
    ...headers,
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': String(Buffer.byteLength(text)),
    Connection: 'close',
  };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${status}\r\n${lines.join('')}\r\n${text}`;
}
