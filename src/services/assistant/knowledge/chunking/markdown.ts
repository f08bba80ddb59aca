// Reads Markdown as people write it into headings and blocks of plain text. One pass
// over the lines and no nesting, so that no document can make it slow. Renders nothing.
import { parseHtmlOutline } from './html.ts';
import { joinWrappedLines, decodeReferences, type Block, type Outline } from './blocks.ts';

const fenceLine = /^ {0,3}(`{3,}|~{3,})/;
const atxLine = /^ {0,3}(#{1,6})(?:[ \t]+(.*))?$/;
const setextLine = /^ {0,3}(=+|-+)[ \t]*$/;
const ruleLine = /^ {0,3}(?:(?:\*[ \t]*){3,}|(?:-[ \t]*){3,}|(?:_[ \t]*){3,})$/;
const itemLine = /^[ \t]*(?:[-*+]|(\d{1,9})[.)])[ \t]+(.*)$/;
const tableRule = /^[ \t]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-*:?[ \t]*)*$/;
const definitionLine = /^ {0,3}\[[^\]\n]{1,200}\]:[ \t]*\S+/;
const htmlLine = /^ {0,3}<(?:\/?[a-zA-Z][\w-]*(?:[\s/>]|$)|!--|!\[CDATA\[|\?)/;
/** Elements that end a paragraph where their line begins. */
const htmlBlockLine =
  /^ {0,3}<\/?(?:script|style|pre|textarea|template|svg|iframe|noscript|div|section|article|aside|nav|header|footer|form|table|[uod]l|details|dialog|main|p|h[1-6]|blockquote|figure|hr)(?=[\s/>]|$)/i;
const autolinkLine = /^ {0,3}<(?:https?:|mailto:)/i;

/** @param source without invisible characters, its lines ended by newlines */
export function parseMarkdownOutline(source: string): Outline {
  const { body, title: named } = stripFrontMatter(source);
  const lines = body.split('\n');
  const blocks: Block[] = [];
  const slugs = new Map<string, number>();
  let paragraph: string[] = [];
  let list: string[] | null = null;

  const put = (text: string): void => {
    if (text === '') return;
    if (list === null) blocks.push({ kind: 'text', text });
    else list.push(text);
  };
  const endParagraph = (): void => {
    put(inlineToText(joinWrappedLines(paragraph)));
    paragraph = [];
  };
  const endAll = (): void => {
    endParagraph();
    const ended = list;
    list = null;
    if (ended !== null) put(ended.join('\n'));
  };
  const heading = (level: number, written: string): void => {
    const { text, anchor } = parseHeading(written, slugs);
    if (text !== '') blocks.push({ kind: 'heading', level, text, anchor });
  };

  for (let index = 0; index < lines.length; index += 1) {
    const line = (lines[index] ?? '').replace(/^ {0,3}(?:>[ \t]?)+/, '');
    const fence = fenceLine.exec(list === null ? line : line.trimStart());
    if (fence !== null) {
      const { code, next } = readFence(lines, index, fence[1] ?? '```');
      endParagraph();
      put(code);
      index = next;
      continue;
    }
    if (line.trim() === '') {
      endParagraph();
      const following = lines[index + 1] ?? '';
      // A list goes on behind an empty line when what follows is indented or another item.
      if (following.trim() !== '' && !/^(?:\t| {2,})/.test(following) && !itemLine.test(following)) endAll();
      continue;
    }
    if (
      line.includes('<!--') ||
      htmlBlockLine.test(line) ||
      (paragraph.length === 0 && htmlLine.test(line) && !autolinkLine.test(line))
    ) {
      const { html, next } = readHtmlBlock(lines, index);
      endAll();
      // Not as arguments of one call: there may be more of them than a call takes.
      for (const block of parseHtmlOutline(html).blocks) blocks.push(block);
      index = next;
      continue;
    }
    const atx = atxLine.exec(line);
    if (atx !== null) {
      endAll();
      heading(atx[1]?.length ?? 1, (atx[2] ?? '').trimEnd().replace(/(?:^|[ \t])#+$/, ''));
      continue;
    }
    const setext = setextLine.exec(line);
    if (setext !== null && paragraph.length > 0 && list === null) {
      const written = joinWrappedLines(paragraph);
      paragraph = [];
      heading(setext[1]?.startsWith('=') === true ? 1 : 2, written);
      continue;
    }
    if (ruleLine.test(line)) {
      endAll();
      continue;
    }
    if (paragraph.length === 0 && definitionLine.test(line)) continue;
    const item = itemLine.exec(line);
    if (item !== null) {
      endParagraph();
      list ??= [];
      paragraph = [
        `${item[1] === undefined ? '-' : `${item[1]}.`} ${(item[2] ?? '').replace(/^\[[ xX]\][ \t]+/, '')}`,
      ];
      continue;
    }
    if (paragraph.length === 0 && line.includes('|') && tableRule.test(lines[index + 1] ?? '')) {
      const { rows, next } = readTable(lines, index);
      endAll();
      put(rows.join('\n'));
      index = next;
      continue;
    }
    paragraph.push(line);
  }
  endAll();
  const first = blocks.find((one) => one.kind === 'heading');
  return { title: named ?? first?.text ?? null, blocks };
}

