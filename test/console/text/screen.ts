// Owns what the tests of the console's text know about the screen: what a terminal obeys, and where Ink puts things.
// Must not assert anything.
import { styledCharsFromTokens, tokenize } from '@alcalzone/ansi-tokenize';
import stringWidth from 'string-width';

/** What must never be in a span: controls (line ends and tabs too), bidi embeddings, overrides and isolates, half characters. */
export const OBEYED = /\p{Cc}|[\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff\ufff9-\ufffb]|\p{Cs}/u;

/** The columns that Ink's writer gives to a line: cluster by cluster, invisible ones left out, and none without a column. */
export function inkColumns(line: string): number {
  return styledCharsFromTokens(tokenize(line))
    .filter(({ value }) => !/^\p{Default_Ignorable_Code_Point}+$/u.test(value))
    .reduce((columns, { value }) => columns + Math.max(1, stringWidth(value)), 0);
}
