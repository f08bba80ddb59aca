// What is offered to servers that an organization names.
import { DEFAULT_CIPHERS } from 'node:tls';

/**
 * Node's own ciphers but for those of finite-field Diffie-Hellman, up to TLS 1.2: the server chooses the numbers, and with
 * 8,192 bits one handshake takes a third of a second of the event loop, before its certificate is looked at.
 */
export const offeredCiphers = `${DEFAULT_CIPHERS}:!DHE`;
