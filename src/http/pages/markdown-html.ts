// Markdown → HTML for the documentation: CommonMark with tables. Raw HTML is text, so nothing of a document becomes a
// tag that is not written here. Reads no file.
import { toString as textOf } from 'mdast-util-to-string';
import type { List, ListItem, Nodes, PhrasingContent, RootContent, Table } from 'mdast';
import { escapeHtml } from '../../text/escape-html.ts';
import { scrollableTable } from './html.ts';

export interface Heading {
  readonly depth: number;
  readonly id: string;
  readonly text: string;
}

export interface RenderedMarkdown {
  /** The first heading's text; empty where there is none. */
  readonly title: string;
  readonly html: string;
  readonly headings: readonly Heading[];
  /** Every address that a link leads to, as the document has it. */
  readonly links: readonly string[];
}

/**
 * @param linkTo turns the address of a link, as the document has it, into the one for the page
 */
export async function renderMarkdown(
  markdown: string,
  linkTo: (address: string) => string = (address) => address,
): Promise<RenderedMarkdown> {
  // Loaded with the first page that is asked for.
  const [{ fromMarkdown }, { gfmTable }, { gfmTableFromMarkdown }] = await Promise.all([
    import('mdast-util-from-markdown'),
    import('micromark-extension-gfm-table'),
    import('mdast-util-gfm-table'),
  ]);
  const root = fromMarkdown(markdown, {
    extensions: [gfmTable()],
    mdastExtensions: [gfmTableFromMarkdown()],
  });
  const writer = new HtmlWriter(linkTo);
  const html = root.children.map((node) => writer.block(node)).join('\n');
  return { title: writer.headings[0]?.text ?? '', html, headings: writer.headings, links: writer.links };
}

/** A number and its unit stay on one line, also in a narrow cell of a table. */
function keepUnits(text: string): string {
  return text.replace(/(?<=\d) (?=(?:[kKMG]i?B|[mµ]?s)\b)/g, '\u00a0');
}

class HtmlWriter {
  readonly headings: Heading[] = [];
  readonly links: string[] = [];
  readonly #linkTo: (address: string) => string;
  readonly #uses = new Map<string, number>();

  constructor(linkTo: (address: string) => string) {
    this.#linkTo = linkTo;
  }

  block(node: RootContent): string {
    switch (node.type) {
      case 'heading': {
        const text = textOf(node);
        const id = this.#headingId(text);
        this.headings.push({ depth: node.depth, id, text });
        return `<h${node.depth} id="${escapeHtml(id)}"><a href="#${escapeHtml(id)}">${this.#inlines(node.children)}</a></h${node.depth}>`;
      }
      case 'paragraph':
        return `<p>${this.#inlines(node.children)}</p>`;
      case 'code':
        return `<pre tabindex="0"><code>${escapeHtml(node.value)}</code></pre>`;
      case 'list':
        return this.#list(node);
      case 'blockquote':
        return `<blockquote>${node.children.map((child) => this.block(child)).join('\n')}</blockquote>`;
      case 'table':
        return this.#table(node);
      case 'thematicBreak':
        return '<hr>';
      case 'html':
        return `<p>${escapeHtml(node.value)}</p>`;
      default:
        return '';
    }
  }

  /** As GitHub names headings, so that one link works there and here. */
  #headingId(text: string): string {
    const plain = text
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, '')
      .replace(/\s/g, '-');
    const used = this.#uses.get(plain) ?? 0;
    this.#uses.set(plain, used + 1);
    return used === 0 ? plain : `${plain}-${used}`;
  }

  #list({ ordered, start, children }: List): string {
    const items = children.map((item) => `<li>${this.#item(item)}</li>`).join('\n');
    return ordered === true
      ? `<ol${start === 1 ? '' : ` start="${start ?? 1}"`}>\n${items}\n</ol>`
      : `<ul>\n${items}\n</ul>`;
  }

  #item({ children, spread }: ListItem): string {
    return children
      .map((child) =>
        child.type === 'paragraph' && spread !== true ? this.#inlines(child.children) : this.block(child),
      )
      .join('\n');
  }

  #table({ align, children: [head, ...rows] }: Table): string {
    const cells = (row: Table['children'][number] | undefined, tag: string): string =>
      (row?.children ?? [])
        .map(
          (cell, at) =>
            `<${tag}${align?.[at] === 'right' ? ' class="number"' : ''}>${this.#inlines(cell.children)}</${tag.split(' ')[0] ?? tag}>`,
        )
        .join('');
    const headings = (head?.children ?? []).map((cell) => textOf(cell));
    const top = headings.every((one) => one === '')
      ? ''
      : `<thead><tr>${cells(head, 'th scope="col"')}</tr></thead>`;
    const body = rows.map((row) => `<tr>${cells(row, 'td')}</tr>`).join('\n');
    return scrollableTable(headings, `${top}<tbody>\n${body}\n</tbody>`);
  }

  #inlines(nodes: readonly PhrasingContent[]): string {
    return nodes.map((node) => this.#inline(node)).join('');
  }

  #inline(node: PhrasingContent): string {
    switch (node.type) {
      case 'text':
        return escapeHtml(keepUnits(node.value));
      case 'inlineCode':
        return `<code>${escapeHtml(node.value)}</code>`;
      case 'strong':
        return `<strong>${this.#inlines(node.children)}</strong>`;
      case 'emphasis':
        return `<em>${this.#inlines(node.children)}</em>`;
      case 'break':
        return '<br>';
      case 'link':
        this.links.push(node.url);
        return `<a href="${escapeHtml(this.#linkTo(node.url))}">${this.#inlines(node.children)}</a>`;
      default:
        return escapeHtml(textOf(node as Nodes));
    }
  }
}
