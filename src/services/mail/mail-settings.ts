// An organization's mail: its own server, the keys under which mails are handed in, a mail to see whether mails arrive.
import { randomBytes } from 'node:crypto';
import { wholeLog } from '../../engine/repositories/log-stretches.ts';
import type { ApplicationRow, MailKeyRow } from '../../engine/rows.ts';
import { leadsInside } from '../../net/ip-ranges.ts';
import { readMailServerUrl } from '../../net/mail-server-url.ts';
import type { Input, Output } from '../../protocol/operations.ts';
import type { MailState } from '../../protocol/operations/email.ts';
import { accessApplication, accessMember, accessOrganization } from '../core/access.ts';
import { audit } from '../core/audit.ts';
import { badField, rateLimited, ServiceError } from '../core/errors.ts';
import { isoTime } from '../core/serializers.ts';
import { textIn } from '../notifications/texts.ts';
import { serializeEffect } from '../outbox/deliveries.ts';
import type { OwnerCall, ReadTx, Service, Tx } from '../service.ts';
import { organizationQuotas } from '../tenants/quotas.ts';
import { readEmailSettings } from '../tenants/settings.ts';
import { queueMail } from './mail-effects.ts';
import { mailRoute, mailSealPlace, noMailServer } from './mail-server.ts';

async function mailState(tx: ReadTx, service: Service, organizationId: string): Promise<MailState> {
  const { mail, organizations } = tx.repositories;
  const organization = await organizations.byId(organizationId);
  const own = await mail.settings(organizationId);
  const route = await mailRoute(service, tx, organizationId);
  const keys = await mail.keys(organizationId);
  return {
    organizationId,
    server: route?.owner ?? 'none',
    host: own?.host ?? null,
    address: route?.address ?? null,
    receives: service.settings.mail.receives || keys.length > 0,
    keys: keys.map((row) => ({ applicationId: row.application_id, createdAt: isoTime(row.created_at) })),
    mailsPerDay: organization === undefined ? null : organizationQuotas(organization).mailsPerDay,
  };
}

/** How mails leave and come back. */
export async function getMail(
  tx: ReadTx,
  call: OwnerCall,
  input: Input<'email.get'>,
): Promise<Output<'email.get'>> {
  const organization = await accessOrganization(tx, call.actor, input.organization);
  return mailState(tx, call.service, organization.id);
}

/**
 * Sets the organization's own mail server, or removes it.
 * @throws ServiceError not_found, bad_request
 */
export async function updateMail(
  tx: Tx,
  call: OwnerCall,
  input: Input<'email.update'>,
): Promise<Output<'email.update'>> {
  const { service } = call;
  const organization = await accessOrganization(tx, call.actor, input.organization);
  const { mail } = tx.repositories;
  let host: string | null = null;
  if (input.server === null) await mail.removeSettings(organization.id);
  else {
    const url = checkServerUrl(service, input.server.url);
    host = url.host;
    const place = { organization_id: organization.id };
    await mail.putSettings({
      ...place,
      sealed: service.secrets.seal(url.href, mailSealPlace(place)),
      host,
      address: input.server.address,
      updated_at: service.engine.clock.now(),
    });
  }
  tx.configurationChanged(organization.id);
  await audit(tx, call, {
    organizationId: organization.id,
    action: 'email.update',
    subject: `organization:${organization.id}`,
    detail: { host },
  });
  return mailState(tx, service, organization.id);
}

/** @throws ServiceError bad_request */
function checkServerUrl(service: Service, text: string): URL {
  const url = readMailServerUrl(text);
  if (url === null)
    throw badField('server.url', 'must be like smtp://user:password@mail.example.com:587 or smtps://…');
  if (leadsInside(url.hostname) && !service.settings.webhookPrivate)
    throw badField(
      'server.url',
      "must not lead to a private or local address (the server's owner can allow it with DESKBELL_WEBHOOK_PRIVATE=allow)",
    );
  return url;
}

