// By which server an organization's mails go, and under which address. Opens no connection.
import type { MailSettingsRow } from '../../engine/rows.ts';
import type { MailServer } from '../../net/smtp-client.ts';
import type { ApplicationSettings } from '../../protocol/application-settings.ts';
import type { ReadTx, Service } from '../service.ts';

/** How an organization's mails leave. */
export interface MailRoute {
  readonly server: MailServer;
  /** The address that mails come from, and whose plus-addresses lead back here. */
  readonly address: string;
  /** Whose server it is. */
  readonly owner: 'server' | 'organization';
}

/** How an organization's mails leave; null: no mail server is configured. */
export async function mailRoute(
  service: Pick<Service, 'settings' | 'secrets'>,
  { repositories }: ReadTx,
  organizationId: string,
): Promise<MailRoute | null> {
  const own = await repositories.mail.settings(organizationId);
  if (own !== undefined)
    return {
      server: {
        url: service.secrets.open(own.sealed, mailSealPlace(own)),
        allowPrivate: service.settings.webhookPrivate,
      },
      address: own.address,
      owner: 'organization',
    };
  const { smtpUrl, address } = service.settings.mail;
  const url = smtpUrl();
  return url === null || address === null
    ? null
    : { server: { url, allowPrivate: true }, address, owner: 'server' };
}

/** Where an organization's mail server is sealed. */
export const mailSealPlace = ({ organization_id }: Pick<MailSettingsRow, 'organization_id'>) => ({
  table: 'mail_settings.sealed',
  row: organization_id,
  organizationId: organization_id,
});

/** What an admin is told where mails can't leave. */
export const noMailServer =
  'no mail server is configured: the owner of the server sets DESKBELL_SMTP_URL and DESKBELL_MAIL_ADDRESS, or an admin names one of the organization';

/** Whether answers to an organization's mails come back: by SMTP, or handed in under a key. */
export async function receivesMail(service: Service, organizationId: string): Promise<boolean> {
  if (service.settings.mail.receives) return true;
  const keys = await service.engine.store.read(({ repositories }) => repositories.mail.keys(organizationId));
  return keys.length > 0;
}

/**
 * The address that an application's mails come from: its own where the organization's mail server sends them, or where
 * it is of the server's own domain. Otherwise every organization could send under every name.
 */
export function senderAddress(route: MailRoute, { email }: ApplicationSettings): string {
  if (email.address === null) return route.address;
  return route.owner === 'organization' || domainOf(email.address) === domainOf(route.address)
    ? email.address
    : route.address;
}

/** The part of an address behind the @. */
export function domainOf(address: string): string {
  return address.slice(address.lastIndexOf('@') + 1);
}
