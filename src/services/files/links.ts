// Links to files: signed, so that those who have one may read the file for about an hour, and no others. The same link
// is given out for a quarter of an hour, so that browsers find the picture in their cache.
import { timingSafeEqual } from 'node:crypto';
import { z } from 'zod';
import { fileLimits, visitorApiPrefix } from '../../protocol/codes.ts';
import { attachment, type Attachment } from '../../protocol/entities.ts';
import type { FileRow, MessageRow } from '../../engine/rows.ts';
import type { Service } from '../service.ts';

const stepMs = 900_000;

/** A file as the row of its message names it. */
export const storedAttachment = attachment.omit({ url: true });
export type StoredAttachment = z.infer<typeof storedAttachment>;

const storedAttachments = z.array(storedAttachment);

/** What serializers need to make links. */
export type LinkMaker = Pick<Service, 'secrets' | 'settings' | 'files' | 'engine'>;

/** How the row of a message names its files; null: it has none. */
export function storeAttachments(files: readonly FileRow[]): string | null {
  if (files.length === 0) return null;
  const stored: StoredAttachment[] = files.map(({ id, name, type, size, width, height }) => ({
    id,
    name,
    type,
    size,
    width,
    height,
  }));
  return JSON.stringify(stored);
}

/** The files that the row of a message names. */
export function readAttachments({ attachments }: Pick<MessageRow, 'attachments'>): StoredAttachment[] {
  if (attachments === null) return [];
  return storedAttachments.parse(JSON.parse(attachments));
}

/** The files of a message with their links, as a field that is absent where there are none. */
export function serializeAttachments(
  row: Pick<MessageRow, 'id' | 'attachments'>,
  maker: LinkMaker,
): { attachments?: Attachment[] } {
  return row.attachments === null
    ? {}
    : {
        attachments: readAttachments(row).map((one) => ({
          ...one,
          url: fileLink(maker, { id: one.id, messageId: row.id }),
        })),
      };
}

/** Which file a link names: of this message only, whatever another message's row may say. */
interface LinkedPlace {
  readonly id: string;
  readonly messageId: string;
}

function fileLink({ secrets, settings, files, engine }: LinkMaker, place: LinkedPlace): string {
  const now = engine.clock.now();
  const expires = (Math.floor(now / stepMs) + 1) * stepMs + fileLimits.linkMs;
  const seconds = expires / 1000;
  const host = files.publicUrl ?? settings.baseUrl() ?? '';
  return `${host}${visitorApiPrefix}/files/${place.id}?expires=${seconds}&signature=${sign(secrets, place, String(seconds))}`;
}

function sign(secrets: Service['secrets'], { id, messageId }: LinkedPlace, expires: string): string {
  return Buffer.from(secrets.signFile(`link:${messageId}:${id}:${expires}`)).toString('base64url');
}

/** What is wrong with a link. */
export type LinkProblem = 'forged' | 'expired';

/** @returns null where the link holds */
export function checkLink(
  { secrets, engine }: Pick<LinkMaker, 'secrets' | 'engine'>,
  link: LinkedPlace & { readonly expires: string; readonly signature: string },
): LinkProblem | null {
  if (!/^[0-9]{1,12}$/.test(link.expires)) return 'forged';
  const wanted = Buffer.from(sign(secrets, link, link.expires));
  const given = Buffer.from(link.signature);
  if (wanted.length !== given.length || !timingSafeEqual(wanted, given)) return 'forged';
  return Number(link.expires) * 1000 <= engine.clock.now() ? 'expired' : null;
}

/** Hex digits of an object's name that say whose it is. */
const markLength = 16;

const markOf = (secrets: Service['secrets'], body: string): string =>
  Buffer.from(secrets.signFile(`mark:${body}`))
    .toString('hex')
    .slice(0, markLength);

/**
 * The name under which the bytes of a file are kept: nothing in the store tells whose they are.
 * @returns 64 hex digits, the last of them a mark that only this installation's key makes
 */
export function objectName(secrets: Service['secrets'], id: string): string {
  const body = Buffer.from(secrets.signFile(`object:${id}`))
    .toString('hex')
    .slice(0, -markLength);
  return body + markOf(secrets, body);
}

/** Whether this installation's key made the name: another installation may keep its files in the same bucket. */
export function isOwnObject(secrets: Service['secrets'], object: string): boolean {
  return object.endsWith(markOf(secrets, object.slice(0, -markLength)));
}
