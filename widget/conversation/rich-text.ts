// Owns drawing a message's content: from the Lexical tree, or plain text, to elements of an allow-list.
// Trusts no text, the server’s included: no HTML is parsed, no address but web, mail and telephone becomes a link.
import { h } from '../shared/dom.ts';
import { link } from '../shared/links.ts';

type Fields = Readonly<Record<string, unknown>>;

const maxDepth = 40;
const urlPattern = /https?:\/\/[^\s<>"'`]*[^\s<>"'`.,;:!?)\]}]/g;
/** By bit of a text's format, innermost first (contract: "Rich text"). */
const marks = [
  [16, 'code'],
  [8, 'u'],
  [4, 's'],
  [2, 'em'],
  [1, 'strong'],
] as const;

/**
 * Draws a message.
 * @param content plain text, or the JSON of an editor state
 * @param format `plain` or `lexical`; a lexical text that can't be read is shown as it is
 */
export function renderContent(content: string, format: string): Node[] {
  if (format === 'lexical') {
    try {
      const { root } = JSON.parse(content) as { root: unknown };
      if (isFields(root) && Array.isArray(root['children'])) return children(root, 0);
    } catch {
      // Not ours to judge: whatever it is, its text is safe to show.
    }
  }
  return withLinks(content);
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null;
}

function children(fields: Fields, depth: number): Node[] {
  const list: unknown = fields['children'];
  if (!Array.isArray(list) || depth > maxDepth) return [];
  return list.filter(isFields).flatMap((child) => node(child, depth + 1));
}

function node(fields: Fields, depth: number): Node[] {
  const text = typeof fields['text'] === 'string' ? fields['text'] : '';
  const inside = (): Node[] => [
    ...(text === '' ? [] : [document.createTextNode(text)]),
    ...children(fields, depth),
  ];
  switch (fields['type']) {
    case 'paragraph':
      return [h('p', {}, ...inside())];
    // A message must not break the order of the page's own headings, so they look like headings and are none.
    case 'heading':
      return [h('p', { class: 'heading' }, ...inside())];
    case 'list':
      return [h(fields['listType'] === 'number' ? 'ol' : 'ul', {}, ...inside())];
    case 'listitem':
      return [h('li', {}, ...inside())];
    case 'code':
      return [h('pre', { tabindex: 0 }, h('code', {}, ...inside()))];
    case 'linebreak':
      return [h('br')];
    case 'link':
    case 'autolink': {
      const made = link(fields['url'], inside());
      return made === null ? inside() : [made];
    }
    case 'text':
      return [formatted(text, Number(fields['format']) || 0)];
    default:
      return inside();
  }
}

function formatted(text: string, format: number): Node {
  return marks.reduce<Node>(
    (inner, [bit, tag]) => ((format & bit) === 0 ? inner : h(tag, {}, inner)),
    document.createTextNode(text),
  );
}

function withLinks(text: string): Node[] {
  const nodes: Node[] = [];
  let from = 0;
  for (const match of text.matchAll(urlPattern)) {
    const made = link(match[0], [document.createTextNode(match[0])]);
    if (made === null) continue;
    nodes.push(document.createTextNode(text.slice(from, match.index)), made);
    from = match.index + match[0].length;
  }
  nodes.push(document.createTextNode(text.slice(from)));
  return nodes;
}
