// Bytes of a page → its text, by what the server, the page or the bytes themselves say.

/** Within these bytes a page must declare its encoding (HTML standard). */
const maxDeclarationOffset = 1_024;

/**
 * The text of a page. Bytes that are not what they are said to be are read as windows-1252, as browsers of the West do:
 * a page that is slightly wrong is better than none.
 * @param charset from the header; null: none
 * @returns null when the bytes are no text
 */
export function decodePage(bytes: Buffer, charset: string | null): string | null {
  if (bytes.subarray(0, 8_000).includes(0) && !isUtf16(bytes)) return null;
  const declared =
    charset ??
    /<meta[^>]{1,200}charset\s*=\s*["']?([\w.:-]{1,40})/i.exec(
      bytes.toString('latin1', 0, maxDeclarationOffset),
    )?.[1];
  for (const label of [detectByteOrderMark(bytes) ?? declared ?? 'utf-8', 'utf-8', 'windows-1252']) {
    try {
      // U+0000 can't be stored, and browsers show nothing in its place.
      return new TextDecoder(label, { fatal: true }).decode(bytes).replaceAll('\0', '');
    } catch {
      // An unknown label, or bytes that it can't mean: the next one.
    }
  }
  return null;
}

function detectByteOrderMark(bytes: Buffer): string | null {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return 'utf-16le';
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return 'utf-16be';
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? 'utf-8' : null;
}

const isUtf16 = (bytes: Buffer): boolean => detectByteOrderMark(bytes)?.startsWith('utf-16') === true;
