// The bytes of a mail → what is looked at of it. Runs in a thread (mail-worker.ts): a mail comes from anywhere.
import { createHash } from 'node:crypto';
import PostalMime, { type Address, type Email } from 'postal-mime';
import { cutReply } from './cut-reply.ts';
import { htmlToText } from './html-to-text.ts';
import type { LightMail } from './light-mail.ts';
import { isOneAddress, maxMailParts, maxMailText, type MailFile, type ParsedMail } from './parsed-mail.ts';

/**
 * Reads a mail.
 * @param light what is known of a mail whose files lie beside it
 * @throws Error for a mail that is nested deeper or has longer headers than any person's
 */
export async function parseMail(
  raw: Uint8Array,
  light?: Pick<LightMail, 'digest' | 'fileOf'>,
): Promise<ParsedMail> {
  const mail = await PostalMime.parse(raw, {
    maxNestingDepth: 30,
    maxHeadersSize: 512 * 1024,
    maxRfc822NestingDepth: 3,
    forceRfc822Attachments: true,
  });
  const header = (name: string): string =>
    mail.headers
      .find(({ key }) => key === name)
      ?.value.trim()
      .toLowerCase() ?? '';
  const isReport = header('content-type').startsWith('multipart/report');
  const { files, left } = readFiles(mail, isReport, light);
  const from = mailboxes([mail.from])[0];
  const messageId = readMessageId(mail.messageId);
  return {
    from: from !== undefined && isOneAddress(from.address) ? from.address.toLowerCase() : null,
    fromName: (from?.name ?? '').slice(0, 1_000),
    messageId,
    key: `mail:${messageId === null && light !== undefined ? light.digest : digestOf(messageId ?? raw)}`,
    subject: (mail.subject ?? '').slice(0, 1_000),
    text: cutReply(readText(mail).slice(0, maxMailText)),
    recipients: [
      ...mail.headers
        .filter(({ key }) => ['delivered-to', 'x-original-to', 'envelope-to', 'x-forwarded-to'].includes(key))
        .flatMap(({ value }) => value.split(',')),
      ...mailboxes([...(mail.to ?? []), ...(mail.cc ?? [])]).map(({ address }) => address),
    ]
      .map((address) => address.replace(/[<>]/g, '').trim().toLowerCase())
      .filter((address) => address.includes('@'))
      .slice(0, 100),
    automatic: isReport || isAutomatic(mail, header),
    bounce: isReport && isPermanentFailure(mail),
    files,
    filesLeftOut: left,
  };
}

const digestOf = (what: string | Uint8Array): string => createHash('sha256').update(what).digest('base64url');

function isAutomatic({ headers, messageId }: Email, header: (name: string) => string): boolean {
  const submitted = header('auto-submitted');
  return (
    (submitted !== '' && !submitted.startsWith('no')) ||
    /^(?:bulk|junk|list|auto_reply)/.test(header('precedence')) ||
    header('x-autoreply') !== '' ||
    header('x-autorespond') !== '' ||
    // What the last mail host wrote of the envelope, for ways in that know none.
    header('return-path') === '<>' ||
    headers.some(({ key }) => key.startsWith('list-')) ||
    /^<?m\.[0-9a-f-]{36}@/.test(messageId ?? '')
  );
}

/** The machine's part of a report says `failed`; a delay is none. */
function isPermanentFailure({ attachments }: Email): boolean {
  return attachments.some(
    ({ mimeType, content }) =>
      mimeType === 'message/delivery-status' &&
      typeof content !== 'string' &&
      /^action:\s*failed/im.test(new TextDecoder().decode(content).slice(0, 20_000)),
  );
}

function readText({ text, html }: Email): string {
  if (text !== undefined && text.trim() !== '') return text;
  return html === undefined ? '' : htmlToText(html.slice(0, 4 * maxMailText));
}

function readFiles(
  { attachments }: Email,
  isReport: boolean,
  light: Pick<LightMail, 'fileOf'> | undefined,
): { files: MailFile[]; left: number } {
  if (isReport) return { files: [], left: 0 };
  const kept = attachments.slice(0, maxMailParts);
  const files = kept.flatMap(({ filename, mimeType, content }, index): MailFile[] => {
    if (typeof content === 'string') return [];
    const own = content instanceof Uint8Array ? content : new Uint8Array(content);
    const bytes = light?.fileOf(own) ?? own;
    return ('path' in bytes ? bytes.size : bytes.length) === 0
      ? []
      : [{ name: (filename ?? `file-${index + 1}`).slice(-1_000), type: mimeType, bytes }];
  });
  return { files, left: attachments.length - files.length };
}

function mailboxes(addresses: readonly (Address | undefined)[]): { name: string; address: string }[] {
  return addresses.flatMap((one) => (one === undefined ? [] : one.group === undefined ? [one] : one.group));
}

function readMessageId(text: string | undefined): string | null {
  const [, id] = /^<?([\x21-\x3b\x3d\x3f-\x7e]{1,900})>?$/.exec(text?.trim() ?? '') ?? [];
  return id ?? null;
}
