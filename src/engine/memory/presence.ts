// Which staff connections are live, in memory: one process is the whole service.
import type { Presence } from '../engine.ts';

/** @param monotonicMs the clock by which absence is measured; a member who was never seen is away since now */
export function createPresence(monotonicMs: () => number): Presence {
  const started = monotonicMs();
  const organizations = new Map<string, Set<string>>();
  const members = new Map<string, Set<string>>();
  const leftAt = new Map<string, number>();
  const listeners = new Set<(organizationId: string, online: boolean) => void>();
  const tell = (organizationId: string, online: boolean): void => {
    for (const listener of listeners) listener(organizationId, online);
  };
  return {
    join: (organizationId, memberId, connectionId) => {
      leftAt.delete(memberId);
      add(members, memberId, connectionId);
      if (add(organizations, organizationId, connectionId)) tell(organizationId, true);
    },
    leave: (organizationId, memberId, connectionId) => {
      if (remove(members, memberId, connectionId)) leftAt.set(memberId, monotonicMs());
      if (remove(organizations, organizationId, connectionId)) tell(organizationId, false);
    },
    online: async (organizationId) => organizations.has(organizationId),
    present: async (memberIds) => new Set(memberIds.filter((id) => members.has(id))),
    memberCount: async () => members.size,
    awayMs: async (memberId) =>
      members.has(memberId) ? null : monotonicMs() - (leftAt.get(memberId) ?? started),
    subscribe: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

/** True when this is the first of its group. */
function add(groups: Map<string, Set<string>>, key: string, connectionId: string): boolean {
  const group = groups.get(key);
  if (group === undefined) groups.set(key, new Set([connectionId]));
  else group.add(connectionId);
  return group === undefined;
}

/** True when this was the last of its group. */
function remove(groups: Map<string, Set<string>>, key: string, connectionId: string): boolean {
  const group = groups.get(key);
  if (group?.delete(connectionId) !== true || group.size > 0) return false;
  groups.delete(key);
  return true;
}
