// Owns the HTML of a rich message: built from the checked tree with a fixed table of tags, then sent through a
// sanitiser as a second wall. Must not read the sender's JSON, and must not run when a message is read.

import sanitizeHtml from 'sanitize-html';
import type { CodeNode, LexicalNode, LinkNode, ListNode, RootNode } from './lexical.ts';
import { unknownChildrenAreBlocks } from './lexical.ts';
import { readRel, safeHref } from '../../text/links.ts';

/** The format bits of text and their tags, from the innermost to the outermost. */
const MARKS = [
  [16, 'code'],
  [8, 'u'],
  [4, 's'],
  [2, 'em'],
  [1, 'strong'],
] as const;

const CODE_MARK = 16;

/**
 * The HTML of a checked tree. Text is escaped once; marks nest strong, em, s, u, code from the outside; what HTML
 * doesn't allow inside a paragraph, heading or link (a list in a paragraph, a link in a link) is lifted out or
 * flattened, so that a browser parses exactly the nesting that was written. Line breaks are `br`, in code too.
 *
 * @param root a tree from `checkLexical`
 * @returns HTML that the sanitiser leaves as it is
 */
export function renderHtml(root: RootNode): string {
  return sanitize(buildHtml(root));
}

/** The HTML before the second wall; exported so that tests can hold both walls against each other. */
export function buildHtml(root: RootNode): string {
  return new Flow('root', null).render(root);
}

const ALLOWED_TAGS = 'p br b strong i em u s del code pre h1 h2 h3 h4 h5 h6 ul ol li a span'.split(' ');

