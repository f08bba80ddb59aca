// A DOCX file → HTML: headings by their styles, paragraphs, lists, tables. No images, no macros, no linked files.
import { unzipSync, zipSync } from 'fflate';
import mammoth from 'mammoth';
import { FileRefusedError } from './file-kinds.ts';

/** The parts of the package that have text, or say what it looks like. */
const parts =
  /^(?:\[Content_Types\]\.xml|_rels\/\.rels|word\/(?:_rels\/document\.xml\.rels|document\.xml|styles\.xml|numbering\.xml|footnotes\.xml|endnotes\.xml))$/;
/** Bytes of these parts, unpacked. */
const maxUnpackedBytes = 40_000_000;
/** A Word file of before 2007, or one with a password, is of this kind. */
const oldContainer = [0xd0, 0xcf, 0x11, 0xe0];

/** @throws FileRefusedError */
export async function docxToHtml(bytes: Uint8Array, maxLength: number): Promise<string> {
  if (oldContainer.every((byte, at) => bytes[at] === byte))
    throw new FileRefusedError(
      'it is encrypted, or of a Word before 2007: save it as .docx without a password',
    );
  const { value } = await mammoth.convertToHtml(
    { buffer: Buffer.from(boundedPackage(bytes)) },
    { externalFileAccess: false },
  );
  if (value.replace(/<[^>]*>/g, '').trim() === '') throw new FileRefusedError('it has no text');
  if (value.length > maxLength) throw new FileRefusedError('its text is too long: split it');
  return value;
}

/** The package with the parts that are read, each no longer than it says and all no longer than allowed. */
function boundedPackage(bytes: Uint8Array): Uint8Array {
  let left = maxUnpackedBytes;
  let files: Record<string, Uint8Array>;
  try {
    files = unzipSync(bytes, {
      filter: ({ name, originalSize }) => {
        if (!parts.test(name)) return false;
        left -= originalSize;
        if (left < 0) throw new FileRefusedError('it unpacks to too much: split it');
        return true;
      },
    });
  } catch (error) {
    if (error instanceof FileRefusedError) throw error;
    throw new FileRefusedError('it is no DOCX file, or damaged');
  }
  if (files['word/document.xml'] === undefined) throw new FileRefusedError('it is no DOCX file, or damaged');
  return zipSync(files, { level: 0 });
}
