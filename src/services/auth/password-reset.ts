// Replaces a forgotten password by a link that is mailed: once, within an hour. What is answered, and when, does not
// tell whether there is such an account.
import type { LimitWindow } from '../../engine/engine.ts';
import type { Input, Output } from '../../protocol/operations.ts';
import type { OrganizationRow, MemberRow } from '../../engine/rows.ts';
import { addressKey } from '../../net/ip-ranges.ts';
import { audit } from '../core/audit.ts';
import { ServiceError } from '../core/errors.ts';
import { queueMail } from '../mail/mail-effects.ts';
import { mailRoute } from '../mail/mail-server.ts';
import { textIn } from '../notifications/texts.ts';
import type { AnonymousCall, ReadTx, Service } from '../service.ts';
import type { MemberAccount } from './open-session.ts';
import { mayUseHost } from './organization-host.ts';
import { assertAuthNotThrottled, countFailedAuth } from './rate-limits.ts';
import { makeResetToken } from './secrets.ts';

const linkLifeMs = 3_600_000;
/** Mails to one account, from whatever address they are asked for: what is beyond is not sent, and not said. */
const accountWindows: readonly LimitWindow[] = [
  { limit: 3, windowMs: 3_600_000 },
  { limit: 10, windowMs: 24 * 3_600_000 },
];

/** By service, mails that are being stored: the answer does not wait for them. */
const underWay = new WeakMap<Service, Set<Promise<void>>>();

/**
 * Mails a link to the account, if there is one. Answered before that is looked at, so that neither words nor time tell.
 * @throws ServiceError conflict where the server has no mail server; rate_limit_exceeded by address
 */
export async function forgotPassword(
  call: AnonymousCall,
  input: Input<'password.forgot'>,
): Promise<Output<'password.forgot'>> {
  const { service } = call;
  const address = call.address ?? 'local';
  await assertAuthNotThrottled(service, address);
  await countFailedAuth(service, address);
  // Of an organization that does not exist what is true of the server; of an account nothing is looked at yet.
  const route = await service.engine.store.read(async (tx) => {
    const organization = await tx.repositories.organizations.bySlug(input.organization);
    return mailRoute(service, tx, organization?.id ?? '');
  });
  if (route === null)
    throw new ServiceError(
      'conflict',
      'This server sends no e-mail. Ask an admin of your organization for a new password; the owner of the server sets up mail with DESKBELL_SMTP_URL and DESKBELL_MAIL_ADDRESS.',
    );
  const pending = underWay.get(service) ?? new Set<Promise<void>>();
  underWay.set(service, pending);
  // What fails here is asked for again by who waits for the mail.
  const work = mailLink(call, input)
    .catch(() => undefined)
    .finally(() => pending.delete(work));
  pending.add(work);
  return { success: true };
}

/** Waits until every link that was asked for is stored: before the store is closed. */
export async function settlePasswordResets(service: Service): Promise<void> {
  const pending = underWay.get(service);
  if (pending !== undefined) await Promise.all(pending);
}

async function mailLink(call: AnonymousCall, input: Input<'password.forgot'>): Promise<void> {
  const { service } = call;
  const { store, limiter, clock } = service.engine;
  const account = await store.read((tx) => findAccount(tx, call, input));
  if (account === null) return;
  const { member, organization } = account;
  const base = service.settings.baseUrl();
  if (base === null) return;
  const verdict = await limiter.take([{ key: `reset:${member.id}`, windows: accountWindows }]);
  if (!verdict.ok) return;
  const token = makeResetToken();
  const digest = service.secrets.digest(token);
  const expiresAt = clock.now() + linkLifeMs;
  const link = `${base}/inbox?organization=${organization.slug}#reset=${token}`;
  const say = (key: 'resetSubject' | 'resetBody' | 'resetIgnore'): string =>
    textIn(member.locale, key, { organization: organization.name, email: member.email });
  await store.write({ organization: organization.id }, async (tx) => {
    await tx.repositories.passwordResets.put({
      digest,
      member_id: member.id,
      created_at: clock.now(),
      expires_at: expiresAt,
    });
    await queueMail(tx, service, {
      organizationId: organization.id,
      key: `password-reset:${Buffer.from(digest).toString('base64url')}`,
      about: 'password-reset',
      to: member.email,
      memberId: member.id,
      subject: say('resetSubject'),
      text: [say('resetBody'), '', link, '', say('resetIgnore'), ''].join('\n'),
      retryForMs: linkLifeMs,
    });
    await audit(tx, call, {
      organizationId: organization.id,
      action: 'password.forgot',
      subject: `member:${member.id}`,
    });
  });
}

async function findAccount(
  tx: ReadTx,
  { service, actor }: AnonymousCall,
  input: Input<'password.forgot'>,
): Promise<MemberAccount | null> {
  const organization = await tx.repositories.organizations.bySlug(input.organization);
  if (organization === undefined || !mayUseHost(service, actor.host, organization)) return null;
  const member = await tx.repositories.members.byEmail(organization.id, input.email);
  return member === undefined || member.disabled_at !== null ? null : { organization, member };
}

/**
 * Sets a new password with the token of a link, and ends every session and token of the member. A second factor is asked
 * for at the next sign-in as before.
 * @throws ServiceError unauthorized, rate_limit_exceeded
 */
export async function resetPassword(
  call: AnonymousCall,
  input: Input<'password.reset'>,
): Promise<Output<'password.reset'>> {
  const { service } = call;
  const address = call.address ?? 'local';
  await assertAuthNotThrottled(service, address);
  const digest = service.secrets.digest(input.token);
  const { store } = service.engine;
  // Looked up first: hashing is slow, and a guessed link must not cost it.
  const known = await store.read((tx) => findByLink(tx, call, digest));
  if (known === null) {
    await countFailedAuth(service, address);
    throw unknownLink();
  }
  const passwordHash = await service.secrets.hashPassword(input.password, addressKey(address));
  return store.write({ organization: known.organization.id }, async (tx) => {
    const found = await findByLink(tx, call, digest);
    // Of two at once one has it.
    if (found === null || (await tx.repositories.passwordResets.remove(digest)) === 0) throw unknownLink();
    const { member, organization } = found;
    await tx.repositories.members.setPassword(member.id, passwordHash);
    await tx.repositories.invitations.remove(member.id);
    await tx.repositories.members.removeSessionsOf(member.id);
    tx.configurationChanged(organization.id);
    await audit(tx, call, {
      organizationId: organization.id,
      action: 'password.reset',
      subject: `member:${member.id}`,
    });
    return { success: true, organization: organization.slug, email: member.email };
  });
}

async function findByLink(
  tx: ReadTx,
  { service, actor }: AnonymousCall,
  digest: Uint8Array,
): Promise<{ readonly member: MemberRow; readonly organization: OrganizationRow } | null> {
  const reset = await tx.repositories.passwordResets.byDigest(digest);
  if (reset === undefined || reset.expires_at <= service.engine.clock.now()) return null;
  const member = await tx.repositories.members.byId(reset.member_id);
  const organization = member && (await tx.repositories.organizations.byId(member.organization_id));
  if (member === undefined || organization === undefined || member.disabled_at !== null) return null;
  return mayUseHost(service, actor.host, organization) ? { member, organization } : null;
}

function unknownLink(): ServiceError {
  return new ServiceError(
    'unauthorized',
    'This link was used already, or is over. Ask for another one with "Forgot your password?".',
  );
}
