// The assistant, and the documents that it answers from.
// Rows of the one table in ../operations.ts; holds no logic.
import { z } from 'zod';
import * as ai from '../assistant.ts';
import { assistantLimits, crawlLimits } from '../codes.ts';
import * as entity from '../entities.ts';
import { exactText, text } from '../text.ts';
import {
  conversationId,
  successOutput,
  listOutput,
  defineOperation,
  organizationRef,
  adminPageInput,
  pageInput,
  wholeNumber,
} from './shared.ts';

const addedDocument = ai.knowledgeDocument.extend({ change: z.enum(['added', 'updated', 'unchanged']) });

/** Indexes have room for so much of a text: a row of one takes 2,704 bytes at most on PostgreSQL. */
const sourceBytes = 2_400;
/** What a document was made from, also of one that is imported. */
export const documentSource = text(1, assistantLimits.source).refine(
  (source) => new TextEncoder().encode(source).length <= sourceBytes,
  { message: `must have at most ${sourceBytes} bytes in UTF-8: give it a shorter name` },
);

export const assistantOperations = {
  'ai.answer': defineOperation({
    summary:
      "Ask the assistant a question, unless the application's `ai.mode` is `off`; it answers from the documents, with its sources, offers up to three titles that may be meant, or says that it can't",
    audience: 'Visitors',
    errors: ['forbidden', 'plan_limit', 'ai_unavailable'],
    who: 'visitor',
    rest: ['POST', '/ai/answer'],
    input: z.object({
      /** The id of one of the `choices` of the answer before: the passage itself is the answer. */
      choice: entity.uuid.optional(),
      question: text(1, assistantLimits.question),
    }),
    output: ai.aiAnswer,
  }),
  'staff.ai.reply': defineOperation({
    summary: 'Draft an answer from the conversation and the documents; nothing is sent',
    audience: 'Staff',
    errors: ['plan_limit', 'not_found', 'ai_unavailable'],
    who: 'operator',
    rest: ['POST', '/staff/conversations/:conversationId/ai/reply'],
    input: z.object({ conversationId }),
    output: ai.aiAnswer,
  }),
  'staff.ai.rewrite': defineOperation({
    summary: 'Say a text in another way, or in another language; needs a language model',
    audience: 'Staff',
    errors: ['plan_limit', 'ai_model_required', 'ai_unavailable'],
    who: 'operator',
    rest: ['POST', '/staff/ai/rewrite'],
    input: z.object({
      text: text(1, assistantLimits.rewrite),
      style: ai.rewriteStyle,
      /** For `translate`: a language tag or a language's name. */
      language: text(2, 50).optional(),
    }),
    output: ai.aiAnswer,
  }),
  'knowledge.add': defineOperation({
    summary: 'Add a document to what the assistant answers from, or update the one from the same source',
    audience: 'Administration',
    errors: ['plan_limit', 'not_found'],
    who: 'admin',
    rest: ['POST', '/admin/knowledge'],
    status: 201,
    envelope: 'document',
    input: z.object({
      applicationId: entity.uuid,
      source: documentSource,
      title: text(1, assistantLimits.title).optional(),
      url: text(1, assistantLimits.source).nullable().optional(),
      format: ai.knowledgeFormat.default('markdown'),
      content: exactText(1, assistantLimits.content),
    }),
    output: addedDocument,
  }),
  'knowledge.addFile': defineOperation({
    summary:
      'Add a PDF, DOCX, Markdown, HTML or text file of up to 20 MB as a document, or update the one from the same source',
    audience: 'Administration',
    errors: ['plan_limit', 'not_found'],
    who: 'admin',
    rest: ['POST', '/admin/knowledge/files'],
    body: 'file',
    status: 201,
    envelope: 'document',
    input: z.object({
      applicationId: entity.uuid,
      source: documentSource.describe('its name: adding the same again updates it'),
      title: text(1, assistantLimits.title).optional(),
      url: text(1, assistantLimits.source).optional(),
      mediaType: ai.fileMediaType,
      file: z.instanceof(Uint8Array),
    }),
    output: addedDocument,
  }),
  'knowledge.crawl': defineOperation({
    summary:
      'Read the pages of a site as documents, in the background: as its robots.txt allows, and what was read before is updated',
    audience: 'Administration',
    errors: ['plan_limit', 'not_found', 'conflict'],
    who: 'admin',
    rest: ['POST', '/admin/knowledge/crawls'],
    status: 201,
    envelope: 'crawl',
    input: z.object({
      applicationId: entity.uuid,
      url: text(1, assistantLimits.source).describe('where it begins'),
      maxPages: wholeNumber(1, crawlLimits.pages).default(100),
      depth: wholeNumber(0, crawlLimits.depth).default(5).describe('how many links away from the first page'),
      below: z.boolean().default(false).describe("only pages in the first page's folder"),
      prune: z.boolean().default(false).describe('remove what was read from the site and is gone'),
    }),
    output: ai.crawl,
  }),
  'knowledge.crawls': defineOperation({
    summary: 'List the crawls, newest first; the newest 20 of each application are kept',
    audience: 'Administration',
    errors: ['not_found'],
    who: 'admin',
    rest: ['GET', '/admin/knowledge/crawls'],
    input: z.object({
      organization: organizationRef,
      applicationId: entity.uuid.optional(),
      ...pageInput,
    }),
    output: z.object({ crawls: z.array(ai.crawl), ...listOutput }),
  }),
  'knowledge.getCrawl': defineOperation({
    summary: 'Get a crawl and how far it has come',
    audience: 'Administration',
    errors: ['not_found'],
    who: 'admin',
    rest: ['GET', '/admin/knowledge/crawls/:crawlId'],
    envelope: 'crawl',
    input: z.object({ crawlId: entity.uuid }),
    output: ai.crawl,
  }),
  'knowledge.cancelCrawl': defineOperation({
    summary: 'Cancel a crawl; what it has read stays',
    audience: 'Administration',
    errors: ['not_found'],
    who: 'admin',
    rest: ['POST', '/admin/knowledge/crawls/:crawlId/cancel'],
    envelope: 'crawl',
    input: z.object({ crawlId: entity.uuid }),
    output: ai.crawl,
  }),
  'knowledge.list': defineOperation({
    summary: 'List the documents, without their content',
    audience: 'Administration',
    errors: ['not_found'],
    who: 'admin',
    rest: ['GET', '/admin/knowledge'],
    input: z.object({
      organization: organizationRef,
      applicationId: entity.uuid.optional(),
      ...adminPageInput,
    }),
    output: z.object({ documents: z.array(ai.knowledgeDocument), ...listOutput }),
  }),
  'knowledge.get': defineOperation({
    summary: 'Get a document with its content',
    audience: 'Administration',
    errors: ['not_found'],
    who: 'admin',
    rest: ['GET', '/admin/knowledge/:documentId'],
    envelope: 'document',
    input: z.object({ documentId: entity.uuid }),
    output: ai.knowledgeDocument.extend({ content: z.string() }),
  }),
  'knowledge.remove': defineOperation({
    summary: 'Remove a document with its passages',
    audience: 'Administration',
    errors: ['not_found'],
    who: 'admin',
    rest: ['DELETE', '/admin/knowledge/:documentId'],
    input: z.object({ documentId: entity.uuid }),
    output: successOutput,
  }),
  'knowledge.search': defineOperation({
    summary: 'Find the passages that fit a question, best first',
    audience: 'Administration',
    errors: ['plan_limit', 'not_found', 'rate_limit_exceeded'],
    who: 'admin',
    rest: ['POST', '/admin/knowledge/search'],
    input: z.object({
      applicationId: entity.uuid,
      query: text(1, assistantLimits.question),
      limit: wholeNumber(1, 50).default(5),
    }),
    output: ai.foundPassages,
  }),
  'knowledge.ask': defineOperation({
    summary: 'Try a question: the answer, the passages it comes from, and how well they fit',
    audience: 'Administration',
    errors: ['plan_limit', 'not_found', 'ai_unavailable'],
    who: 'admin',
    rest: ['POST', '/admin/knowledge/ask'],
    input: z.object({
      applicationId: entity.uuid,
      question: text(1, assistantLimits.question),
    }),
    output: ai.aiAnswer.extend({ ...ai.foundPassages.shape, model: z.string().nullable() }),
  }),
  'knowledge.synonyms': defineOperation({
    summary: 'Get the words that mean the same in the documents',
    audience: 'Administration',
    errors: ['not_found'],
    who: 'admin',
    rest: ['GET', '/admin/applications/:applicationId/synonyms'],
    input: z.object({ applicationId: entity.uuid }),
    output: z.object({ synonyms: ai.synonyms }),
  }),
  'knowledge.setSynonyms': defineOperation({
    summary: 'Set the words that mean the same in the documents',
    audience: 'Administration',
    errors: ['plan_limit', 'not_found'],
    who: 'admin',
    rest: ['PUT', '/admin/applications/:applicationId/synonyms'],
    input: z.object({ applicationId: entity.uuid, synonyms: ai.synonyms }),
    output: z.object({ synonyms: ai.synonyms }),
  }),
  'knowledge.gaps': defineOperation({
    summary: 'List the questions that the documents did not answer, grouped by likeness, most frequent first',
    audience: 'Administration',
    errors: ['not_found'],
    who: 'admin',
    rest: ['GET', '/admin/applications/:applicationId/gaps'],
    input: z.object({ applicationId: entity.uuid, ...pageInput }),
    output: z.object({ gaps: z.array(ai.knowledgeGap), ...listOutput }),
  }),
  'knowledge.keepReply': defineOperation({
    summary:
      'Keep a reply as a passage under the question that it answers, after a person has read it: names and numbers that may be of a person must be removed, or confirmed with `reviewed`',
    audience: 'Administration',
    errors: ['plan_limit', 'not_found'],
    who: 'admin',
    rest: ['POST', '/admin/applications/:applicationId/replies'],
    status: 201,
    envelope: 'document',
    input: z.object({
      applicationId: entity.uuid,
      question: text(1, assistantLimits.title),
      reply: text(1, assistantLimits.rewrite),
      reviewed: z.boolean().default(false),
      /** Entries of the log that need no other answer now. */
      settles: z.array(entity.uuid).max(assistantLimits.gapEntries).default([]),
    }),
    output: ai.knowledgeDocument,
  }),
  'knowledge.keepQuestion': defineOperation({
    summary:
      'Keep a question with the passages under the heading that answers it: like ones find them from now on',
    audience: 'Administration',
    errors: ['plan_limit', 'not_found'],
    who: 'admin',
    rest: ['POST', '/admin/applications/:applicationId/questions'],
    status: 201,
    envelope: 'question',
    input: z.object({
      applicationId: entity.uuid,
      passageId: entity.uuid,
      question: text(1, assistantLimits.title),
      reviewed: z.boolean().default(false),
      settles: z.array(entity.uuid).max(assistantLimits.gapEntries).default([]),
    }),
    output: ai.keptQuestion,
  }),
  'knowledge.questions': defineOperation({
    summary: 'List the questions that were kept with a document',
    audience: 'Administration',
    errors: ['not_found'],
    who: 'admin',
    rest: ['GET', '/admin/knowledge/:documentId/questions'],
    input: z.object({ documentId: entity.uuid }),
    output: z.object({ questions: z.array(ai.keptQuestion) }),
  }),
  'knowledge.forgetQuestion': defineOperation({
    summary: 'Remove a kept question',
    audience: 'Administration',
    errors: ['not_found'],
    who: 'admin',
    rest: ['DELETE', '/admin/knowledge/:documentId/questions/:questionId'],
    input: z.object({ documentId: entity.uuid, questionId: entity.uuid }),
    output: successOutput,
  }),
  'knowledge.settleGaps': defineOperation({
    summary: 'Take questions off the list of gaps, without writing an answer',
    audience: 'Administration',
    errors: ['not_found'],
    who: 'admin',
    rest: ['POST', '/admin/applications/:applicationId/gaps/settle'],
    input: z.object({
      applicationId: entity.uuid,
      settles: z.array(entity.uuid).max(assistantLimits.gapEntries),
    }),
    output: successOutput,
  }),
  'ai.log': defineOperation({
    summary: 'Read what the assistant was asked and answered, newest first',
    audience: 'Administration',
    errors: ['not_found'],
    who: 'admin',
    rest: ['GET', '/admin/ai-log'],
    input: z.object({ organization: organizationRef, applicationId: entity.uuid.optional(), ...pageInput }),
    output: z.object({ entries: z.array(ai.aiLogEntry), ...listOutput }),
  }),
} as const;
