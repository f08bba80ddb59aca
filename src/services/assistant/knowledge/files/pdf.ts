// A PDF file → HTML: lines joined to paragraphs, headings by the size of their letters. No images, no scripts, no links.
import { getDocumentProxy } from 'unpdf';
import { escapeHtml } from '../../../../text/escape-html.ts';
import { FileRefusedError } from './file-kinds.ts';

const maxPages = 2_000;
/** A line of larger letters than the text's, and no longer than this, is a heading. */
const headingFactor = 1.15;
const maxHeadingLength = 150;
const maxHeadingLevel = 4;

interface TextLine {
  readonly text: string;
  /** Height of its letters. */
  readonly size: number;
  /** Begins a paragraph: it stands further below the line before than lines do. */
  readonly apart: boolean;
}

/** @throws FileRefusedError */
export async function pdfToHtml(bytes: Uint8Array, maxLength: number): Promise<string> {
  const pdf = await open(bytes);
  if (pdf.numPages > maxPages) throw new FileRefusedError(`it has more than ${maxPages} pages: split it`);
  const lines: TextLine[] = [];
  let length = 0;
  for (let number = 1; number <= pdf.numPages; number += 1) {
    const page = await pdf.getPage(number);
    const { items } = await page.getTextContent();
    for (const line of linesOf(items)) {
      length += line.text.length;
      if (length > maxLength) throw new FileRefusedError('its text is too long: split it');
      lines.push(line);
    }
    page.cleanup();
  }
  if (lines.length === 0) throw new FileRefusedError('it has no text: it may be a scan of pictures');
  return toHtml(lines);
}

type Pdf = Awaited<ReturnType<typeof getDocumentProxy>>;
type Items = Awaited<ReturnType<Awaited<ReturnType<Pdf['getPage']>>['getTextContent']>>['items'];

async function open(bytes: Uint8Array): Promise<Pdf> {
  try {
    return await getDocumentProxy(bytes, { verbosity: 0, stopAtErrors: false });
  } catch (error) {
    throw new FileRefusedError(
      error instanceof Error && error.name === 'PasswordException'
        ? 'it is encrypted: save it without a password'
        : 'it is no PDF file, or damaged',
    );
  }
}

/** Pieces that stand on one line, from the top of the page as the file has them. */
function linesOf(items: Items): TextLine[] {
  const lines: TextLine[] = [];
  let text = '';
  let size = 0;
  let bottom: number | null = null;
  let apart = true;
  const end = (): void => {
    const whole = text.replace(/\s+/g, ' ').trim();
    if (whole !== '') lines.push({ text: whole, size, apart });
    [text, size] = ['', 0];
  };
  for (const item of items) {
    if (!('str' in item)) continue;
    const y = Number(item.transform[5]);
    if (item.str.trim() !== '' && text === '') {
      apart = bottom === null || Math.abs(bottom - y) > Math.max(item.height, 1) * 1.6;
      bottom = y;
    }
    text += item.str;
    if (item.str.trim() !== '') size = Math.max(size, item.height);
    if (item.hasEOL) end();
  }
  end();
  return lines;
}

/** The size that most letters have. */
function textSize(lines: readonly TextLine[]): number {
  const letters = new Map<number, number>();
  for (const { text, size } of lines) {
    const rounded = Math.round(size * 2) / 2;
    letters.set(rounded, (letters.get(rounded) ?? 0) + text.length);
  }
  return [...letters].toSorted(([, one], [, other]) => other - one)[0]?.[0] ?? 0;
}

function toHtml(lines: readonly TextLine[]): string {
  const usual = textSize(lines);
  const isHeading = ({ text, size }: TextLine): boolean =>
    size >= usual * headingFactor && text.length <= maxHeadingLength && /\p{L}/u.test(text);
  const sizes = [...new Set(lines.filter(isHeading).map(({ size }) => Math.round(size)))].toSorted(
    (one, other) => other - one,
  );
  const html: string[] = [];
  let paragraph: string[] = [];
  const end = (): void => {
    if (paragraph.length > 0) html.push(`<p>${escapeHtml(paragraph.join(' '))}</p>`);
    paragraph = [];
  };
  for (const line of lines) {
    if (isHeading(line)) {
      end();
      const level = Math.min(maxHeadingLevel, sizes.indexOf(Math.round(line.size)) + 1);
      html.push(`<h${level}>${escapeHtml(line.text)}</h${level}>`);
      continue;
    }
    if (line.apart) end();
    paragraph.push(line.text);
  }
  end();
  return html.join('\n');
}
