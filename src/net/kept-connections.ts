// Connections that are kept open for the next request to the same server: a handshake costs more than a request.
// The address of each was checked when it was made, and it leads there for as long as it lasts, whatever its name says.
import { Agent as HttpAgent, type AgentOptions } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import type { Duplex } from 'node:stream';
import type { Clock } from '../engine/engine.ts';

/** How long one waits for its next request, ms: most servers wait longer, so that few are closed under a request. */
const idleMs = 4_000;
/** How long one is used, ms: then its name is looked up again. */
const maxAgeMs = 30_000;
/** Those that wait: for one server, and in all. */
const maxIdlePerServer = 4;
const maxIdle = 200;

const options: AgentOptions = { keepAlive: true, timeout: idleMs, maxFreeSockets: maxIdlePerServer };

export interface KeptConnections {
  readonly http: HttpAgent;
  readonly https: HttpsAgent;
}

/** Connections for one client. Those that wait keep no process alive, and close by themselves. */
export function createKeptConnections(clock: Pick<Clock, 'monotonic'>): KeptConnections {
  const since = new WeakMap<Duplex, number>();
  const mayWait = (socket: Duplex): boolean => {
    const now = clock.monotonic();
    const first = since.get(socket) ?? now;
    since.set(socket, first);
    return now - first < maxAgeMs && countIdle(http) + countIdle(https) < maxIdle;
  };
  const http = new (class extends HttpAgent {
    override keepSocketAlive(socket: Duplex): boolean {
      // Node's own answer, whose type leaves it out, is false where the server has said that it will close it.
      const answer: unknown = super.keepSocketAlive(socket);
      return answer !== false && mayWait(socket);
    }
  })(options);
  const https = new (class extends HttpsAgent {
    override keepSocketAlive(socket: Duplex): boolean {
      const answer: unknown = super.keepSocketAlive(socket);
      return answer !== false && mayWait(socket);
    }
  })(options);
  return { http, https };
}

function countIdle({ freeSockets }: HttpAgent): number {
  let idle = 0;
  for (const sockets of Object.values(freeSockets)) idle += sockets?.length ?? 0;
  return idle;
}
