// The way in by HTTP: a mail as its bytes, under the key of an application.
import type { MailKeyRow } from '../../../engine/rows.ts';
import type { Input, Output } from '../../../protocol/operations.ts';
import { assertAuthNotThrottled, countFailedAuth } from '../../auth/rate-limits.ts';
import { notFound, ServiceError } from '../../core/errors.ts';
import type { AnonymousCall } from '../../service.ts';
import { findMailKey } from '../mail-settings.ts';
import { MailTooLargeError, withMail } from './collect-mail.ts';
import { maxMailBytes } from './parsed-mail.ts';
import { MailRefusedError } from './read-mail.ts';
import { receiveMail } from './receive-mail.ts';

const tooLarge = (): ServiceError =>
  new ServiceError('payload_too_large', `A mail has at most ${maxMailBytes / 1_048_576} MiB.`);

/**
 * Takes in a mail. Answers after what it led to is stored: until then the sender keeps it.
 * @throws ServiceError not_found (the key), bad_request, payload_too_large, unsupported_media_type, rate_limit_exceeded;
 * QueueFullError: too many bytes are on their way
 */
export async function handIn(
  { service, address }: AnonymousCall,
  { key, body, announcedBytes, mediaType }: Input<'email.receive'>,
): Promise<Output<'email.receive'>> {
  if (address !== null) await assertAuthNotThrottled(service, address);
  const findKey = (): Promise<MailKeyRow | undefined> =>
    service.engine.store.read((tx) => findMailKey(tx, service, key));
  const row = await findKey();
  if (row === undefined) {
    if (address !== null) await countFailedAuth(service, address);
    throw notFound('key');
  }
  if (!/^message\/rfc822\s*(?:;|$)/i.test(mediaType))
    throw new ServiceError('unsupported_media_type', 'Send the mail as it came, as message/rfc822.');
  if (announcedBytes !== null && announcedBytes > maxMailBytes) throw tooLarge();
  const application = { id: row.application_id, organizationId: row.organization_id };
  try {
    const from = { source: `key:${application.organizationId}`, body, readOn: false };
    const outcome = await withMail(service.files.incomingFolder, from, async (stored) => {
      // Another key may have taken its place while the mail was on its way.
      if ((await findKey()) === undefined) throw notFound('key');
      if (stored.size === 0) throw new ServiceError('bad_request', 'The mail is empty.');
      return receiveMail(service, stored, { from: null, to: [], application });
    });
    return outcome.state === 'ignored' ? { state: 'ignored', why: outcome.why } : { state: outcome.state };
  } catch (error) {
    if (error instanceof MailTooLargeError) throw tooLarge();
    if (error instanceof MailRefusedError)
      throw new ServiceError('bad_request', `The mail can't be read: ${error.message}.`);
    throw error;
  }
}
