// The name of a file, as a stranger sends it: made harmless where it is shown, saved, or stands in a header.
import { blockedFileEndings, fileLimits } from '../../protocol/codes.ts';
import { badField, ServiceError } from '../core/errors.ts';

/** What turns text around, or is not seen: `gpj.exe` must not look like `exe.jpg`. */
const invisible = /[\p{Cc}\p{Cs}\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]/gu;
const unsafe = /["*/:<>?\\|]/g;
const reserved = /^(?:con|prn|aux|nul|com[0-9]|lpt[0-9])(?:\.|$)/i;

/**
 * Reads the header X-File-Name: percent-encoded UTF-8, also in the form of RFC 8187.
 * @returns a name without a path, of at most {@link fileLimits.name} units
 * @throws ServiceError bad_request for one that is not percent-encoded UTF-8
 */
export function readFileName(header: string | undefined): string {
  const encoded = (header ?? '').replace(/^utf-8'[^']*'/i, '');
  let decoded: string;
  try {
    decoded = decodeURIComponent(encoded);
  } catch {
    throw badField('X-File-Name', 'must be percent-encoded UTF-8, as encodeURIComponent makes it');
  }
  return cleanFileName(decoded);
}

/** Of a longer name the end counts: a mail may bring one of half a megabyte, and patterns take their time. */
const maxLookedAt = 1_000;

/** The same for a name that comes decoded, as from a mail. A name that came out of here comes out of here unchanged. */
export function cleanFileName(name: string): string {
  const last = name.slice(-maxLookedAt).split(/[/\\]/).at(-1) ?? '';
  const visible = last.replace(invisible, '').normalize('NFC').replace(unsafe, '_');
  const short = shorten(trim(visible));
  // Shortened before and after: what is cut may leave a reserved name, and the line in front makes one longer.
  const safe = reserved.test(short) ? shorten(`_${short}`) : short;
  return safe === '' ? 'file' : safe;
}

/** Windows ignores dots and blanks at the end; a dot in front hides a file. */
function trim(name: string): string {
  return name.replace(/^[.\s]+/, '').replace(/[.\s]+$/, '');
}

/** Cuts in front of the ending, and never within a character. The end is trimmed: a clean name stays as it is. */
function shorten(name: string): string {
  if (name.length <= fileLimits.name) return name;
  const ending = /\.[\p{L}\p{N}]{1,10}$/u.exec(name)?.[0] ?? '';
  const stem = name.slice(0, fileLimits.name - ending.length);
  return trim(`${stem.isWellFormed() ? stem : stem.slice(0, -1)}${ending}`);
}

const blocked: ReadonlySet<string> = new Set(blockedFileEndings);

/** @throws ServiceError file_rejected for a name that ends like a program's */
export function assertNameAllowed(name: string): void {
  const ending = name.toLowerCase().split('.').slice(1).at(-1)?.trim();
  if (ending === undefined || !blocked.has(ending)) return;
  throw new ServiceError(
    'file_rejected',
    `Files that end in .${ending} are not taken: they may be programs.`,
  );
}

/** Content-Disposition with a name that every browser reads (RFC 6266). */
export function contentDisposition(kind: 'inline' | 'attachment', name: string): string {
  const plain = name.replace(/[^\x20-\x7e]|["\\%]/g, '_');
  const encoded = encodeURIComponent(name).replace(
    /['()*]/g,
    (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return `${kind}; filename="${plain}"; filename*=UTF-8''${encoded}`;
}
