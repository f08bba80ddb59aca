// By which server an organization's mails go, and under which address. Opens no connection.
import type { MailServer } from '../../net/smtp-client.ts';
import type { ReadTx, Service } from '../service.ts';

/** How an organization's mails leave. */
export interface MailRoute {
  readonly server: MailServer;
  /** The address that mails come from, and whose plus-addresses lead back here. */
  readonly address: string;
}

/** How an organization's mails leave; null: no mail server is configured. */
export function mailRoute(
  service: Pick<Service, 'settings'>,
  _tx: ReadTx,
  _organizationId: string,
): Promise<MailRoute | null> {
  const { smtpUrl, address } = service.settings.mail;
  const url = smtpUrl();
  return Promise.resolve(
    url === null || address === null ? null : { server: { url, allowPrivate: true }, address },
  );
}

/** What an admin is told where mails can't leave. */
export const noMailServer =
  'no mail server is configured: the owner of the server sets DESKBELL_SMTP_URL and DESKBELL_MAIL_ADDRESS';

/** The part of an address behind the @. */
export function domainOf(address: string): string {
  return address.slice(address.lastIndexOf('@') + 1);
}
