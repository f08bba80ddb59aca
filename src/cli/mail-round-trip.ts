// `deskbell doctor --mail-round-trip`: sends a mail to an address of the server's own and waits until the server has it.
import { randomUUID } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import type { Config } from '../config.ts';
import { readNote, type DataFolderReport } from '../data-folder.ts';
import { createSmtpClient } from '../net/smtp-client.ts';
import { automaticHeaders } from '../services/mail/mail-effects.ts';
import { roundTripKey } from '../services/mail/inbound/round-trip.ts';
import { makeRoundTripToken, replyAddress } from '../services/mail/reply-token.ts';
import { note, ok, wrong, type Finding } from './finding.ts';

const about = 'mail round trip';
const sendingMs = 30_000;

/** @param waitMs how long the mail may be on its way */
export async function checkRoundTrip(
  { data, smtpUrl, mailAddress }: Pick<Config, 'data' | 'smtpUrl' | 'mailAddress'>,
  { secrets, serverRunning }: Pick<DataFolderReport, 'secrets' | 'serverRunning'>,
  waitMs = 60_000,
): Promise<Finding> {
  if (smtpUrl === null || mailAddress === null)
    return note(about, 'no mail was sent', 'Set DESKBELL_SMTP_URL and DESKBELL_MAIL_ADDRESS');
  if (secrets === null || !serverRunning)
    return note(
      about,
      'no mail was sent: no server of this folder runs that could take it',
      'Start it first',
    );
  const id = randomUUID();
  const to = replyAddress(mailAddress, makeRoundTripToken({ secrets }, id));
  const clock = {
    after: (ms: number, run: () => void) => {
      const timer = globalThis.setTimeout(run, ms);
      return () => clearTimeout(timer);
    },
  };
  const sent = await createSmtpClient({ clock })(
    { url: smtpUrl.reveal(), allowPrivate: true },
    {
      from: { name: 'Deskbell', address: mailAddress },
      to,
      subject: 'A mail to itself',
      text: 'Deskbell sends this to see whether its mails come back to it. Nothing needs to be done.\n',
      messageId: `${id}@${mailAddress.slice(mailAddress.lastIndexOf('@') + 1)}`,
      headers: automaticHeaders,
    },
    AbortSignal.timeout(sendingMs),
  );
  if (!sent.ok)
    return wrong(about, `it did not leave: ${sent.error}`, 'Correct DESKBELL_SMTP_URL, or ask the mail host');
  const began = performance.now();
  while (performance.now() - began < waitMs) {
    if ((await readNote(data, roundTripKey)) === id)
      return ok(
        about,
        `a mail to ${mailAddress} came back in ${((performance.now() - began) / 1_000).toFixed(1)} s`,
      );
    await setTimeout(200);
  }
  return wrong(
    about,
    `a mail to ${mailAddress} left (${sent.response}), and had not come back after ${waitMs / 1_000} s`,
    'See that the MX record, the mailbox or the mail service of its domain leads plus-addresses to this server: DESKBELL_MAIL_LISTEN, DESKBELL_IMAP_URL or deskbell mail key',
  );
}
