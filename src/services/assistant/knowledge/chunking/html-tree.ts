// A page as a tree, parsed as browsers do, of a depth that has an end. Walks and small
// questions about nodes; decides nothing about what they mean.
import {
  defaultTreeAdapter,
  html,
  parse,
  type DefaultTreeAdapterMap,
  type DefaultTreeAdapterTypes,
  type TreeAdapter,
} from 'parse5';
import { HtmlDepthError } from './blocks.ts';

export type Node = DefaultTreeAdapterTypes.Node;
export type Element = DefaultTreeAdapterTypes.Element;
export type TextNode = DefaultTreeAdapterTypes.TextNode;

export const htmlNamespace = html.NS.HTML;

/** Beyond what any page needs; the parser's time grows with the square of it. */
const maxDepth = 256;

/** @throws HtmlDepthError */
export function parseHtml(source: string): Node {
  let depth = 0;
  const treeAdapter: TreeAdapter<DefaultTreeAdapterMap> = {
    ...defaultTreeAdapter,
    onItemPush: () => {
      depth += 1;
      if (depth > maxDepth) throw new HtmlDepthError(`is nested more than ${maxDepth} levels deep`);
    },
    onItemPop: () => {
      depth -= 1;
    },
  };
  return parse(source, { treeAdapter });
}

export const isElement = (node: Node): node is Element => 'tagName' in node;
export const getChildren = (node: Node): readonly Node[] => ('childNodes' in node ? node.childNodes : []);

export function getAttribute(element: Element, name: string): string | null {
  return element.attrs.find((one) => one.name === name)?.value ?? null;
}

/** Every node below, parents first. */
export function* walk(root: Node): Generator<Node> {
  const waiting: Node[] = [root];
  for (;;) {
    const node = waiting.pop();
    if (node === undefined) return;
    yield node;
    const children = getChildren(node);
    for (let index = children.length - 1; index >= 0; index -= 1) waiting.push(children[index] as Node);
  }
}

/** All text below a node, hidden or not. */
export function getText(root: Node): string {
  let text = '';
  for (const node of walk(root)) if (node.nodeName === '#text') text += (node as TextNode).value;
  return text;
}
