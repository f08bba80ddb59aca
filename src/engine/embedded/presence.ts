// Which staff connections are live, in memory: one process is the whole system.
import type { Presence } from '../engine.ts';

export function createPresence(): Presence {
  const connections = new Map<string, Set<string>>();
  const listeners = new Set<(organizationId: string, online: boolean) => void>();
  const tell = (organizationId: string, online: boolean): void => {
    for (const listener of listeners) listener(organizationId, online);
  };
  return {
    join: (organizationId, connectionId) => {
      const live = connections.get(organizationId);
      if (live !== undefined) {
        live.add(connectionId);
        return;
      }
      connections.set(organizationId, new Set([connectionId]));
      tell(organizationId, true);
    },
    leave: (organizationId, connectionId) => {
      const live = connections.get(organizationId);
      if (live?.delete(connectionId) !== true || live.size > 0) return;
      connections.delete(organizationId);
      tell(organizationId, false);
    },
    online: (organizationId) => connections.has(organizationId),
    subscribe: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}
