// The assistant, and the documents that it answers from.
// Rows of the one table in ../operations.ts; holds no rule.
import { z } from 'zod';
import * as ai from '../assistant.ts';
import { assistantLimits } from '../codes.ts';
import * as entity from '../entities.ts';
import { conversationId, done, listOut, operation, organizationRef, ownerPage, page, wholeNumber } from './shared.ts';

export const assistantOperations = {
  'ai.answer': operation({
    who: 'visitor',
    rest: ['POST', '/ai/answer'],
    input: z.object({ question: z.string().trim().min(1, 'must not be empty').max(assistantLimits.question) }),
    output: ai.aiAnswer,
  }),
  'staff.ai.reply': operation({
    who: 'operator',
    rest: ['POST', '/staff/conversations/:conversationId/ai/reply'],
    input: z.object({ conversationId }),
    output: ai.aiAnswer,
  }),
  'staff.ai.rewrite': operation({
    who: 'operator',
    rest: ['POST', '/staff/ai/rewrite'],
    input: z.object({
      text: z.string().trim().min(1, 'must not be empty').max(assistantLimits.rewrite),
      style: ai.rewriteStyle,
      /** For `translate`: a language tag or a language's name. */
      language: z.string().trim().min(2).max(50).optional(),
    }),
    output: ai.aiAnswer,
  }),
  'knowledge.add': operation({
    who: 'admin',
    rest: ['POST', '/admin/knowledge'],
    status: 201,
    envelope: 'document',
    input: z.object({
      applicationId: entity.uuid,
      source: z.string().trim().min(1).max(assistantLimits.source),
      title: z.string().trim().min(1).max(assistantLimits.title).optional(),
      url: z.string().trim().min(1).max(assistantLimits.source).nullable().optional(),
      format: ai.knowledgeFormat.default('markdown'),
      content: z.string().min(1).max(assistantLimits.content),
    }),
    output: ai.knowledgeDocument.extend({ change: z.enum(['added', 'updated', 'unchanged']) }),
  }),
  'knowledge.list': operation({
    who: 'admin',
    rest: ['GET', '/admin/knowledge'],
    input: z.object({ organization: organizationRef, applicationId: entity.uuid.optional(), ...ownerPage }),
    output: z.object({ documents: z.array(ai.knowledgeDocument), ...listOut }),
  }),
  'knowledge.get': operation({
    who: 'admin',
    rest: ['GET', '/admin/knowledge/:documentId'],
    envelope: 'document',
    input: z.object({ documentId: entity.uuid }),
    output: ai.knowledgeDocument.extend({ content: z.string() }),
  }),
  'knowledge.remove': operation({
    who: 'admin',
    rest: ['DELETE', '/admin/knowledge/:documentId'],
    input: z.object({ documentId: entity.uuid }),
    output: done,
  }),
  'knowledge.search': operation({
    who: 'admin',
    rest: ['POST', '/admin/knowledge/search'],
    input: z.object({
      applicationId: entity.uuid,
      query: z.string().trim().min(1).max(assistantLimits.question),
      limit: wholeNumber(1, 50).default(5),
    }),
    output: z.object({ passages: z.array(ai.foundPassage), coverage: z.number(), threshold: z.number() }),
  }),
  'knowledge.ask': operation({
    who: 'admin',
    rest: ['POST', '/admin/knowledge/ask'],
    input: z.object({ applicationId: entity.uuid, question: z.string().trim().min(1).max(assistantLimits.question) }),
    output: ai.aiAnswer.extend({
      passages: z.array(ai.foundPassage),
      coverage: z.number(),
      threshold: z.number(),
      model: z.string().nullable(),
    }),
  }),
  'knowledge.synonyms': operation({
    who: 'admin',
    rest: ['GET', '/admin/applications/:applicationId/synonyms'],
    input: z.object({ applicationId: entity.uuid }),
    output: z.object({ synonyms: ai.synonyms }),
  }),
  'knowledge.setSynonyms': operation({
    who: 'admin',
    rest: ['PUT', '/admin/applications/:applicationId/synonyms'],
    input: z.object({ applicationId: entity.uuid, synonyms: ai.synonyms }),
    output: z.object({ synonyms: ai.synonyms }),
  }),
  'ai.log': operation({
    who: 'admin',
    rest: ['GET', '/admin/ai-log'],
    input: z.object({ organization: organizationRef, applicationId: entity.uuid.optional(), ...page }),
    output: z.object({ entries: z.array(ai.aiLogEntry), ...listOut }),
  }),
} as const;
