// A page as a tree, parsed as browsers do, of a depth that has an end. Walks and small
// questions about nodes; decides nothing about what they mean.
import { defaultTreeAdapter, html, parse, type DefaultTreeAdapterMap, type DefaultTreeAdapterTypes, type TreeAdapter } from 'parse5';
import { HtmlTooDeep } from './blocks.ts';

export type Node = DefaultTreeAdapterTypes.Node;
export type Element = DefaultTreeAdapterTypes.Element;
export type TextNode = DefaultTreeAdapterTypes.TextNode;

export const htmlNamespace = html.NS.HTML;

/** Beyond what any page needs; the parser's time grows with the square of it. */
const deepest = 256;

/** @throws HtmlTooDeep */
export function parseBounded(source: string): Node {
  let depth = 0;
  const treeAdapter: TreeAdapter<DefaultTreeAdapterMap> = {
    ...defaultTreeAdapter,
    onItemPush: () => {
      depth += 1;
      if (depth > deepest) throw new HtmlTooDeep(`is nested more than ${deepest} levels deep`);
    },
    onItemPop: () => {
      depth -= 1;
    },
  };
  return parse(source, { treeAdapter });
}

export const isElement = (node: Node): node is Element => 'tagName' in node;
export const childrenOf = (node: Node): readonly Node[] => ('childNodes' in node ? node.childNodes : []);

export function attribute(element: Element, name: string): string | null {
  return element.attrs.find((one) => one.name === name)?.value ?? null;
}

/** Every node below, parents first. */
export function* walk(root: Node): Generator<Node> {
  const waiting: Node[] = [root];
  for (;;) {
    const node = waiting.pop();
    if (node === undefined) return;
    yield node;
    const children = childrenOf(node);
    for (let index = children.length - 1; index >= 0; index -= 1) waiting.push(children[index] as Node);
  }
}

/** All text below a node, hidden or not. */
export function textOf(root: Node): string {
  let text = '';
  for (const node of walk(root)) if (node.nodeName === '#text') text += (node as TextNode).value;
  return text;
}
