// Owns bringing Markdown of any dialect to the few marks that are kept: headings, quotes, tables and rules become
// paragraphs of their text, images their alt text, and fences one shape. Text in, text out; makes no nodes.
import { safeHref } from './links.ts';

const FENCE = /^ {0,3}(`{3,}|~{3,})[ \t]*([^`]*)$/;
const RULE = /^ {0,3}(?:(?:\*[ \t]*){3,}|(?:-[ \t]*){3,}|(?:_[ \t]*){3,}|=+[ \t]*|-{2,}[ \t]*)$/;
const TABLE_RULE = /^[ \t]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-*:?[ \t]*)+$/;
const TABLE_ROW = /^[ \t]*\|(.*)\|[ \t]*$/;
const HEADING = /^ {0,3}#{1,6}(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*$/;
const QUOTE = /^ {0,3}(?:> ?)+/;
const MARKER = /^[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]/;
const BOX = /^([ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]+)\[[ xX]\][ \t]+/;
/** More indentation than this says nothing that a chat window could show. */
const MAX_INDENT = 12;

/**
 * @param markdown well-formed, with newlines as its only line ends
 * @returns Markdown of paragraphs, emphasis, code, lists and links; raw HTML stands as it was
 */
export function normaliseLines(markdown: string): string {
  const out: string[] = [];
  let paragraph: string[] = [];
  const flush = (): void => {
    if (paragraph.length > 0) out.push(...withoutImages(paragraph.join('\n')).split('\n'));
    paragraph = [];
  };
  const lines = markdown.split('\n');
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at] ?? '';
    const fence = FENCE.exec(line);
    if (fence !== null) {
      flush();
      const { code, next } = fenced(lines, at, fence[1] ?? '');
      const marks = '`'.repeat(Math.max(3, ...(code.join('\n').match(/`+/g) ?? []).map((run) => run.length + 1)));
      out.push('', marks + (/^[\w+#-]{1,32}/.exec(fence[2]?.trim() ?? '')?.[0] ?? ''), ...code, marks, '');
      at = next;
      continue;
    }
    const heading = HEADING.exec(line);
    if (heading !== null) {
      flush();
      paragraph.push(heading[1] ?? '');
      flush();
      out.push('');
    } else if (line.trim() === '' || RULE.test(line) || TABLE_RULE.test(line)) {
      flush();
      // A table's rows stay together; everything else is parted by an empty line.
      if (!TABLE_RULE.test(line) || !line.includes('|')) out.push('');
    } else {
      paragraph.push(plainLine(line));
    }
  }
  flush();
  return out.join('\n');
}

function plainLine(line: string): string {
  const unquoted = line.replace(QUOTE, '');
  const row = TABLE_ROW.exec(unquoted);
  if (row !== null)
    return (row[1] ?? '')
      .split('|')
      .map((cell) => cell.trim())
      .filter((cell) => cell !== '')
      .join(' · ');
  const indent = (/^[ \t]*/.exec(unquoted)?.[0] ?? '').replaceAll('\t', '  ').slice(0, MAX_INDENT);
  // Only a list's lines mean something by their indentation; "1)" is read as "1." by everybody.
  const text = unquoted.trimStart();
  if (!MARKER.test(text)) return indent === '' ? text : ' '.repeat(Math.min(indent.length, MAX_INDENT)) + text;
  return indent + text.replace(BOX, '$1').replace(/^(\d{1,9})\)/, '$1.');
}

function fenced(lines: readonly string[], start: number, opening: string): { code: string[]; next: number } {
  const end = new RegExp(`^ {0,3}\\${opening[0] ?? '`'}{${opening.length},}[ \\t]*$`);
  const code: string[] = [];
  let at = start + 1;
  for (; at < lines.length; at++) {
    const line = lines[at] ?? '';
    if (end.test(line)) break;
    code.push(line);
  }
  return { code, next: at };
}

/** Images become their alt text, addresses in angle brackets links; escapes and code become what no parser reads. */
function withoutImages(text: string): string {
  let out = '';
  let at = 0;
  while (at < text.length) {
    const character = text[at] ?? '';
    const special = pieceAt(text, at, character);
    out += special?.text ?? character;
    at = special?.end ?? at + 1;
  }
  return out;
}

function pieceAt(text: string, at: number, character: string): Piece | null {
  switch (character) {
    case '\\':
      // Before a line's end it is a break, before a letter itself.
      return /^[!-/:-@[-`{-~]/.test(text[at + 1] ?? '') ? { text: shield(text[at + 1] ?? ''), end: at + 2 } : null;
    case '`':
      return codeSpan(text, at);
    case '!':
      return image(text, at);
    case '<':
      return angle(text, at);
    default:
      return null;
  }
}

const PUNCTUATION = '!"#$%&\'()*+,-./:;<=>?@[\\]^_`{|}~';
// 32 code points that are no characters and that no cleaned text has: one for each mark of ASCII.
const SHIELD = 0xfdd0;

/** The text with its ASCII marks behind stand-ins, so that the parser takes none of them for Markdown. */
function shield(text: string): string {
  return text.replace(/[!-/:-@[-`{-~]/g, (mark) => String.fromCharCode(SHIELD + PUNCTUATION.indexOf(mark)));
}

/** The marks back in their places. */
export function unshield(text: string): string {
  return text.replace(/[\ufdd0-\ufdef]/g, (stand) => PUNCTUATION[stand.charCodeAt(0) - SHIELD] ?? '');
}

interface Piece {
  readonly text: string;
  readonly end: number;
}

function codeSpan(text: string, at: number): Piece {
  const marks = /^`+/.exec(text.slice(at))?.[0] ?? '`';
  const closing = new RegExp(`(?<!\`)\`{${marks.length}}(?!\`)`, 'g');
  closing.lastIndex = at + marks.length;
  const found = closing.exec(text);
  const inside = found === null ? '' : text.slice(at + marks.length, found.index).replaceAll('\n', ' ');
  const code = inside.endsWith(' ') && inside.startsWith(' ') ? inside.slice(1, -1) : inside;
  // Without an end, or with nothing inside, the marks are text.
  if (found === null || code.trim() === '') return { text: shield(marks), end: at + marks.length };
  return { text: `\`${shield(code)}\``, end: found.index + marks.length };
}

function image(text: string, at: number): Piece | null {
  if (text[at + 1] !== '[') return null;
  const alt = bracketed(text, at + 1, '[', ']');
  if (alt === null || text[alt.end] !== '(') return null;
  const address = bracketed(text, alt.end, '(', ')');
  if (address === null) return null;
  return { text: withoutImages(alt.text).replace(/[[\]]/g, shield), end: address.end };
}

/** What stands between two brackets that belong together, and the place behind them; null when there is no end near. */
function bracketed(text: string, at: number, open: string, close: string): Piece | null {
  let depth = 0;
  const last = Math.min(text.length, at + 2_048);
  for (let index = at; index < last; index++) {
    const character = text[index];
    if (character === '\\') index++;
    else if (character === open) depth++;
    else if (character === close && --depth === 0) return { text: text.slice(at + 1, index), end: index + 1 };
  }
  return null;
}

function angle(text: string, at: number): Piece | null {
  const found = /^<((?:https?:\/\/|mailto:|tel:)[^\s<>[\]()]{1,2000})>/i.exec(text.slice(at, at + 2_050));
  const address = found?.[1];
  if (found === null || address === undefined || safeHref(address) === null) return null;
  return { text: `[${shield(address)}](${shield(address)})`, end: at + found[0].length };
}
