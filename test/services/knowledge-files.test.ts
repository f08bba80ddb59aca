// Owns: PDF and DOCX files as documents: their text with its headings, and hostile files that must cost little and end in
// a sentence. Must not know where the bytes come from.
import { deflateSync } from 'node:zlib';
import { strToU8, zipSync } from 'fflate';
import { describe, expect, test } from 'vitest';
import type { ConvertedKind } from '../../src/services/assistant/knowledge/files/file-kinds.ts';
import { fileToHtml, type FileBounds } from '../../src/services/assistant/knowledge/files/read-file.ts';
import { buildDocx, buildPdf, paragraph, pdfLine } from '../helpers/document-files.ts';

test('a DOCX file gives its text, with headings by its styles', async () => {
  const bytes = buildDocx(
    paragraph('Refunds', 'Heading1') +
      paragraph('You get your money &lt;b&gt; back.') +
      paragraph('Gifts', 'Heading2') +
      paragraph('Any parcel is wrapped.'),
  );
  expect(await fileToHtml('docx', bytes)).toBe(
    '<h1>Refunds</h1><p>You get your money &lt;b&gt; back.</p><h2>Gifts</h2><p>Any parcel is wrapped.</p>',
  );
});

test('a PDF file gives its paragraphs, with headings by the size of their letters', async () => {
  const bytes = buildPdf([
    pdfLine('Refunds and more', 24, 780) +
      pdfLine('You get your money <b> back', 12, 740) +
      pdfLine('within 14 days.', 12, 726) +
      pdfLine('Gifts', 16, 690),
    pdfLine('Any parcel is wrapped.', 12, 780) + pdfLine('Another paragraph.', 12, 740),
  ]);
  expect(await fileToHtml('pdf', bytes)).toBe(
    [
      '<h1>Refunds and more</h1>',
      '<p>You get your money &lt;b&gt; back within 14 days.</p>',
      '<h2>Gifts</h2>',
      '<p>Any parcel is wrapped.</p>',
      '<p>Another paragraph.</p>',
    ].join('\n'),
  );
});

/** A package whose text says that it is shorter than it is. */
function understated(): Uint8Array {
  const bytes = zipSync({ 'word/document.xml': new Uint8Array(50_000_000) }, { level: 1 });
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  for (let at = 0; at + 4 <= bytes.length; at += 1) {
    const mark = view.getUint32(at, true);
    if (mark === 0x04034b50) view.setUint32(at + 22, 1_000, true);
    if (mark === 0x02014b50) view.setUint32(at + 24, 1_000, true);
  }
  return bytes;
}

/** Only what is drawn on a page is read: lines end at its edge. */
const wordyPages = (): Uint8Array => {
  const lines = Array.from({ length: 70 }, (_, line) =>
    pdfLine('tea and cake '.repeat(9), 9, 820 - line * 11),
  );
  return buildPdf(Array.from({ length: 280 }, () => lines.join('')));
};

const manyPages = (): Uint8Array => buildPdf(Array.from({ length: 2_001 }, () => pdfLine('x', 12, 700)));
const encrypt =
  '/Encrypt << /Filter /Standard /V 1 /R 2 /O (12345678901234567890123456789012) /U (12345678901234567890123456789012) /P -4 >> /ID [(a)(a)]';

describe('refused with a sentence:', () => {
  test.each<[string, ConvertedKind, () => Uint8Array, string, Partial<FileBounds>?]>([
    ['text called DOCX', 'docx', () => strToU8('hello'), 'it is no DOCX file, or damaged'],
    ['another ZIP', 'docx', () => zipSync({ 'a.txt': strToU8('a') }), 'it is no DOCX file, or damaged'],
    [
      'a ZIP bomb',
      'docx',
      () => zipSync({ 'word/document.xml': new Uint8Array(100_000_000) }, { level: 1 }),
      'it unpacks to too much: split it',
    ],
    ['one that lies about its size', 'docx', understated, 'it can’t be read: it may be damaged'],
    [
      'XML that never closes',
      'docx',
      () => buildDocx('<w:p>'.repeat(20_000)),
      'it can’t be read: it may be damaged',
    ],
    [
      'a DOCX with too much text',
      'docx',
      () => buildDocx(paragraph('tea '.repeat(1_000_000))),
      'its text is too long: split it',
    ],
    ['an empty DOCX', 'docx', () => buildDocx(''), 'it has no text'],
    [
      'an encrypted DOCX',
      'docx',
      () => Uint8Array.of(0xd0, 0xcf, 0x11, 0xe0, 0),
      'it is encrypted, or of a Word before 2007: save it as .docx without a password',
    ],
    ['text called PDF', 'pdf', () => strToU8('hello'), 'it is no PDF file, or damaged'],
    [
      'half a PDF',
      'pdf',
      () => buildPdf([pdfLine('x', 12, 700)]).slice(0, 200),
      'it is no PDF file, or damaged',
    ],
    ['a scan', 'pdf', () => buildPdf(['']), 'it has no text: it may be a scan of pictures'],
    [
      'an encrypted PDF',
      'pdf',
      () => buildPdf([pdfLine('x', 12, 700)], { trailer: encrypt }),
      'it is encrypted: save it without a password',
    ],
    ['a PDF with too much text', 'pdf', wordyPages, 'its text is too long: split it'],
    ['too many pages', 'pdf', manyPages, 'it has more than 2000 pages: split it'],
    ['too many bytes', 'pdf', () => new Uint8Array(20_000_001), 'it is larger than 20 MB: split it'],
    [
      'one that takes too long',
      'pdf',
      () => buildPdf([pdfLine('x', 12, 700)]),
      'reading it takes too long: split it',
      { timeoutMs: 1 },
    ],
    [
      'a stream that unpacks to 300 MB',
      'pdf',
      () =>
        buildPdf([deflateSync(Buffer.alloc(300_000_000, ' '), { level: 1 })], {
          filter: '/Filter /FlateDecode',
        }),
      'reading it takes too much memory: split it',
      { maxGrowth: 100_000_000 },
    ],
  ])('%s', async (_name, kind, build, problem, bounds) => {
    const read = fileToHtml(kind, build(), { timeoutMs: 120_000, maxGrowth: 800_000_000, ...bounds });
    await expect(read).rejects.toMatchObject({ name: 'FileRefusedError', message: problem });
  });
});
