// Answers without a model: the passages that fit best, quoted word for word around the sentences that the question
// meets. Text in, text out; finds nothing itself.
import type { AnswerSource, FoundPassage } from '../../protocol/assistant.ts';
import type { AiChoice } from '../../protocol/entities.ts';
import { assistantLimits } from '../../protocol/codes.ts';
import { escapeMarkdown, quoteMarkdown } from '../../text/markdown.ts';
import { headingSeparator } from './knowledge/chunking/blocks.ts';
import type { Phrases } from './phrases.ts';
import { isStopword } from './knowledge/retrieval/stopwords.ts';
import { terms } from './knowledge/retrieval/terms.ts';

export interface Quotation {
  /** Constrained Markdown. */
  readonly text: string;
  readonly quoted: readonly FoundPassage[];
}

/** UTF-16 units; a passage up to the first is quoted whole. */
const maxWholePassage = 700;
const maxExcerpt = 600;
/** A second passage is quoted too when its score is no more than this below: it is then 60 % as probable. */
const secondPassageMargin = 0.5;

/** Quotes the best one or two of the passages, which come best first, each under its own title. */
export function quotePassages(passages: readonly FoundPassage[], question: string): Quotation {
  const [first, second] = passages;
  if (first === undefined) return { text: '', quoted: [] };
  const asked = new Set(terms(question).filter((term) => !isStopword(term)));
  const isClose = second !== undefined && second.score >= first.score - secondPassageMargin;
  const quoted = isClose ? [first, second] : [first];
  const text = quoted
    .map(
      (passage) =>
        `**${escapeMarkdown(passageTitle(passage))}**\n\n${quoteMarkdown(excerpt(passage.text, asked))}`,
    )
    .join('\n\n');
  return { text, quoted };
}

/** The titles of the best passages, each once. */
export function listChoices(passages: readonly FoundPassage[]): AiChoice[] {
  const choices = new Map<string, AiChoice>();
  for (const passage of passages) {
    const title = passageTitle(passage);
    if (!choices.has(title)) choices.set(title, { id: passage.id, title });
  }
  return [...choices.values()].slice(0, assistantLimits.choices);
}

/** The question back, with the titles as a list for clients that show no buttons. */
export function offerMarkdown(choices: readonly AiChoice[], { didYouMean }: Phrases): string {
  return `${didYouMean}\n\n${choices.map(({ title }) => `- ${escapeMarkdown(title)}`).join('\n')}`;
}

/** What a passage is called: its own heading, or the document's title where it stands under none. */
export function passageTitle({ title, heading }: Pick<FoundPassage, 'title' | 'heading'>): string {
  return heading?.split(headingSeparator).at(-1) ?? title;
}

/** Where passages come from: each document once, by its own id. */
export function listSources(passages: readonly FoundPassage[]): AnswerSource[] {
  const sources = new Map<string, AnswerSource>();
  for (const { documentId, title, url } of passages)
    if (!sources.has(documentId)) sources.set(documentId, { id: documentId, title, url });
  return [...sources.values()];
}

interface Segment {
  readonly text: string;
  /** Blanks or line ends in front of it. */
  readonly separator: string;
  readonly found: ReadonlySet<string>;
}

let sentenceSegmenter: Intl.Segmenter | undefined;

/** The stretch of a text that says most about what was asked, cut between sentences and lines. */
function excerpt(text: string, asked: ReadonlySet<string>): string {
  if (text.length <= maxWholePassage) return text;
  const pieces = splitSegments(text, asked);
  let start = 0;
  let best = -1;
  pieces.forEach(({ found }, at) => {
    if (found.size > best) [start, best] = [at, found.size];
  });
  let end = start + 1;
  let length = pieces[start]?.text.length ?? 0;
  // What follows explains more often than what went before.
  for (let grown = true; grown;) {
    grown = false;
    for (const at of [end, start - 1]) {
      const piece = pieces[at];
      if (piece === undefined || length + piece.text.length > maxExcerpt) continue;
      length += piece.text.length;
      if (at === end) end += 1;
      else start -= 1;
      grown = true;
      break;
    }
  }
  const chosen = pieces
    .slice(start, end)
    .map(({ text: piece, separator: glue }, at) => (at === 0 ? piece : glue + piece));
  const isCutInLine = start > 0 && !(pieces[start]?.separator.includes('\n') ?? false);
  const isCutBehind = end < pieces.length && !(pieces[end]?.separator.includes('\n') ?? false);
  return `${isCutInLine ? '… ' : ''}${chosen.join('')}${isCutBehind ? ' …' : ''}`;
}

function splitSegments(text: string, asked: ReadonlySet<string>): Segment[] {
  sentenceSegmenter ??= new Intl.Segmenter('und', { granularity: 'sentence' });
  const pieces: Segment[] = [];
  let glue = '';
  for (const line of text.split(/(\n+)/)) {
    if (/^\n*$/.test(line)) {
      glue += line;
      continue;
    }
    for (const { segment } of sentenceSegmenter.segment(line)) {
      const trimmed = segment.trimEnd();
      if (trimmed !== '')
        pieces.push({
          text: trimmed,
          separator: glue,
          found: new Set(terms(trimmed).filter((term) => asked.has(term))),
        });
      glue = segment.slice(trimmed.length);
    }
  }
  return pieces;
}
