// What is asked of everything that belongs to one visitor: to hand it out whole, and to remove it.
import type { Mode } from '../../protocol/entities.ts';
import type { AuditRow, ConversationRow, VisitorRow } from '../rows.ts';
import type { PlaceInTime } from './time-order.ts';

/** Which visitors are meant by a UUID. */
export interface VisitorFilter {
  /** The X-Visitor-Id. */
  readonly visitorId: string;
  /** null: of every organization. */
  readonly organizationId: string | null;
  readonly applicationId?: string | undefined;
  readonly mode?: Mode | undefined;
}

export interface VisitorDataRepository {
  /**
   * Every visitor with this UUID: the same one under another application or mode is another person. Where none has it, the
   * one with this internal key, by which the audit log names visitors.
   */
  find(filter: VisitorFilter): Promise<VisitorRow[]>;
  /** At most `limit`, oldest first, behind a place. */
  conversations(visitorKey: string, after: PlaceInTime, limit: number): Promise<ConversationRow[]>;
  /** What the audit log says about a visitor, by the subject that it names them by: at most `limit`, oldest first, behind a place. */
  access(subject: string, after: PlaceInTime, limit: number): Promise<AuditRow[]>;
  /** Removes at most `limit` messages of the visitor's conversations. */
  removeMessages(visitorKey: string, limit: number): Promise<number>;
  /** Removes at most `limit` deliveries to webhooks of what happened in the visitor's conversations. */
  removeDeliveries(visitorKey: string, limit: number): Promise<number>;
  /** Removes at most `limit` rows of the outbox that concern the visitor's conversations. */
  removeEffects(visitorKey: string, limit: number): Promise<number>;
  /** Removes at most `limit` of the visitor's conversations. The newest event of the log stays, without content. */
  removeConversations(visitorKey: string, limit: number): Promise<number>;
  /** Removes the visitor with every row that refers to it; 0 when there is none. */
  remove(visitorKey: string): Promise<number>;
  /** How many visitors have ever been erased, as text: live connections prove themselves again when it has changed. */
  erasures(): Promise<string>;
  countErasure(): Promise<number>;
}
