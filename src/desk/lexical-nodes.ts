// What a stored Lexical tree looks like to those who read it: nodes of unknown fields, their children, the bits of a
// text's format. Must not throw on anything.

/** A node; nothing about its fields is certain. */
export type LexicalNode = Readonly<Record<string, unknown>>;

/** The bits of a text node's `format`. */
export const formatBits = { bold: 1, italic: 2, strike: 4, underline: 8, code: 16 } as const;

function isLexicalNode(value: unknown): value is LexicalNode {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The children that are nodes. */
export function childrenOf(node: LexicalNode): readonly LexicalNode[] {
  const { children } = node;
  return Array.isArray(children)
    ? children.filter((child: unknown): child is LexicalNode => isLexicalNode(child))
    : [];
}

/** @returns the root of a tree; null for what is none */
export function parseLexicalRoot(content: string): LexicalNode | null {
  try {
    const parsed: unknown = JSON.parse(content);
    return isLexicalNode(parsed) && isLexicalNode(parsed['root']) ? parsed['root'] : null;
  } catch {
    return null;
  }
}