/**
 * Makes the key under which mails for an application are handed in. It is shown here and never again.
 * @throws ServiceError not_found
 */
export async function createMailKey(
  tx: Tx,
  call: OwnerCall,
  { applicationId }: Input<'email.createKey'>,
): Promise<Output<'email.createKey'>> {
  const { service } = call;
  const application = await accessApplication(tx, call.actor, applicationId);
  const key = `dbm_${randomBytes(32).toString('base64url')}`;
  await tx.repositories.mail.putKey({
    application_id: application.id,
    organization_id: application.organization_id,
    digest: mailKeyDigest(service, key),
    created_at: service.engine.clock.now(),
  });
  tx.configurationChanged(application.organization_id);
  await audit(tx, call, {
    organizationId: application.organization_id,
    action: 'email.createKey',
    subject: `application:${application.id}`,
  });
  return { key, path: `/api/v1/inbound/email/${key}` };
}

/** A keyed digest: it is looked up, so that no comparison tells how much of a key was right. */
function mailKeyDigest({ secrets }: Service, key: string): Uint8Array {
  return secrets.digest(`mail-key:${key}`);
}

/** The application of a key; undefined for none. */
export function findMailKey(tx: ReadTx, service: Service, key: string): Promise<MailKeyRow | undefined> {
  return tx.repositories.mail.key(mailKeyDigest(service, key));
}

const testWindows = [{ limit: 10, windowMs: 3_600_000 }];

/** Counts a test mail. @throws ServiceError rate_limit_exceeded */
export async function countTestMail({ service, actor }: OwnerCall): Promise<void> {
  if (actor.kind === 'local') return;
  const verdict = await service.engine.limiter.take([
    { key: `mail-test:${actor.organizationId}`, windows: testWindows },
  ]);
  if (!verdict.ok) throw rateLimited('per_organization', testWindows, verdict.window, verdict.retryAfterMs);
}

/**
 * Sends a mail to see whether mails arrive. The answer comes before the sending: its row says how it went.
 * @throws ServiceError not_found, conflict (no mail server)
 */
export async function testMail(
  tx: Tx,
  call: OwnerCall,
  input: Input<'email.test'>,
): Promise<Output<'email.test'>> {
  const { service } = call;
  const organization = await accessOrganization(tx, call.actor, input.organization);
  // A command does not know the server's environment: the row says how it went.
  if (call.actor.kind === 'member' && (await mailRoute(service, tx, organization.id)) === null)
    throw new ServiceError('conflict', `It can't be sent: ${noMailServer}.`);
  const locale =
    call.actor.kind === 'member' ? (await accessMember(tx, call.actor, call.actor.memberId)).locale : null;
  const key = `test:${service.engine.clock.newId()}`;
  await queueMail(tx, service, {
    organizationId: organization.id,
    key,
    about: 'test',
    to: input.to,
    subject: textIn(locale, 'mailTest', { organization: organization.name }),
    text: `${textIn(locale, 'mailTestBody')}\n`,
    retryForMs: 3_600_000,
  });
  await audit(tx, call, {
    organizationId: organization.id,
    action: 'email.test',
    subject: `organization:${organization.id}`,
  });
  const mails = { organizationId: organization.id, kind: 'mail' };
  const [row] = await tx.repositories.effects.log.page(mails, wholeLog, 1, 0);
  if (row === undefined) throw new Error('The mail that was just stored is not there.');
  return serializeEffect(row);
}

/**
 * Refuses an inbox address that another application has: mails to it could go to one only.
 * @throws ServiceError conflict
 */
export async function assertInboxFree(
  tx: ReadTx,
  application: Pick<ApplicationRow, 'id'>,
  address: string | null,
): Promise<void> {
  if (address === null) return;
  const others = await tx.repositories.applications.withSetting(address);
  if (others.some((row) => row.id !== application.id && readEmailSettings(row).address === address))
    throw new ServiceError('conflict', `The address ${address} belongs to another application.`);
}
