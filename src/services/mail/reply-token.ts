// The addresses and links by which a mail leads back to its conversation. The token decides, and nothing else of a mail:
// it names the conversation and proves, by a MAC over conversation and visitor, that this server made it.
import { timingSafeEqual } from 'node:crypto';
import type { ConversationRow, EffectRow } from '../../engine/rows.ts';
import type { Service } from '../service.ts';

interface Secrets {
  readonly secrets: Pick<Service['secrets'], 'digest'>;
}

/** What a token is for: one of an answer opens no link, and the other way round. */
type Purpose = 'reply' | 'stop';

/** The id of a conversation or of a mail and a MAC of 80 bits, in base32: what fits in front of an @ beside a name. */
const tokenForm = /^([a-z2-7]{26})\.([a-z2-7]{16})$/;
const macBytes = 10;
const alphabet = 'abcdefghijklmnopqrstuvwxyz234567';

/** A token as it was read; whether it holds, `tokenHolds` says. */
export interface ReadToken {
  readonly id: string;
  readonly mac: Uint8Array;
}

/**
 * The token of a conversation for its visitor.
 * @param address to whom the mail goes that holds it, where it speaks for that address alone
 */
export function makeToken(
  service: Secrets,
  purpose: Purpose,
  conversation: Pick<ConversationRow, 'id' | 'visitor_key'>,
  address = '',
): string {
  return writeToken(conversation.id, macOf(service, purpose, conversation, address));
}

/** A mail of the outbox, as far as reports on it are concerned. */
type ReportedMail = Pick<EffectRow, 'id' | 'organization_id'>;

/** The token of a mail's return path: a report that comes back under it speaks of this mail and its receiver alone. */
export function makeReportToken(service: Secrets, mail: ReportedMail, recipient: string): string {
  return writeToken(mail.id, reportMac(service, mail, recipient));
}

/** Whether a token was made for the return path of this mail to this receiver. In constant time. */
export function reportTokenHolds(
  service: Secrets,
  { mac }: ReadToken,
  mail: ReportedMail,
  recipient: string,
): boolean {
  return mac.length === macBytes && timingSafeEqual(mac, reportMac(service, mail, recipient));
}

/** The token of a mail that `doctor` sends to see whether it comes back. @param id a UUID */
export function makeRoundTripToken(service: Secrets, id: string): string {
  return writeToken(id, roundTripMac(service, id));
}

/** Whether `doctor` made the token. In constant time. */
export function roundTripHolds(service: Secrets, { id, mac }: ReadToken): boolean {
  return mac.length === macBytes && timingSafeEqual(mac, roundTripMac(service, id));
}

function roundTripMac({ secrets }: Secrets, id: string): Uint8Array {
  return secrets.digest(`mail-round-trip:${id}`).subarray(0, macBytes);
}

function writeToken(id: string, mac: Uint8Array): string {
  return `${toBase32(Buffer.from(id.replaceAll('-', ''), 'hex'))}.${toBase32(mac)}`;
}

/** Reads a token, in any case: on its way an address may lose it. @returns null for what is none */
export function readToken(text: string): ReadToken | null {
  const [, bytes, mac] = tokenForm.exec(text.toLowerCase()) ?? [];
  if (bytes === undefined || mac === undefined) return null;
  const hex = Buffer.from(fromBase32(bytes).subarray(0, 16)).toString('hex');
  const id = hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
  return { id, mac: fromBase32(mac).subarray(0, macBytes) };
}

/** Whether a token was made for this conversation, its visitor and the address. In constant time. */
export function tokenHolds(
  service: Secrets,
  purpose: Purpose,
  { mac }: ReadToken,
  conversation: Pick<ConversationRow, 'id' | 'visitor_key'>,
  address = '',
): boolean {
  return mac.length === macBytes && timingSafeEqual(mac, macOf(service, purpose, conversation, address));
}

/** `reply@host` → `reply+<token>@host`. */
export function replyAddress(address: string, token: string): string {
  const at = address.lastIndexOf('@');
  return `${address.slice(0, at)}+${token}${address.slice(at)}`;
}

/** The part behind the plus of an address; null where there is none. */
export function plusPart(address: string): string | null {
  const [, part] = /^[^@+]+\+([^@]+)@/.exec(address) ?? [];
  return part ?? null;
}

function macOf(
  { secrets }: Secrets,
  purpose: Purpose,
  { id, visitor_key }: Pick<ConversationRow, 'id' | 'visitor_key'>,
  address: string,
): Uint8Array {
  return secrets
    .digest(`mail-${purpose}:${id}:${visitor_key}:${address.toLowerCase()}`)
    .subarray(0, macBytes);
}

function reportMac(
  { secrets }: Secrets,
  { id, organization_id }: ReportedMail,
  recipient: string,
): Uint8Array {
  return secrets
    .digest(`mail-report:${id}:${organization_id}:${recipient.toLowerCase()}`)
    .subarray(0, macBytes);
}

function toBase32(bytes: Uint8Array): string {
  let text = '';
  let held = 0;
  let bits = 0;
  for (const byte of bytes) {
    held = (held << 8) | byte;
    bits += 8;
    while (bits >= 5) {
      bits -= 5;
      text += alphabet.charAt((held >> bits) & 31);
    }
    held &= (1 << bits) - 1;
  }
  return bits === 0 ? text : text + alphabet.charAt((held << (5 - bits)) & 31);
}

function fromBase32(text: string): Buffer {
  const bytes: number[] = [];
  let held = 0;
  let bits = 0;
  for (const letter of text) {
    held = (held << 5) | alphabet.indexOf(letter);
    bits += 5;
    if (bits < 8) continue;
    bits -= 8;
    bytes.push((held >> bits) & 255);
    held &= (1 << bits) - 1;
  }
  return Buffer.from(bytes);
}
