// What every handler may reach besides its transaction: the engine, the secrets, the
// settings, the configuration cache. Put together in open-service.ts.
import type { Engine, LimitWindow, ReadTx, Tx } from '../engine/engine.ts';
import type { OperationName, Who, WhoOf } from '../protocol/operations.ts';
import type {
  Actor,
  ActorsByWho,
  AnonymousActor,
  HostSiteActor,
  LocalActor,
  MemberActor,
  VisitorActor,
} from './core/actor.ts';
import type { LanguageModel } from './assistant/language-model.ts';
import type { ConfigCache } from './core/config-cache.ts';
import type { Metrics } from './core/metrics.ts';
import type { FocusBoard } from './notifications/focus.ts';
import type { Secrets } from './auth/secrets.ts';
import type { Files } from './files/file-store.ts';

/** null: off. */
export type RateLimitSetting = readonly LimitWindow[] | null;

export interface ServiceSettings {
  /** The public URL of the service, without a trailing slash; null until it listens. */
  readonly baseUrl: () => string | null;
  readonly rateLimits: {
    readonly visitor: RateLimitSetting;
    readonly application: RateLimitSetting;
    readonly address: RateLimitSetting;
    readonly addressConfig: RateLimitSetting;
    readonly addressNew: RateLimitSetting;
    readonly addressFailed: RateLimitSetting;
    readonly accountFailed: RateLimitSetting;
    readonly mailSender: RateLimitSetting;
    readonly mailApplication: RateLimitSetting;
    readonly mailNew: RateLimitSetting;
    readonly aiVisitor: RateLimitSetting;
    readonly aiOrganization: RateLimitSetting;
  };
  readonly mail: {
    /** Where mails are handed over; it may hold a password. */
    readonly smtpUrl: () => string | null;
    /** The address that mails come from, and whose plus-addresses lead back here. */
    readonly address: string | null;
    /** Whether mails come in by SMTP, or from a mailbox. */
    readonly receives: boolean;
  };
  readonly maxPendingPerVisitor: number;
  /** How long rows of the audit log are kept; null: for ever. */
  readonly auditDays: number | null;
  /** Whether webhooks may lead to private and local addresses. */
  readonly webhookPrivate: boolean;
  /** Hosts and origins that pushes may go to, beside the known push services. */
  readonly pushHosts: readonly string[];
  /** Whether crawls that admins begin may read private and local addresses. */
  readonly crawlPrivate: boolean;
  /** Whether an organization's admins set its plan and limits. */
  readonly selfServicePlans: boolean;
}

export interface Service {
  readonly engine: Engine;
  readonly secrets: Secrets;
  readonly settings: ServiceSettings;
  readonly configCache: ConfigCache;
  readonly metrics: Metrics;
  readonly focus: FocusBoard;
  readonly files: Files;
  /** null: no model is configured, and answers are quotations. */
  readonly model: LanguageModel | null;
}

/** One call of an operation: who calls, from which address, over which connection. */
export interface Call<A extends Actor = Actor> {
  readonly service: Service;
  readonly actor: A;
  /** Whom the operation is for; left out where none is called. Asked again when rights change during the call. */
  readonly who?: Who;
  /** The caller's address; null for the command line. */
  readonly address: string | null;
  /** The WebSocket connection that it came over: its own events are not sent back to it. */
  readonly connectionId?: string | undefined;
  /** Aborted once the caller has hung up, with what a transport answers then: long reads end. Made where it is asked for. */
  readonly gone?: (() => AbortSignal) | undefined;
  /** The longest content that the transport takes, in UTF-16 units. */
  readonly contentLimit: number;
}

/** A call as the handler of operation `N` gets it: by the actor that the operation's `who` allows. */
export type CallOf<N extends OperationName> = Call<ActorsByWho[WhoOf<N>]>;

export type VisitorCall = Call<VisitorActor>;
export type MemberCall = Call<MemberActor>;
export type ParticipantCall = Call<VisitorActor | MemberActor>;
export type OwnerCall = Call<MemberActor | LocalActor>;
export type HostSiteCall = Call<HostSiteActor>;
export type AnonymousCall = Call<AnonymousActor>;

/** Whom something is read for: a caller, or the server itself, which never hangs up. */
export type Reader = Pick<Call, 'service' | 'gone'>;

export type { ReadTx, Tx };
