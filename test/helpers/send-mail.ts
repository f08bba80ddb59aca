// Hands a mail over by SMTP as another server would: its bytes as they are, its envelope as told.
import { createTransport } from 'nodemailer';

export interface HandedOver {
  readonly from?: string;
  readonly to: string | readonly string[];
  readonly raw: string | Buffer;
}

/** @returns the code of the answer: 250 where it was taken */
export async function sendMail(
  port: number,
  { from = 'rosa@example.net', to, raw }: HandedOver,
): Promise<number> {
  const transport = createTransport({ host: '127.0.0.1', port, ignoreTLS: true, disableFileAccess: true });
  try {
    const info = await transport.sendMail({
      envelope: { from, to: typeof to === 'string' ? [to] : [...to] },
      raw,
    });
    return Number(info.response.slice(0, 3));
  } catch (error) {
    const code: unknown =
      typeof error === 'object' && error !== null ? Reflect.get(error, 'responseCode') : 0;
    return typeof code === 'number' ? code : 0;
  } finally {
    transport.close();
  }
}

export interface MailParts {
  readonly from?: string;
  readonly to?: string;
  readonly subject?: string;
  readonly messageId?: string | null;
  readonly headers?: readonly string[];
  readonly text?: string;
}

let number = 0;

/** A plain mail. */
export function plainMail({
  from = 'Rosa <rosa@example.net>',
  to = 'x@example.com',
  subject = 'Re: hello',
  messageId,
  headers = [],
  text = 'Hello there.',
}: MailParts): string {
  number += 1;
  const id = messageId === undefined ? `<mail-${number}@example.net>` : messageId;
  return [
    `From: ${from}`,
    `To: ${to}`,
    `Subject: ${subject}`,
    ...(id === null ? [] : [`Message-ID: ${id}`]),
    'Date: Mon, 23 Nov 2026 12:00:00 +0000',
    'MIME-Version: 1.0',
    'Content-Type: text/plain; charset=utf-8',
    'Content-Transfer-Encoding: 8bit',
    ...headers,
    '',
    ...text.split('\n'),
    '',
  ].join('\r\n');
}
