// Reads a page of HTML into headings and blocks of plain text: what a reader sees of
// its own content, without navigation, forms, scripts and what is hidden. Renders nothing.
import {
  getAttribute,
  getChildren,
  htmlNamespace,
  isElement,
  parseHtml,
  getText,
  walk,
  type Element,
  type Node,
  type TextNode,
} from './html-tree.ts';
import type { Block, Outline } from './blocks.ts';

const skippedElements = new Set(
  'script style noscript template svg math canvas iframe object embed audio video picture head nav header footer aside form button input select textarea dialog menu map area progress meter slot'.split(
    ' ',
  ),
);
const skippedRoles = new Set([
  'navigation',
  'banner',
  'contentinfo',
  'complementary',
  'search',
  'menu',
  'menubar',
  'toolbar',
  'dialog',
  'alertdialog',
  'form',
  'tooltip',
]);
const blockElements = new Set(
  'address article blockquote body center dd details div dl dt fieldset figcaption figure hgroup html li main ol p pre section summary table tbody thead tfoot tr ul caption'.split(
    ' ',
  ),
);
const hiddenStyle =
  /(?:^|;)\s*(?:display\s*:\s*none|visibility\s*:\s*(?:hidden|collapse)|opacity\s*:\s*0(?:\.0*)?\s*(?:;|!|$)|font-size\s*:\s*0(?:\.0*)?(?:[a-z%]|;|\s|!|$))/i;
const hiddenClass = /(?:^|\s)(?:sr-only|visually-hidden|visuallyhidden|screen-reader-text|hidden)(?=\s|$)/i;

/** @throws HtmlDepthError */
export function parseHtmlOutline(source: string): Outline {
  const tree = parseHtml(source);
  const found = { title: null as string | null, base: tree as Node };
  // What the page itself calls its main part is all of it.
  for (const node of walk(tree)) {
    if (!isElement(node)) continue;
    if (node.tagName === 'title' && found.title === null && node.namespaceURI === htmlNamespace)
      found.title = collapseWhitespace(getText(node));
    if (
      found.base === tree &&
      (node.tagName === 'main' || getAttribute(node, 'role') === 'main') &&
      !isHidden(node)
    )
      found.base = node;
  }
  const blocks = readBlocks(found.base);
  const first = blocks.find((one) => one.kind === 'heading');
  return { title: (found.title === '' ? null : found.title) ?? first?.text ?? null, blocks };
}

function isHidden(element: Element): boolean {
  for (const { name, value } of element.attrs) {
    if (name === 'hidden' || (name === 'aria-hidden' && value.trim().toLowerCase() === 'true')) return true;
    if (name === 'style' && hiddenStyle.test(value)) return true;
    if (name === 'class' && hiddenClass.test(value)) return true;
    if (name === 'role' && skippedRoles.has(value.trim().toLowerCase())) return true;
  }
  return skippedElements.has(element.tagName);
}

const collapseWhitespace = (text: string): string => text.replace(/\s+/g, ' ').trim();

/** Bounded in depth by the parser, so it may call itself. */
function readBlocks(base: Node): Block[] {
  const blocks: Block[] = [];
  /** Whether white space is kept, as in <pre>. */
  let verbatim = 0;
  let text = '';
  /** The lines of the list or table that is being read; null: none. */
  let lines: string[] | null = null;
  let anchor: string | null = null;

  const end = (): void => {
    const ended = verbatim > 0 ? text.replace(/^\n+|\s+$/g, '') : collapseWhitespace(text);
    text = '';
    if (ended === '' || /^(?:-|\d+\.)$/.test(ended)) return;
    if (lines === null) blocks.push({ kind: 'text', text: ended });
    else lines.push(ended);
  };
  const together = (element: Element): void => {
    end();
    const outer = lines;
    lines ??= [];
    read(element);
    end();
    if (outer === null) {
      const joined = (lines ?? []).join('\n');
      lines = null;
      if (joined !== '') blocks.push({ kind: 'text', text: joined });
    }
  };
  const read = (parent: Node): void => {
    let count = 0;
    for (const node of getChildren(parent)) {
      if (node.nodeName === '#text') {
        text += (node as TextNode).value;
        continue;
      }
      if (!isElement(node) || isHidden(node)) continue;
      const { tagName } = node;
      const named = getAttribute(node, 'id') ?? (tagName === 'a' ? getAttribute(node, 'name') : null);
      if (/^h[1-6]$/.test(tagName)) heading(node, named);
      else if (tagName === 'br') text += verbatim > 0 ? '\n' : ' ';
      else if (tagName === 'hr') end();
      else if (tagName === 'img') text += ` ${getAttribute(node, 'alt') ?? ''} `;
      else if (tagName === 'ul' || tagName === 'ol' || tagName === 'dl') together(node);
      else if (tagName === 'table') together(node);
      else if (tagName === 'tr') {
        end();
        text = getChildren(node)
          .flatMap((cell) =>
            isElement(cell) && !isHidden(cell) ? [collapseWhitespace(getVisibleText(cell))] : [],
          )
          .join(' | ');
        end();
      } else if (tagName === 'li') {
        end();
        count += 1;
        text = parent.nodeName === 'ol' ? `${count}. ` : '- ';
        read(node);
        end();
      } else if (tagName === 'pre') {
        end();
        verbatim += 1;
        read(node);
        end();
        verbatim -= 1;
      } else if (blockElements.has(tagName)) {
        // An item that begins with a paragraph is one line with it.
        if (!/^(?:- |\d+\. )\s*$/.test(text)) end();
        if ((tagName === 'section' || tagName === 'article') && named !== null) anchor = named;
        read(node);
        end();
      } else read(node);
    }
  };
  const heading = (element: Element, named: string | null): void => {
    end();
    // A heading inside a list or table parts it.
    if (lines !== null && lines.length > 0) blocks.push({ kind: 'text', text: lines.splice(0).join('\n') });
    const written = collapseWhitespace(getVisibleText(element)).replace(/\s*[#¶§]$/, '');
    const inner = [...walk(element)]
      .map((node) => (isElement(node) ? (getAttribute(node, 'id') ?? getAttribute(node, 'name')) : null))
      .find((id) => id !== null);
    if (written !== '')
      blocks.push({
        kind: 'heading',
        level: Number(element.tagName[1]),
        text: written,
        anchor: named ?? inner ?? anchor,
      });
    anchor = null;
  };
  read(base);
  end();
  return blocks;
}

/** The text of what is not hidden below an element. */
function getVisibleText(element: Element): string {
  let text = '';
  for (const node of getChildren(element)) {
    if (node.nodeName === '#text') text += (node as TextNode).value;
    else if (isElement(node) && !isHidden(node))
      text +=
        node.tagName === 'br' || blockElements.has(node.tagName)
          ? ` ${getVisibleText(node)} `
          : node.tagName === 'img'
            ? (getAttribute(node, 'alt') ?? '')
            : getVisibleText(node);
  }
  return text;
}
