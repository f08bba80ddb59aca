// Owns an event as the engine's own tests write it: of no row, told to a room.
import type { NewEvent } from '../../src/engine/engine.ts';

/** @param name its conversation, and its payload */
export function releasedEvent(name: string): NewEvent {
  return {
    organization_id: 'o',
    conversation_id: name,
    mode: 'live',
    type: 'conversation:released',
    audience: 'room',
    actor_id: 'a',
    message_id: null,
    member_id: null,
    payload: { name },
  };
}