const SANITIZE_OPTIONS: sanitizeHtml.IOptions = {
  allowedTags: ALLOWED_TAGS,
  allowedAttributes: { a: ['href', 'target', 'rel'] },
  // A free class name could borrow the host page's styles and cover the screen.
  allowedClasses: { code: [/^language-[a-z0-9+#-]{1,32}$/] },
  allowedSchemes: ['http', 'https', 'mailto', 'tel'],
  allowProtocolRelative: false,
  disallowedTagsMode: 'discard',
  // None is allowed; the program is built without the parser (esbuild.config.mjs).
  parseStyleAttributes: false,
  transformTags: {
    // By itself the library keeps relative addresses, user names and schemes that only look like a scheme.
    a: (tagName, { href, target, rel }) => {
      const attribs: sanitizeHtml.Attributes = {};
      const safe = safeHref(href);
      if (safe !== null) attribs['href'] = safe;
      if (target === '_blank') attribs['target'] = target;
      const kept = readRel(rel, target === '_blank');
      if (kept !== '') attribs['rel'] = kept;
      return { tagName, attribs };
    },
  },
};

/** Any HTML reduced to the contract's tags and attributes; what the renderer built comes back unchanged. */
export function sanitize(html: string): string {
  // The library writes `<br />`. No text or attribute can hold that sequence, since `<` is always escaped there.
  return sanitizeHtml(html, SANITIZE_OPTIONS).replaceAll('<br />', '<br>');
}

/** Where inline content stands: under the root, in one of these blocks, in a list item, or in a code block. */
type Wrapper = 'root' | 'p' | 'h1' | 'h2' | 'h3' | 'h4' | 'h5' | 'h6' | 'li' | 'code';

// Collects the content of one block. Inline content gathers in a run; a block child ends the run, which is wrapped,
// and follows as a sibling. An open link is closed before a block and opened again with the next inline content.
class Flow {
  private out = '';
  private run = '';
  private linkOpen = false;
  private breakPending = false;
  private readonly wrapper: Wrapper;
  private link: string | null;

  /** `link` is the start tag of a link that encloses this block. */
  constructor(wrapper: Wrapper, link: string | null) {
    this.wrapper = wrapper;
    this.link = link;
  }

  /** The HTML of a node's own text and children; paragraphs and headings keep their tag even when empty. */
  render(node: LexicalNode): string {
    this.content(node);
    return this.finish();
  }

  finish(): string {
    this.endRun();
    const tag = runTag(this.wrapper);
    return this.out === '' && tag !== null && this.wrapper !== 'root' ? `<${tag}></${tag}>` : this.out;
  }

  /** A node's own text, then its children. */
  content(node: LexicalNode): void {
    const format = node.type === 'text' || node.type === 'unknown' ? node.format : 0;
    this.inline(renderMarks(node.text, this.wrapper === 'code' ? format & ~CODE_MARK : format));
    const asBlock = this.wrapper === 'root' && unknownChildrenAreBlocks(node);
    for (const child of node.children) {
      if (asBlock && child.type === 'unknown') this.addBlock(child);
      else this.add(child);
    }
  }

  add(node: LexicalNode): void {
    switch (node.type) {
      case 'text':
      case 'unknown':
        return this.content(node);
      case 'linebreak':
        this.inline('<br>');
        return this.content(node);
      case 'link':
        return this.addLink(node);
      case 'root':
      case 'paragraph':
      case 'heading':
      case 'list':
      case 'listitem':
      case 'code':
        return this.addBlock(node);
    }
  }

  private addBlock(node: LexicalNode): void {
    if (this.wrapper === 'code') {
      // Code holds lines only.
      this.breakPending = this.run !== '';
      this.content(node);
      this.breakPending = this.run !== '';
      return;
    }
    this.endRun();
    this.out += block(node, this.link);
  }

  private addLink(node: LinkNode): void {
    if (this.link !== null || node.href === null) return this.content(node);
    const target = node.newTab ? ' target="_blank"' : '';
    const rel = node.rel === '' ? '' : ` rel="${node.rel}"`;
    this.link = `<a href="${escapeAttribute(node.href)}"${target}${rel}>`;
    this.content(node);
    this.closeLink();
    this.link = null;
  }

  private inline(html: string): void {
    if (html === '') return;
    if (this.breakPending) {
      this.breakPending = false;
      this.run += '<br>';
    }
    if (this.link !== null && !this.linkOpen) {
      this.run += this.link;
      this.linkOpen = true;
    }
    this.run += html;
  }

  private closeLink(): void {
    if (this.linkOpen) this.run += '</a>';
    this.linkOpen = false;
  }

  private endRun(): void {
    this.closeLink();
    if (this.run === '') return;
    const tag = runTag(this.wrapper);
    this.out += tag === null ? this.run : `<${tag}>${this.run}</${tag}>`;
    this.run = '';
  }
}

function runTag(wrapper: Wrapper): string | null {
  if (wrapper === 'root') return 'p';
  return wrapper === 'li' || wrapper === 'code' ? null : wrapper;
}

function block(node: LexicalNode, link: string | null): string {
  switch (node.type) {
    case 'paragraph':
      return new Flow('p', link).render(node);
    case 'heading':
      return new Flow(node.tag, link).render(node);
    case 'list':
      return list(node, link);
    case 'code':
      return codeBlock(node, link);
    default:
      // A list item outside a list, or an unknown block: its children in its place.
      return new Flow('root', link).render(node);
  }
}

function list(node: ListNode, link: string | null): string {
  const tag = node.ordered ? 'ol' : 'ul';
  return `<${tag}>${new ListItems(link).render(node)}</${tag}>`;
}

// Only `li` may stand in a list: adjacent nodes that are no items share one.
class ListItems {
  private out = '';
  private stray: Flow | null = null;
  private readonly link: string | null;

  constructor(link: string | null) {
    this.link = link;
  }

  render(node: ListNode): string {
    this.content(node);
    this.endStray();
    return this.out;
  }

  private content(node: LexicalNode): void {
    if (node.text !== '') this.strayFlow().content({ ...node, children: [] });
    for (const child of node.children) this.add(child);
  }

  private add(child: LexicalNode): void {
    if (child.type === 'listitem') {
      this.endStray();
      this.out += `<li>${new Flow('li', this.link).render(child)}</li>`;
    } else if (child.type === 'unknown') {
      this.content(child);
    } else {
      this.strayFlow().add(child);
    }
  }

  private strayFlow(): Flow {
    this.stray ??= new Flow('li', this.link);
    return this.stray;
  }

  private endStray(): void {
    const html = this.stray?.finish() ?? '';
    if (html !== '') this.out += `<li>${html}</li>`;
    this.stray = null;
  }
}

function codeBlock(node: CodeNode, link: string | null): string {
  const attribute = node.language === null ? '' : ` class="language-${node.language}"`;
  return `<pre><code${attribute}>${new Flow('code', link).render(node)}</code></pre>`;
}

function renderMarks(text: string, format: number): string {
  if (text === '') return '';
  let html = escapeText(text);
  for (const [bit, tag] of MARKS) {
    if ((format & bit) !== 0) html = `<${tag}>${html}</${tag}>`;
  }
  return html;
}

// A browser reads a carriage return as a newline; writing it so keeps what is stored and what is parsed the same.
function escapeText(text: string): string {
  return text
    .replace(/\r\n?/g, '\n')
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;');
}

function escapeAttribute(value: string): string {
  return escapeText(value).replaceAll('"', '&quot;');
}
