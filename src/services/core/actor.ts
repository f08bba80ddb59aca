// Who asks. Every rule gets one of these; none of them knows by which transport it came.
import type { Mode, Role } from '../../protocol/entities.ts';
import type { TokenScope } from '../../protocol/sign-in.ts';

/** A page that shows the widget: an application and a registered origin, no visitor yet. */
export interface HostSiteActor {
  readonly kind: 'hostSite';
  readonly organizationId: string;
  readonly applicationId: string;
  readonly origin: string | null;
}

export interface VisitorActor {
  readonly kind: 'visitor';
  readonly organizationId: string;
  readonly applicationId: string;
  /** The X-Visitor-Id, lower case. */
  readonly visitorId: string;
  readonly mode: Mode;
  /** By API key (the customer's backend, trusted to name people) or by origin (a browser). */
  readonly via: 'key' | 'origin';
  /** The API key that admitted this call, or asked for the token of this socket; none for a web page and its sockets. */
  readonly keyId?: string | undefined;
  /** When that key ends, ms; none: not by time. */
  readonly keyEndsAt?: number | undefined;
  readonly origin: string | null;
  /** Set where the application wants a page's visitors to be proven: asked at each call, and not of the others. */
  readonly identityDemanded?: true;
}

export interface MemberActor {
  readonly kind: 'member';
  readonly organizationId: string;
  readonly memberId: string;
  readonly name: string;
  readonly role: Role;
  readonly sessionId: string;
  /** When the session or token was to end, ms, as it was last seen: use may have put a session's end off. */
  readonly sessionEndsAt: number;
  /** What a staff token may do; null: a session, which may do all that the member may. */
  readonly scopes: readonly TokenScope[] | null;
  readonly origin: string | null;
}

/** The command line on the data folder: may do what any admin may, in every organization. */
export interface LocalActor {
  readonly kind: 'local';
}

export interface AnonymousActor {
  readonly kind: 'anonymous';
  /** The Host header: at the host of an organization only its own members sign in. */
  readonly host?: string | undefined;
}

/** The actor that an operation's `who` allows. `admin` is a member whose role is admin, or the command line. */
export interface ActorsByWho {
  readonly anyone: AnonymousActor;
  readonly hostSite: HostSiteActor;
  readonly visitor: VisitorActor;
  readonly operator: MemberActor;
  readonly admin: MemberActor | LocalActor;
  readonly local: LocalActor;
}

export type Actor = HostSiteActor | VisitorActor | MemberActor | LocalActor | AnonymousActor;

/** The id under which an actor takes part in conversations. */
export function userId(actor: VisitorActor | MemberActor): string {
  return actor.kind === 'visitor' ? actor.visitorId : actor.memberId;
}

/** When what admitted an actor ends by time alone, ms, as it was last seen: that changes no configuration. */
export function endsAt(actor: Actor): number {
  if (actor.kind === 'member') return actor.sessionEndsAt;
  return (actor.kind === 'visitor' ? actor.keyEndsAt : undefined) ?? Infinity;
}

/** How the audit log names an actor. */
export function actorLabel(actor: Actor): string {
  switch (actor.kind) {
    case 'member':
      return actor.scopes === null
        ? `member:${actor.memberId}`
        : `member:${actor.memberId}/token:${actor.sessionId}`;
    case 'visitor':
      return `visitor:${actor.applicationId}`;
    case 'hostSite':
    case 'anonymous':
    case 'local':
      return actor.kind;
  }
}

/** In the place of who did it, where it was no person: a time had come. */
export const noActor = '00000000-0000-0000-0000-000000000000';

/** Visitors have ids of version 4, everybody else of version 7: most events need no row to be told apart. */
export const isVisitorId = (id: string): boolean => id.charAt(14) === '4';
