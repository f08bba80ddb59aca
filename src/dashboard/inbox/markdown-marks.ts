// Owns what the buttons of formatting do to a text with Markdown in it. Pure: a text and a selection in, and out.
import type { FormatName } from '../../../widget/shared/format-keys.ts';

export interface Selected {
  readonly text: string;
  /** In UTF-16 units. */
  readonly from: number;
  readonly to: number;
}

const around = { bold: '**', italic: '*', underline: '++', strike: '~~' } as const;

/** Puts a mark around what is selected, or before its lines; takes it away where it is already. */
export function applyMark(mark: FormatName, selected: Selected): Selected {
  switch (mark) {
    case 'bold':
    case 'italic':
    case 'underline':
    case 'strike':
      return wrap(selected, around[mark]);
    case 'code':
      return selected.text.slice(selected.from, selected.to).includes('\n')
        ? fence(selected)
        : wrap(selected, '`');
    case 'bullets':
      return onLines(selected, /^[-*+] /, () => '- ');
    case 'numbers':
      return onLines(selected, /^\d+[.)] /, (line) => `${line + 1}. `);
    case 'link':
      return link(selected);
  }
}

/** How often a mark's character stands before an index. */
function runBefore(text: string, at: number, letter: string): number {
  let count = 0;
  while (text[at - 1 - count] === letter) count += 1;
  return count;
}

function wrap({ text, from, to }: Selected, mark: string): Selected {
  const letter = mark[0] ?? '';
  const before = runBefore(text, from, letter);
  // Two stars are bold, one is italic, three are both.
  const isMarked =
    text.startsWith(mark, to) &&
    (mark === '*' ? before === 1 || before === 3 : before >= mark.length) &&
    text.slice(from - mark.length, from) === mark;
  if (isMarked) {
    const size = mark.length;
    const rest = text.slice(0, from - size) + text.slice(from, to) + text.slice(to + size);
    return { text: rest, from: from - size, to: to - size };
  }
  // Blanks at the edges stay outside: marks beside a blank mean nothing.
  const inner = text.slice(from, to);
  const lead = inner.length - inner.trimStart().length;
  const tail = inner.trim() === '' ? 0 : inner.length - inner.trimEnd().length;
  const start = inner.trim() === '' ? from : from + lead;
  const end = to - tail;
  const marked = text.slice(0, start) + mark + text.slice(start, end) + mark + text.slice(end);
  return { text: marked, from: start + mark.length, to: end + mark.length };
}

function fence({ text, from, to }: Selected): Selected {
  const lead = from === 0 || text[from - 1] === '\n' ? '' : '\n';
  const open = `${lead}\`\`\`\n`;
  const close = `${text[to - 1] === '\n' ? '' : '\n'}\`\`\`${text[to] === '\n' || to === text.length ? '' : '\n'}`;
  return {
    text: text.slice(0, from) + open + text.slice(from, to) + close + text.slice(to),
    from: from + open.length,
    to: to + open.length,
  };
}

function onLines({ text, from, to }: Selected, marked: RegExp, prefix: (line: number) => string): Selected {
  const start = text.lastIndexOf('\n', from - 1) + 1;
  const next = text.indexOf('\n', Math.max(to - 1, from));
  const end = next < 0 ? text.length : next;
  const lines = text.slice(start, end).split('\n');
  const all = lines.every((line) => marked.test(line));
  const changed = lines
    .map((line, index) =>
      all ? line.replace(marked, '') : prefix(index) + line.replace(/^([-*+]|\d+[.)]) /, ''),
    )
    .join('\n');
  // A list needs an empty line before it, or it would be the end of the paragraph above.
  const gap = !all && start >= 2 && text[start - 2] !== '\n' ? '\n' : '';
  const whole = text.slice(0, start) + gap + changed + text.slice(end);
  const at = start + gap.length + changed.length;
  return from === to ? { text: whole, from: at, to: at } : { text: whole, from: start + gap.length, to: at };
}

function link({ text, from, to }: Selected): Selected {
  const inner = text.slice(from, to);
  if (/^(https?:\/\/|mailto:|tel:)\S+$/i.test(inner.trim())) {
    const made = `[](${inner.trim()})`;
    return { text: text.slice(0, from) + made + text.slice(to), from: from + 1, to: from + 1 };
  }
  const made = `[${inner}](https://)`;
  const at = from + made.length - 1;
  return { text: text.slice(0, from) + made + text.slice(to), from: at - 'https://'.length, to: at };
}