/** YAML between lines of ---, TOML between lines of +++: dropped, but for the title. */
function stripFrontMatter(source: string): { body: string; title: string | null } {
  const opening = /^(---|\+\+\+)[ \t]*\n/.exec(source);
  if (opening === null) return { body: source, title: null };
  const closing = source.indexOf(`\n${opening[1] ?? ''}`, 3);
  const rest = closing === -1 ? null : source.slice(closing + 4);
  if (rest === null || !/^[ \t]*(?:\n|$)/.test(rest)) return { body: source, title: null };
  const title = /^title[ \t]*[:=][ \t]*(.+)$/m.exec(source.slice(0, closing))?.[1]?.trim() ?? '';
  const bare = /^(["'])(.*)\1$/.exec(title)?.[2] ?? title;
  return { body: rest, title: bare === '' ? null : bare };
}

/** The lines of a fence without it; to the end of the document where it is not closed. */
function readFence(lines: readonly string[], start: number, mark: string): { code: string; next: number } {
  const code: string[] = [];
  let index = start + 1;
  for (; index < lines.length; index += 1) {
    const line = (lines[index] ?? '').replace(/^ {0,3}(?:>[ \t]?)+/, '');
    const trimmed = line.trim();
    if (trimmed.length >= mark.length && trimmed === (mark[0] ?? '`').repeat(trimmed.length)) break;
    code.push(line.trimEnd());
  }
  return { code: code.join('\n').replace(/^\n+|\s+$/g, ''), next: index };
}

/**
 * HTML in Markdown: to the next empty line, or to the end of a comment or of an element that holds no Markdown. What is
 * hidden is such an element, however many empty lines are in it.
 */
function readHtmlBlock(lines: readonly string[], start: number): { html: string; next: number } {
  const opening = /^ {0,3}<([a-zA-Z][\w-]*)(?:[^>]{0,2000}>|[^>]{0,2000}$)/.exec(lines[start] ?? '');
  const name = opening?.[1]?.toLowerCase() ?? '';
  const whole =
    name === 'pre' ||
    (opening !== null && parseHtmlOutline(`${opening[0].replace(/>?$/, '>')}x`).blocks.length === 0);
  const tags = new RegExp(`<(/?)${name}(?=[\\s/>]|$)`, 'gi');
  let index = start;
  let depth = 0;
  let open = false;
  for (; index < lines.length; index += 1) {
    const line = lines[index] ?? '';
    if (whole) {
      for (const [, closes] of line.matchAll(tags)) depth += closes === '' ? 1 : -1;
      if (depth > 0) continue;
      index += 1;
      break;
    }
    if (line.trim() === '' && !open) break;
    const begins = line.lastIndexOf('<!--');
    const ends = line.lastIndexOf('-->');
    if (begins !== -1 || ends !== -1) open = begins > ends;
  }
  return { html: lines.slice(start, index).join('\n'), next: index - 1 };
}

function readTable(lines: readonly string[], start: number): { rows: string[]; next: number } {
  const rows: string[] = [];
  let index = start;
  for (; index < lines.length; index += 1) {
    const line = lines[index] ?? '';
    if (!line.includes('|')) break;
    if (index === start + 1) continue;
    const cells = line
      .trim()
      .replace(/^\||\|$/g, '')
      .split(/(?<!\\)\|/);
    rows.push(cells.map((cell) => inlineToText(cell.trim())).join(' | '));
  }
  return { rows, next: index - 1 };
}

/** A heading's text and its anchor as GitHub makes it, or as `{#anchor}` says. */
function parseHeading(written: string, slugs: Map<string, number>): { text: string; anchor: string | null } {
  const own = /\{#([^\s{}]{1,200})\}$/.exec(written.trimEnd());
  const text = inlineToText(own === null ? written : written.slice(0, own.index));
  if (own?.[1] !== undefined) return { text, anchor: own[1] };
  const slug = text
    .toLowerCase()
    .replace(/[^\p{L}\p{M}\p{N}\p{Pc}\- ]/gu, '')
    .replaceAll(' ', '-');
  if (slug === '') return { text, anchor: null };
  const before = slugs.get(slug) ?? 0;
  slugs.set(slug, before + 1);
  return { text, anchor: before === 0 ? slug : `${slug}-${before}` };
}

const privateUseOffset = 0xe000;
/** Keeps a character from being read as markup: it waits in the private use area. */
const shieldMarkup = (text: string): string =>
  text.replace(/[!-~]/g, (character) => String.fromCharCode(privateUseOffset + character.charCodeAt(0)));
const unshieldMarkup = (text: string): string =>
  text.replace(/[\ue021-\ue07e]/g, (character) =>
    String.fromCharCode(character.charCodeAt(0) - privateUseOffset),
  );

/** Markdown of one paragraph as its reader sees it. Each pattern looks at a stretch once. */
function inlineToText(written: string): string {
  const text = written
    .replace(/[\ue021-\ue07e]/g, '')
    .replace(/\\([!-/:-@[-`{-~])/g, (_, character: string) => shieldMarkup(character))
    .replace(/(`{1,2})([^`\n]+)\1/g, (_, _mark, code: string) => shieldMarkup(code.trim()))
    .replace(/<((?:https?:|mailto:)[^\s<>]+)>/g, (_, address: string) => shieldMarkup(address))
    .replace(/<\/?[a-zA-Z][^<>]*>/g, '')
    .replace(/!?\[([^[\]]*)\](?:\((?:[^()\n]|\([^()\n]*\))*\)|\[[^[\]\n]*\])/g, '$1')
    // Once more: a link around an image.
    .replace(/!?\[([^[\]]*)\]\((?:[^()\n]|\([^()\n]*\))*\)/g, '$1')
    .replace(/\*{1,3}(?=\S)([^*]+?)\*{1,3}/g, '$1')
    .replace(/(?<![\p{L}\p{N}_])_{1,3}(?=\S)([^_]+?)_{1,3}(?![\p{L}\p{N}_])/gu, '$1')
    .replace(/~~([^~]+)~~/g, '$1');
  return unshieldMarkup(decodeReferences(text))
    .replace(/[ \t\u00a0]+/g, ' ')
    .trim();
}
