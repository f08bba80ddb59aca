// Owns the one check that every message text passes before it is stored, and what is stored for it.
// Must not read or write anything: it runs before the transaction, on text alone.

import { renderHtml } from './html.ts';
import { checkLexical, plainText } from './lexical.ts';
import { showsSomething, unstorable } from '../../text/text.ts';

export type ContentFormat = 'plain' | 'lexical';

/** What a message keeps: its content as sent but trimmed, its HTML (null for plain), and its text for search. */
export interface PreparedContent {
  content: string;
  contentFormat: ContentFormat;
  contentHtml: string | null;
  text: string;
}

/** The outcome of {@link prepareContent}; `problem` is a whole sentence in English. */
export type ContentOutcome = { ok: true; value: PreparedContent } | { ok: false; path: 'content'; problem: string };

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
  if (trimmed === '') return refuse('must not be empty. Write something before sending.');
  if (trimmed.length > maxLength) {
    return refuse(`is too long: ${trimmed.length} characters, and at most ${maxLength} are allowed. Shorten it or split it.`);
  }
  const reason = unstorable(trimmed);
  if (reason === 'nul') return refuse('has the character U+0000, which cannot be stored. Remove it.');
  if (reason !== null) return refuse('has half a character (a lone surrogate). Send well-formed Unicode.');
  if (format === 'plain') {
    if (!showsSomething(trimmed)) return refuse('shows nothing: only blanks or invisible characters. Write something.');
    return { ok: true, value: { content: trimmed, contentFormat: format, contentHtml: null, text: trimmed } };
  }
  const checked = checkLexical(trimmed);
  if (!checked.ok) return refuse(checked.problem);
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

function refuse(problem: string): ContentOutcome {
  return { ok: false, path: 'content', problem: `content ${problem}` };
}
