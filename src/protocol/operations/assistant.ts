// The assistant, and the documents that it answers from.
// Rows of the one table in ../operations.ts; holds no logic.
import { z } from 'zod';
import * as ai from '../assistant.ts';
import { assistantLimits } from '../codes.ts';
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
      source: text(1, assistantLimits.source),
      title: text(1, assistantLimits.title).optional(),
      url: text(1, assistantLimits.source).nullable().optional(),
      format: ai.knowledgeFormat.default('markdown'),
      content: exactText(1, assistantLimits.content),
    }),
    output: ai.knowledgeDocument.extend({ change: z.enum(['added', 'updated', 'unchanged']) }),
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
    errors: ['plan_limit', 'not_found'],
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
