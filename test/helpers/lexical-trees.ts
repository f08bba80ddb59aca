// Owns random Lexical trees whose leaves are an attacker's favourites, and what HTML made of them may be. A browser's
// parser judges. Must not know how they reach the renderer.
import fc from 'fast-check';
import type { DefaultTreeAdapterTypes } from 'parse5';

export const TAGS = new Set('p br strong em u s code pre h1 h2 h3 h4 h5 h6 ul ol li a'.split(' '));
const HTML = 'http://www.w3.org/1999/xhtml';
const PROTOCOLS = new Set(['http:', 'https:', 'mailto:', 'tel:']);

export const TEXTS = [
  'hi',
  ' ',
  '',
  'a\r\nb',
  '\n',
  '<',
  '>',
  '&',
  '"',
  "'",
  '`',
  '<script>alert(1)</script>',
  '</p>',
  '</a><a href=x>',
  '<br />',
  '&lt;img src=x onerror=alert(1)&gt;',
  '&amp',
  '&#60',
  '<!--',
  '-->',
  ']]>',
  '</code></pre>',
  '<svg><style>',
  '<table><td>',
  '\u00a0',
  '\u202e',
  '\u0001',
  '\u2028',
  '\ufffe',
  '😀',
  '</textarea>',
  '<plaintext>',
  '<math><mtext>',
  '${x}',
  '__proto__',
];
const URLS = [
  'https://a.example/x',
  'http://a.example?a=1&b="<>\'',
  'mailto:a@b.c',
  'tel:+1',
  'javascript:alert(1)',
  ' java\tscript:alert(1)',
  '/rel',
  '//evil.example',
  'https:evil',
  'https://u:p@evil.example',
  'https://а.example/ü "x"',
  'data:text/html,x',
  'https://a.example/<!--x-->',
  'mailto:<!--',
  'https://a.example\\x',
  'tel:" onclick="x',
  'mailto:a b ü',
  'https://a.example/&quot;&#34;',
  '',
];
const TYPES = [
  'paragraph',
  'heading',
  'list',
  'listitem',
  'code',
  'link',
  'autolink',
  'text',
  'linebreak',
  'quote',
  'table',
  'script',
  '__proto__',
  'constructor',
  'code-highlight',
  'tab',
  '',
  7,
];

const joined = fc.array(fc.constantFrom(...TEXTS), { maxLength: 3 }).map((all) => all.join(''));
const text = fc
  .oneof(fc.constantFrom(...TEXTS), joined, fc.string({ unit: 'binary' }))
  .filter((value) => !value.includes('\0') && value.isWellFormed());
const anything = fc.constantFrom<unknown>('_blank', 'opener', 'x" onclick="x', '_top', 5, null, {}, [
  '_blank',
]);
const fields = fc.record(
  {
    text,
    format: fc.oneof(fc.nat(31), fc.maxSafeNat()),
    tag: fc.constantFrom<unknown>('h1', 'h2', 'h6', 'h7', 'script', null),
    listType: fc.constantFrom<unknown>('bullet', 'number', 'check', 1),
    language: fc.constantFrom<unknown>('js', 'C++', 'x" onclick="y', 'a b', 4),
    url: fc.oneof(fc.constantFrom(...URLS), fc.webUrl(), text),
    target: anything,
    rel: fc.oneof(anything, fc.constantFrom('nofollow', 'ugc opener', 'SPONSORED')),
    class: fc.constant('fixed'),
    style: fc.constant('color:red'),
  },
  { requiredKeys: ['text'] },
);
export const { tree } = fc.letrec((tie) => ({
  tree: fc
    .tuple(
      fc.constantFrom(...TYPES),
      fields,
      fc.oneof({ maxDepth: 7 }, fc.constant([]), fc.array(tie('tree'), { maxLength: 5 })),
    )
    .map(([type, more, children]) => {
      // Only some elements carry text of their own in real documents; a linebreak or paragraph that does is rare.
      const own = type === 'text' || more.text.length % 3 === 0 ? more.text : undefined;
      return { ...more, type, text: own, children };
    }),
}));

export interface Seen {
  texts: string[];
  faults: string[];
}

/** Collects the texts under a parsed node, and everything that must not be there. */
export function walk(
  parent: DefaultTreeAdapterTypes.ParentNode,
  inLink = false,
  seen: Seen = { texts: [], faults: [] },
): Seen {
  for (const node of parent.childNodes) {
    if (node.nodeName === '#text' && 'value' in node) {
      seen.texts.push(node.value);
    } else if ('tagName' in node) {
      const isLink = node.tagName === 'a';
      if (!TAGS.has(node.tagName) || node.namespaceURI !== HTML) seen.faults.push(`tag ${node.tagName}`);
      if (isLink && inLink) seen.faults.push('a link in a link');
      seen.faults.push(...attributeFaults(node));
      walk(node, inLink || isLink, seen);
    } else {
      seen.faults.push(`node ${node.nodeName}`);
    }
  }
  return seen;
}

function attributeFaults(node: DefaultTreeAdapterTypes.Element): string[] {
  const values = new Map(node.attrs.map(({ name, value }) => [name, value]));
  const allowed = node.tagName === 'a' ? ['href', 'target', 'rel'] : node.tagName === 'code' ? ['class'] : [];
  const faults = [...values.keys()].filter((name) => !allowed.includes(name));
  if (!/^language-[a-z0-9+#-]{1,32}$/.test(values.get('class') ?? 'language-x')) faults.push('class');
  if (node.tagName !== 'a') return faults;
  // Read with a base, as a browser does: an address that were relative would show as the base's host.
  const url = new URL(values.get('href') ?? '', 'https://base.invalid/page');
  if (!PROTOCOLS.has(url.protocol) || url.host === 'base.invalid' || url.username + url.password !== '')
    faults.push(url.href);
  const [target, rel] = [values.get('target'), values.get('rel')];
  if (target !== undefined && target !== '_blank') faults.push('target');
  const tokens = rel?.split(' ') ?? [];
  const known = ['nofollow', 'noopener', 'noreferrer', 'sponsored', 'ugc'];
  if (rel === '' || !tokens.every((token) => known.includes(token))) faults.push('rel');
  if (target !== undefined && !(tokens.includes('noopener') && tokens.includes('noreferrer')))
    faults.push('rel');
  return faults;
}

/** All text of a tree in reading order, as its writer sees it. */
export function written(value: unknown): string {
  const { text, children = [] } = value as { text?: unknown; children?: unknown[] };
  return (typeof text === 'string' ? text : '') + children.map(written).join('');
}

/** Without white space, which blocks and line breaks may add. */
export const bare = (value: string) => value.replace(/\s+/g, '');
