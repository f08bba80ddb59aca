// What every rule may reach besides its transaction: the engine, the secrets, the
// settings, and the lookups that are kept in memory. Put together in app.ts.
import type { Engine, LimitWindow, ReadTx, Tx } from '../engine/engine.ts';
import type { Actor, AnonymousActor, EmbedderActor, LocalActor, MemberActor, VisitorActor } from './actor.ts';
import type { LanguageModel } from './assistant/language-model.ts';
import type { Lookups } from './lookups.ts';
import type { Measures } from './measures.ts';
import type { Secrets } from './secrets.ts';

/** null: off. */
export type LimitSetting = readonly LimitWindow[] | null;

export interface ServiceSettings {
  /** The address under which the world reaches the service, without a trailing slash; null until it listens. */
  readonly baseUrl: () => string | null;
  readonly limits: {
    readonly visitor: LimitSetting;
    readonly application: LimitSetting;
    readonly addressNew: LimitSetting;
    readonly addressFailed: LimitSetting;
    readonly aiVisitor: LimitSetting;
    readonly aiOrganization: LimitSetting;
  };
  readonly maxPendingPerVisitor: number;
  /** Whether webhooks may lead to private and local addresses. */
  readonly webhookPrivate: boolean;
}

export interface Service {
  readonly engine: Engine;
  readonly secrets: Secrets;
  readonly settings: ServiceSettings;
  readonly lookups: Lookups;
  readonly measures: Measures;
  /** null: no model is configured, and answers are quotations. */
  readonly model: LanguageModel | null;
}

/** One call of an operation: who asks, from where, by which connection. */
export interface Call<A extends Actor = Actor> {
  readonly service: Service;
  readonly actor: A;
  /** The caller's address; null for the command line. */
  readonly address: string | null;
  /** The WebSocket connection that it came by, so that it does not hear itself. */
  readonly connectionId?: string | undefined;
  /** The longest content that the door takes, in UTF-16 units. */
  readonly contentLimit: number;
}

export type VisitorCall = Call<VisitorActor>;
export type MemberCall = Call<MemberActor>;
export type ParticipantCall = Call<VisitorActor | MemberActor>;
export type OwnerCall = Call<MemberActor | LocalActor>;
export type EmbedderCall = Call<EmbedderActor>;
export type AnonymousCall = Call<AnonymousActor>;

export type { ReadTx, Tx };
