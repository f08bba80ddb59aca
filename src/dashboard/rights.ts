// Owns noticing that the member's rights have changed under way: an operator has become an admin, or the reverse.
import type { StaffSession } from '../sdk/staff-types.ts';
import { call, session } from './api.ts';
import { beginAnew, desk } from './desk.ts';
import { toast } from './ui/toast.tsx';
import { say } from './words.ts';

/** A look without a cause is not repeated sooner, ms. */
const lookAgainMs = 30_000;
let lookedAt = 0;

/**
 * Asks who is signed in, because something was refused. It may be because the session is over, which leads to the
 * sign-in, behind which the page waits as it is; or because the role is another, which is told and shown.
 */
export function checkRights(): void {
  lookedAt = Date.now();
  compareRights().catch(() => undefined);
}

/** The same without a cause, unless it was looked at lately: nothing tells a page that it may do more by now. */
export function checkRightsAgain(): void {
  const isSignedIn = session.value !== null && session.value !== undefined;
  if (isSignedIn && Date.now() - lookedAt >= lookAgainMs) checkRights();
}

async function compareRights(): Promise<void> {
  const now = await call<StaffSession>('GET', '/session');
  const { store } = desk().model;
  const before = store.get().session;
  if (before === null) return undefined;
  // Another member has signed in to this browser, whose session is not for the desk of the one before.
  if (before.member.id !== now.member.id) return beginAnew();
  if (before.member.role === now.member.role) return undefined;
  store.set({ session: now });
  toast(say('rightsChanged'), now.member.role === 'admin' ? 'good' : 'bad');
  return undefined;
}
