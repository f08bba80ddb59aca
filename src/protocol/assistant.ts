// The contract of the assistant: documents of knowledge, the passages they are cut
// into, answers with their sources, and the log of both. Shapes only; holds no rule.
import { z } from 'zod';
import { assistantLimits, fileKinds } from './codes.ts';
import { aiChoice, timestamp, uuid } from './entities.ts';
import { text } from './text.ts';

export const knowledgeFormat = z.enum(['markdown', 'html', 'text']);
export type KnowledgeFormat = z.infer<typeof knowledgeFormat>;

/** The media types of files that can be documents. */
export const fileMediaType = z.literal(
  Object.keys(fileKinds).filter((type): type is keyof typeof fileKinds => type in fileKinds),
);

export const knowledgeDocument = z.object({
  id: uuid,
  applicationId: uuid,
  /** What it was made from (a path, an address, a name): adding the same source again updates it. */
  source: z.string(),
  title: z.string(),
  /** Where a visitor can read it; null: nowhere. */
  url: z.string().nullable(),
  format: knowledgeFormat,
  passages: z.int(),
  createdAt: timestamp,
  updatedAt: timestamp,
});
export type KnowledgeDocument = z.infer<typeof knowledgeDocument>;

export const crawlStatus = z.enum(['waiting', 'running', 'done', 'cancelled', 'failed', 'interrupted']);
export type CrawlStatus = z.infer<typeof crawlStatus>;

/** Pages of a site that could not be read, and why. */
export const crawlProblems = z.array(z.object({ url: z.string(), problem: z.string() }));

/** A crawl of a site, and what has become of its pages so far. */
export const crawl = z.object({
  id: uuid,
  applicationId: uuid,
  /** Where it begins. */
  url: z.string(),
  maxPages: z.int(),
  depth: z.int(),
  below: z.boolean(),
  prune: z.boolean(),
  status: crawlStatus,
  /** Why nothing could be read, why it broke off, or that its time was over; null: none of these. */
  problem: z.string().nullable(),
  /** Looked at so far. */
  pages: z.int(),
  added: z.int(),
  updated: z.int(),
  unchanged: z.int(),
  skipped: z.int(),
  failed: z.int(),
  removed: z.int(),
  /** It ended at its number of pages or when its time was over: how many more were found at least. */
  left: z.int().nullable(),
  /** The newest, at most 20. */
  problems: crawlProblems,
  createdAt: timestamp,
  startedAt: timestamp.nullable(),
  endedAt: timestamp.nullable(),
});
export type Crawl = z.infer<typeof crawl>;

/** A passage as a search found it. */
export const foundPassage = z.object({
  id: uuid,
  documentId: uuid,
  title: z.string(),
  /** The headings above it, outermost first, joined by " › "; null: none. */
  heading: z.string().nullable(),
  /** The document's address, with the heading's anchor where it has one. */
  url: z.string().nullable(),
  text: z.string(),
  /** How much of the question its words cover, 0 to 1. */
  coverage: z.number(),
  /** What it was ranked by: higher is better; comparable within one search only. */
  score: z.number(),
});
export type FoundPassage = z.infer<typeof foundPassage>;

/** Two probabilities, 0 to 1: that the first passage answers the question, and that one of the first three does. */
export const confidence = z.object({ answer: z.number(), choices: z.number() });
export type Confidence = z.infer<typeof confidence>;

/** What a question found. */
export const foundPassages = z.object({
  passages: z.array(foundPassage),
  /** The most of the question that one passage's words cover, 0 to 1. */
  coverage: z.number(),
  confidence,
  /** From where on the assistant answers, or else offers choices. */
  thresholds: confidence,
});

/** `id` is the document's. */
export const answerSource = z.object({ id: uuid, title: z.string(), url: z.string().nullable() });
export type AnswerSource = z.infer<typeof answerSource>;

/**
 * `text` is constrained Markdown: paragraphs, bold, italic, code, lists, links. `choices` come instead of an answer,
 * where it is not sure what was meant; the text lists them, too.
 */
export const aiAnswer = z.object({
  text: z.string(),
  sources: z.array(answerSource),
  answered: z.boolean(),
  choices: z.array(aiChoice).max(assistantLimits.choices).optional(),
});
export type AiAnswer = z.infer<typeof aiAnswer>;

/** Questions like each other that the documents did not answer. */
export const knowledgeGap = z.object({
  /** The newest of them. */
  question: z.string(),
  /** How often they were asked. */
  count: z.int(),
  /** All of their entries in the log: what `settles` takes. */
  entries: z.array(uuid),
  lastAskedAt: timestamp,
  /** What visitors chose most often among the titles that were offered; null: nothing. */
  chosen: aiChoice.nullable(),
});
export type KnowledgeGap = z.infer<typeof knowledgeGap>;

/** A question that a person kept with the passages under a heading of a document. */
export const keptQuestion = z.object({
  id: uuid,
  documentId: uuid,
  heading: z.string().nullable(),
  question: z.string(),
  createdAt: timestamp,
});
export type KeptQuestion = z.infer<typeof keptQuestion>;

export const rewriteStyle = z.enum(['improve', 'shorten', 'friendly', 'formal', 'translate']);
export type RewriteStyle = z.infer<typeof rewriteStyle>;

/** Lines of words that mean the same in this application's documents. */
export const synonyms = z
  .array(z.array(text(1, 100)).min(2).max(assistantLimits.synonymsPerLine))
  .max(assistantLimits.synonymLines);
export type Synonyms = z.infer<typeof synonyms>;

export const aiLogEntry = z.object({
  id: uuid,
  /** Null: a text of no application was rewritten. */
  applicationId: uuid.nullable(),
  conversationId: uuid.nullable(),
  /** By which way it was asked: the visitor's question, an operator's draft or rewrite, the automatic answer, an admin's trial. */
  door: z.enum(['answer', 'reply', 'rewrite', 'auto', 'ask']),
  /** `member:<id>`, `visitor:<application id>`, `local`: as in the audit log. */
  actor: z.string(),
  question: z.string(),
  answer: z.string().nullable(),
  /** `answered`; `offered`: choices; `refused`: the documents say nothing about it; `person`: handed over; `failed`: the model did not answer; `dropped`: a person was there first. */
  outcome: z.enum(['answered', 'offered', 'refused', 'person', 'failed', 'dropped']),
  sources: z.array(answerSource),
  /** Null: no model was asked. */
  model: z.string().nullable(),
  durationMs: z.int(),
  createdAt: timestamp,
});
export type AiLogEntry = z.infer<typeof aiLogEntry>;
