// The answer to what is not even HTTP: Node's parser refuses it before any request
// exists. Same shape as every other refusal; holds no rule.
import { randomUUID } from 'node:crypto';
import { ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { ErrorCode } from '../protocol/codes.ts';
import { commonHeaders } from './common-headers.ts';

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
  // As Node's own answer does: an answer that has begun on this connection must not get another one into it.
  const begun =
    '_httpMessage' in socket &&
    socket._httpMessage instanceof ServerResponse &&
    socket._httpMessage.headersSent;
  if (socket.writable && !begun && error.code !== 'ECONNRESET') {
    const refusal = refusals[error.code ?? ''] ?? malformed;
    const body = JSON.stringify({ error: refusal.error, message: refusal.message });
    const headers = {
      ...commonHeaders(randomUUID()),
      'Content-Type': 'application/json; charset=utf-8',
      'Content-Length': String(Buffer.byteLength(body)),
      Connection: 'close',
    };
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
    socket.write(`HTTP/1.1 ${refusal.status}\r\n${lines.join('')}\r\n${body}`);
  }
  socket.destroy(error);
}
