// Owns: the receiver of webhooks, in a process of its own. Between the rounds it holds its answers back, so that no delivery
// is under way while another server is measured.
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** `hold` and `go` are answered with how many deliveries have been taken so far. */
export type ReceiverOrder = 'url' | 'hold' | 'go';

let taken = 0;
let holding = true;
const held: ServerResponse[] = [];

function take(response: ServerResponse): void {
  taken += 1;
  response.writeHead(204).end();
}

const server = createServer((request, response) => {
  request.resume();
  request.once('end', () => {
    if (holding) held.push(response);
    else take(response);
  });
});
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;

process.on('message', (order: ReceiverOrder) => {
  if (order !== 'url') holding = order === 'hold';
  if (order === 'go') for (const response of held.splice(0)) take(response);
  process.send?.(order === 'url' ? url : taken);
});
process.once('disconnect', () => process.exit());
