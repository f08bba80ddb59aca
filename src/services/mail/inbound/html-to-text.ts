// The text of a mail that has only HTML: lines where a reader sees lines, quoted parts with a > before each line, and
// nothing that would have to be fetched.
import { parse } from 'parse5';

interface HtmlNode {
  readonly nodeName: string;
  readonly childNodes?: readonly HtmlNode[];
  readonly value?: string;
  readonly attrs?: readonly { readonly name: string; readonly value: string }[];
}

const skipped = new Set([
  'head',
  'style',
  'script',
  'title',
  'img',
  'svg',
  'object',
  'iframe',
  'template',
  'noscript',
  '#comment',
]);
const blocks = new Set(
  'p div tr table ul ol h1 h2 h3 h4 h5 h6 pre blockquote section article header footer hr dl dt dd center form'.split(
    ' ',
  ),
);
const maxNodes = 200_000;

/** A step of the walk: a node, or text that belongs after one. */
type Step =
  | { readonly node: HtmlNode; readonly quoted: number }
  | { readonly text: string; readonly quoted: number };

/** The text of HTML. Without recursion: a mail may nest as deep as it likes. */
export function htmlToText(html: string): string {
  const lines: { text: string; quoted: number }[] = [{ text: '', quoted: 0 }];
  const put = (text: string, quoted: number): void => {
    const last = lines.at(-1);
    if (text === '\n' || last === undefined || (last.quoted !== quoted && last.text !== ''))
      lines.push({ text: text === '\n' ? '' : text, quoted });
    else {
      last.quoted = quoted;
      last.text += last.text === '' ? text.trimStart() : text;
    }
  };
  const stack: Step[] = [{ node: parse(html), quoted: 0 }];
  for (let seen = 0; stack.length > 0 && seen < maxNodes; seen += 1) {
    const step = stack.pop();
    if (step === undefined) break;
    if ('text' in step) {
      if (step.text !== '\n' || lines.at(-1)?.text !== '') put(step.text, step.quoted);
      continue;
    }
    const { node, quoted } = step;
    if (skipped.has(node.nodeName)) continue;
    if (node.nodeName === '#text') {
      put((node.value ?? '').replace(/\s+/g, ' '), quoted);
      continue;
    }
    if (node.nodeName === 'br') {
      put('\n', quoted);
      continue;
    }
    const inside = quoted + (node.nodeName === 'blockquote' ? 1 : 0);
    const isBlock = blocks.has(node.nodeName) || node.nodeName === 'li';
    if (isBlock) stack.push({ text: '\n', quoted: inside });
    for (const child of (node.childNodes ?? []).toReversed()) stack.push({ node: child, quoted: inside });
    if (node.nodeName === 'li') stack.push({ text: '- ', quoted: inside });
    if (isBlock) stack.push({ text: '\n', quoted: inside });
  }
  return lines
    .map(({ text, quoted }) => `${'> '.repeat(Math.min(quoted, 5))}${text.trimEnd()}`)
    .join('\n')
    .replace(/\n{3,}/g, '\n\n')
    .trim();
}
