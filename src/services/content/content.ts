// Owns the one check that every message text passes before it is stored, and what is stored for it.
// Must not read or write anything: it runs before the transaction, on text alone.

import { renderHtml } from './html.ts';
import { checkLexical, plainText } from './lexical.ts';
import { findUnstorable } from '../../protocol/text.ts';
import { hasVisibleText } from '../../text/text.ts';

export type ContentFormat = 'plain' | 'lexical';

/** What a message keeps: its content as sent but trimmed, its HTML (null for plain), and its text for search. */
export interface PreparedContent {
  content: string;
  contentFormat: ContentFormat;
  contentHtml: string | null;
  text: string;
}

/** The outcome of {@link prepareContent}; `problem` is a whole sentence in English. */
export type ContentOutcome =
  | { ok: true; value: PreparedContent }
  | { ok: false; path: 'content'; problem: string };

/**
 * Checks a message's content and makes what is stored beside it (contract: "Messages", "Rich text").
 *
 * @param content as sent; for `lexical` a JSON string
 * @param format how to read it
 * @param maxLength the longest content after trimming, in UTF-16 units
 * @returns what to store, or what is wrong and what to do about it
 */
export function prepareContent(content: string, format: ContentFormat, maxLength: number): ContentOutcome {
  const trimmed = content.trim();
  if (trimmed === '') return invalid('must not be empty. Write something before sending.');
  if (trimmed.length > maxLength) {
    return invalid(
      `is too long: ${trimmed.length} characters, and at most ${maxLength} are allowed. Shorten it or split it.`,
    );
  }
  const reason = findUnstorable(trimmed);
  if (reason === 'nul') return invalid('has the character U+0000, which cannot be stored. Remove it.');
  if (reason !== null) return invalid('has half a character (a lone surrogate). Send well-formed Unicode.');
  if (format === 'plain') {
    if (!hasVisibleText(trimmed))
      return invalid('shows nothing: only blanks or invisible characters. Write something.');
    return { ok: true, value: { content: trimmed, contentFormat: format, contentHtml: null, text: trimmed } };
  }
  const checked = checkLexical(trimmed);
  if (!checked.ok) return invalid(checked.problem);
  return {
    ok: true,
    value: {
      content: trimmed,
      contentFormat: format,
      contentHtml: renderHtml(checked.root),
      text: plainText(checked.root),
    },
  };
}

function invalid(problem: string): ContentOutcome {
  return { ok: false, path: 'content', problem: `content ${problem}` };
}
