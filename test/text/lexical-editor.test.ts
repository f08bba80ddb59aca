// Owns: that the Lexical editor itself reads what we write. Customers' editors open these trees, so the library is the
// judge here, not our own reader.
import { CodeNode } from '@lexical/code-core';
import { createHeadlessEditor } from '@lexical/headless';
import { AutoLinkNode, LinkNode } from '@lexical/link';
import { ListItemNode, ListNode } from '@lexical/list';
import { HeadingNode, QuoteNode } from '@lexical/rich-text';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { prepareContent } from '../../src/services/content/content.ts';
import { markdownToLexical, plainLexical } from '../../src/text/markdown.ts';

const nodes = [CodeNode, AutoLinkNode, LinkNode, ListItemNode, ListNode, HeadingNode, QuoteNode];

/** What an editor makes of a state after opening and saving it. */
function openedAndSaved(state: string): string {
  const editor = createHeadlessEditor({
    nodes,
    onError: (error) => {
      throw error;
    },
  });
  editor.setEditorState(editor.parseEditorState(state));
  return JSON.stringify(editor.getEditorState().toJSON());
}

/** The HTML that the service renders; null for a text that shows nothing. */
function html(state: string): string | null {
  const prepared = prepareContent(state, 'lexical', 10_000_000);
  return prepared.ok ? prepared.value.contentHtml : null;
}

describe('the Lexical editor', () => {
  it.each([
    ['marks', 'One **bold**, *italic*, ***both*** and `code`.\n\nTwo'],
    ['line breaks', 'one\ntwo  \nthree\n\n\nfour'],
    [
      'links',
      'See [the *shop*](https://example.com/a_b?c=1), <https://example.com> and mailto:a@example.com',
    ],
    ['lists in lists', '- a\n- b\n  - c\n    - d\n- e\n\n3. three\n4. four\n   1. in'],
    ['lists that follow each other', '- a\n\n* b\n\n1. c\n\n1) d\n\n- e\n  - f\n\n  * g'],
    ['code blocks', '```js\nlet a = `1`;\n\nb();\n```'],
    ['headings, quotes, tables', '# One\n\n> two\n\n| a | b |\n| - | - |\n| 1 | 2 |'],
    ['scripts and emoji', 'Привет, 你好 สวัสดี مرحبا 👩‍👩‍👧 می‌خواهم'],
  ])('opens and saves %s without a change that shows', async (_, markdown) => {
    const state = await markdownToLexical(markdown);
    expect(html(openedAndSaved(state))).toBe(html(state));
  });

  it('opens any Markdown and any plain text', async () => {
    const text = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 200 }),
      fc
        .array(
          fc.constantFrom(
            '*',
            '_',
            '`',
            '[',
            '](',
            ')',
            '- ',
            '1. ',
            '* ',
            '1) ',
            '\n',
            '\n\n',
            '  ',
            '#',
            '>',
            '|',
            'a',
            'é',
          ),
        )
        .map((parts) => parts.join('')),
    );
    await fc.assert(
      fc.asyncProperty(text, async (written) => {
        for (const state of [await markdownToLexical(written), plainLexical(written)]) {
          const shown = html(state);
          // A text that shows nothing is never sent.
          if (shown !== null) expect(html(openedAndSaved(state))).toBe(shown);
        }
      }),
      // Two runs of one style beside each other.
      { examples: [['*)  *`**']] },
    );
  });
});
