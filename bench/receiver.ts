// Owns: the receiver of webhooks, in a process of its own.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** `taken`: how many deliveries have been taken so far. */
export type ReceiverOrder = 'url' | 'taken';

let taken = 0;

const server = createServer((request, response) => {
  request.resume();
  request.once('end', () => {
    taken += 1;
    response.writeHead(204).end();
  });
});
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;

process.on('message', (order: ReceiverOrder) => process.send?.(order === 'url' ? url : taken));
process.once('disconnect', () => process.exit());
