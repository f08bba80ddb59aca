// Builds small PDF and DOCX files for tests, right ones and hostile ones. Must not read any.
import { strToU8, zipSync } from 'fflate';

const word = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"';
const packageTypes = 'http://schemas.openxmlformats.org/package/2006';
const officeTypes = 'http://schemas.openxmlformats.org/officeDocument/2006';

/** A paragraph; `style` as Word names it: Heading1. */
export function paragraph(text: string, style = ''): string {
  const properties = style === '' ? '' : `<w:pPr><w:pStyle w:val="${style}"/></w:pPr>`;
  return `<w:p>${properties}<w:r><w:t>${text}</w:t></w:r></w:p>`;
}

/** @param body of its one part of text, as XML */
export function buildDocx(body: string): Uint8Array {
  const part = 'application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml';
  return zipSync({
    '[Content_Types].xml': strToU8(
      `<Types xmlns="${packageTypes}/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Override PartName="/word/document.xml" ContentType="${part}"/></Types>`,
    ),
    '_rels/.rels': strToU8(
      `<Relationships xmlns="${packageTypes}/relationships"><Relationship Id="r" Type="${officeTypes}/relationships/officeDocument" Target="word/document.xml"/></Relationships>`,
    ),
    'word/document.xml': strToU8(`<w:document ${word}><w:body>${body}</w:body></w:document>`),
  });
}

/** One line of a page: its text without brackets, its letters' size, its place from the page's foot. */
export const pdfLine = (text: string, size: number, y: number): string =>
  `BT /F1 ${size} Tf 72 ${y} Td (${text}) Tj ET\n`;

/**
 * @param pages the content of each, as drawing instructions
 * @param filter how they are packed
 * @param trailer entries of the file's trailer
 */
export function buildPdf(
  pages: readonly (string | Uint8Array)[],
  { filter = '', trailer = '' }: { readonly filter?: string; readonly trailer?: string } = {},
): Uint8Array {
  const contents = pages.map((page) => Buffer.from(page));
  const kids = contents.map((_, index) => `${4 + 2 * index} 0 R`).join(' ');
  const objects: Buffer[] = [
    '<< /Type /Catalog /Pages 2 0 R >>',
    `<< /Type /Pages /Kids [${kids}] /Count ${contents.length} >>`,
    '<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>',
  ].map((text) => Buffer.from(text));
  for (const [index, content] of contents.entries())
    objects.push(
      Buffer.from(
        `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Resources << /Font << /F1 3 0 R >> >> /Contents ${5 + 2 * index} 0 R >>`,
      ),
      Buffer.concat([
        Buffer.from(`<< /Length ${content.length} ${filter} >>\nstream\n`),
        content,
        Buffer.from('\nendstream'),
      ]),
    );
  const parts: Buffer[] = [Buffer.from('%PDF-1.4\n')];
  const offsets: number[] = [];
  let length = parts[0]?.length ?? 0;
  for (const [index, object] of objects.entries()) {
    offsets.push(length);
    const part = Buffer.concat([Buffer.from(`${index + 1} 0 obj\n`), object, Buffer.from('\nendobj\n')]);
    parts.push(part);
    length += part.length;
  }
  const rows = offsets.map((offset) => `${String(offset).padStart(10, '0')} 00000 n \n`).join('');
  const size = objects.length + 1;
  parts.push(
    Buffer.from(
      `xref\n0 ${size}\n0000000000 65535 f \n${rows}trailer << /Size ${size} /Root 1 0 R ${trailer} >>\nstartxref\n${length}\n%%EOF`,
    ),
  );
  return new Uint8Array(Buffer.concat(parts));
}
