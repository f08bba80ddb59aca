// What is asked of the outbox: mails and pushes that are to be sent, and the log of those that were.
import type { EffectRow } from '../rows.ts';
import type { LogStretches } from './log-stretches.ts';

/** Which rows of an organization a list shows. */
export interface EffectFilter {
  readonly organizationId: string;
  /** Left out: all. */
  readonly kind?: string | undefined;
  readonly state?: EffectRow['state'] | undefined;
}

/** What an attempt changes. */
export type AttemptedEffect = Pick<
  EffectRow,
  | 'id'
  | 'state'
  | 'attempts'
  | 'due_at'
  | 'give_up_at'
  | 'last_attempt_at'
  | 'duration_ms'
  | 'error'
  | 'sealed'
>;

export interface EffectsRepository {
  /** 0 when there is one of this organization and kind with the same key. */
  insert(row: EffectRow): Promise<number>;
  byId(id: string): Promise<EffectRow | undefined>;
  /** Of each kind and organization with rows that wait: when the first is due. */
  waiting(): Promise<{ kind: string; organization_id: string; due_at: number }[]>;
  /** What may be attempted at `now`, longest due first; a time beyond `latest` can't have been meant and is due too. */
  due(kind: string, organizationId: string, now: number, latest: number, limit: number): Promise<EffectRow[]>;
  /** When the next attempt after `now` is due, or null. */
  nextDue(kind: string, organizationId: string, now: number): Promise<number | null>;
  /** 0 when the row is not there any more. */
  setAttempt(row: AttemptedEffect): Promise<number>;
  /** Puts in what is about to be sent and to whom, while it waits; 0 when it waits no more. */
  setClaim(id: string, payload: string, recipient: string): Promise<number>;
  /** Whether there is a row of a conversation that waits, and has not put in what it sends. */
  waitsUnclaimed(kind: string, about: string, conversationId: string): Promise<boolean>;
  /** What a member was or is to be told last of a conversation, of one kind of row. */
  newestOfMember(
    kind: string,
    about: string,
    conversationId: string,
    memberId: string,
  ): Promise<EffectRow | undefined>;
  /** The keys of the rows of a kind that concern a conversation, at most `limit`. */
  keysOf(kind: string, conversationId: string, limit: number): Promise<string[]>;
  readonly log: LogStretches<EffectFilter, EffectRow>;
  /** Removes at most `limit` rows of what waits no more and was made before a time. */
  prune(before: number, limit: number): Promise<number>;
  /** Removes at most `limit` rows that concern a conversation. */
  removeOfConversation(conversationId: string, limit: number): Promise<number>;
  /** Removes at most `limit` rows of an organization. */
  removeOfOrganization(organizationId: string, limit: number): Promise<number>;
}
