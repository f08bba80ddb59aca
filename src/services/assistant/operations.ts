// The rules of the assistant's operations: a visitor's question, an operator's draft and rewriting, an admin's trial.
// Each checks plan, setting and budget, answers outside of any transaction, and writes down what was asked and said.
import type { AiAnswer, AiLogEntry } from '../../protocol/assistant.ts';
import { assistantLimits } from '../../protocol/codes.ts';
import type { ApplicationSettings } from '../../protocol/application-settings.ts';
import type { Input, Output } from '../../protocol/operations.ts';
import type { Scope } from '../../engine/engine.ts';
import type { MessageWithSender } from '../../engine/rows.ts';
import {
  accessApplication,
  accessConversation,
  countNewVisitor,
  getOrCreateVisitor,
  findVisitor,
} from '../core/access.ts';
import { actorLabel } from '../core/actor.ts';
import { scopeOfConversation, visitorScope } from '../core/scopes.ts';
import { recordAi, type AiRecord } from './log.ts';
import { checkRewrite } from './answer-check.ts';
import { assertPlanHasAi } from '../tenants/applications.ts';
import { answerChoice, answerQuestion, type AnswerResult } from './assistant.ts';
import { getPhrases } from './phrases.ts';
import { rewritePrompt, type Turn } from './prompts.ts';
import { badField, ServiceError, notFound } from '../core/errors.ts';
import { ModelBusyError, ModelError } from './language-model.ts';
import { limitAiQuestion } from '../auth/rate-limits.ts';
import { writeAs } from '../auth/standing.ts';
import type { Call, MemberCall, OwnerCall, ReadTx, VisitorCall } from '../service.ts';
import { readSettings } from '../tenants/settings.ts';
import { thresholds } from './knowledge/retrieval/retrieval.ts';

/** Messages of a conversation that a draft is made from. */
const maxMessages = 30;

/**
 * Answers a visitor's question.
 * @throws ServiceError plan_limit, forbidden (ai.mode off), rate_limit_exceeded, ai_unavailable
 */
export async function answerVisitor(
  call: VisitorCall,
  input: Input<'ai.answer'>,
): Promise<Output<'ai.answer'>> {
  const { service, actor } = call;
  const { organizationId, applicationId } = actor;
  const settings = await service.engine.store.read(async (tx) => {
    await assertPlanHasAi(tx, organizationId);
    return getApplicationSettings(tx, applicationId);
  });
  assertAssistantEnabled(settings);
  await limitAiQuestion(service, organizationId, `v:${applicationId}:${actor.mode}:${actor.visitorId}`);
  // What is asked belongs to a person, so that it is handed out and erased with them.
  await countNewVisitor(call);
  const visitor =
    (await service.engine.store.read((tx) => findVisitor(tx, actor))) ??
    (await writeAs(call, visitorScope(call), (tx, current) => getOrCreateVisitor(tx, current)));
  const base = {
    organizationId,
    applicationId,
    visitorKey: visitor.id,
    mode: actor.mode,
    door: 'answer',
    question: input.question,
  } as const;
  const { answer } = await answerAndRecord(
    call,
    base,
    async () =>
      (input.choice === undefined
        ? null
        : await answerChoice(service, applicationId, input.choice, input.question)) ??
      (await answerQuestion(service, actor, input.question)),
  );
  return answer;
}

/**
 * A draft of an answer from the whole conversation but its internal notes, which a visitor must never see a word of.
 * @throws ServiceError not_found, plan_limit, forbidden (ai.mode off), rate_limit_exceeded, ai_unavailable
 */
export async function draftReply(
  call: MemberCall,
  input: Input<'staff.ai.reply'>,
): Promise<Output<'staff.ai.reply'>> {
  const { service, actor } = call;
  const { conversation, settings, messages } = await service.engine.store.read(async (tx) => {
    const found = await accessConversation(tx, actor, input.conversationId);
    await assertPlanHasAi(tx, found.organization_id);
    const newest = await tx.repositories.messages.page({
      conversationId: found.id,
      notes: false,
      order: 'desc',
      limit: maxMessages,
      offset: 0,
    });
    return {
      conversation: found,
      settings: await getApplicationSettings(tx, found.application_id),
      messages: newest.toReversed(),
    };
  });
  assertAssistantEnabled(settings);
  await limitAiQuestion(service, actor.organizationId, `m:${actor.memberId}`);
  const { question, latest, history, asked: asking } = extractQuestion(messages);
  const base = {
    organizationId: conversation.organization_id,
    applicationId: conversation.application_id,
    visitorKey: conversation.visitor_key,
    conversationId: conversation.id,
    mode: conversation.mode,
    door: 'reply',
    question,
    messageIds: asking.map(({ id }) => id),
  } as const;
  if (question === '')
    return { text: getPhrases(settings.locale, '').noAnswer, sources: [], answered: false };
  const asked = { organizationId: conversation.organization_id, applicationId: conversation.application_id };
  const { answer } = await answerAndRecord(call, base, () =>
    answerQuestion(service, asked, question, { history, latest }),
  );
  return answer;
}

/**
 * What a visitor has written since the last answer, or last of all, as one question; and what was said before it.
 * @param messages oldest first
 */
export function extractQuestion(messages: readonly MessageWithSender[]): {
  question: string;
  /** The last message alone. */
  latest: string;
  history: Turn[];
  asked: readonly MessageWithSender[];
} {
  const lastOwn = messages.findLastIndex(({ sender_role }) => sender_role === 'visitor');
  let first = lastOwn;
  while (first > 0 && messages[first - 1]?.sender_role === 'visitor') first -= 1;
  const asked = lastOwn < 0 ? [] : messages.slice(first, lastOwn + 1);
  // The newest words count most where not all fit.
  const question = asked.map(plainText).join('\n').slice(-assistantLimits.question).toWellFormed().trim();
  const history = messages
    .filter((_, at) => at < first || at > lastOwn)
    .map((message): Turn => ({ role: turnRole(message), text: plainText(message) }));
  const newest = messages[lastOwn];
  const latest =
    newest === undefined ? '' : plainText(newest).slice(0, assistantLimits.question).toWellFormed();
  return { question, latest, history, asked };
}

const plainText = ({ content_text, content }: MessageWithSender): string => content_text ?? content;

function turnRole({ sender_role }: MessageWithSender): Turn['role'] {
  return sender_role === 'visitor' ? 'visitor' : sender_role === 'operator' ? 'staff' : 'assistant';
}

/**
 * Says an operator's text in another way; a model may add nothing to it.
 * @throws ServiceError bad_request, plan_limit, ai_model_required, rate_limit_exceeded, ai_unavailable
 */
export async function rewriteText(
  call: MemberCall,
  input: Input<'staff.ai.rewrite'>,
): Promise<Output<'staff.ai.rewrite'>> {
  const { service, actor } = call;
  const { text, style, language } = input;
  if (style === 'translate' && language === undefined)
    throw badField('language', 'is needed: the language to translate into');
  await service.engine.store.read((tx) => assertPlanHasAi(tx, actor.organizationId));
  const { model } = service;
  if (model === null)
    throw new ServiceError(
      'ai_model_required',
      'Rewriting needs a language model: set DESKBELL_AI_URL and DESKBELL_AI_MODEL on the server.',
    );
  await limitAiQuestion(service, actor.organizationId, `m:${actor.memberId}`);
  const base = {
    organizationId: actor.organizationId,
    applicationId: null,
    door: 'rewrite',
    question: text,
  } as const;
  const { answer } = await answerAndRecord(call, base, async () => {
    const prompt = rewritePrompt(text, style, language);
    const modelCall = { asker: actor.organizationId, signal: new AbortController().signal };
    for (let tries = 0; tries < 2; tries++) {
      const rewritten = await checkRewrite(await model.complete(prompt, modelCall), text);
      if (rewritten !== null)
        return {
          answer: { text: rewritten, sources: [], answered: true },
          outcome: 'answered',
          model: model.name,
        };
    }
    throw new ModelError('the model did not keep to the text');
  });
  return answer;
}

/**
 * An admin's trial: the answer that a visitor would get, with the passages and how well they fit. Whatever `ai.mode`
 * is, so that it can be tried before it is switched on.
 * @throws ServiceError not_found, plan_limit, rate_limit_exceeded, ai_unavailable
 */
export async function askKnowledge(
  call: OwnerCall,
  input: Input<'knowledge.ask'>,
): Promise<Output<'knowledge.ask'>> {
  const { service, actor } = call;
  const application = await service.engine.store.read(async (tx) => {
    const row = await accessApplication(tx, actor, input.applicationId);
    await assertPlanHasAi(tx, row.organization_id);
    return row;
  });
  const organizationId = application.organization_id;
  if (actor.kind === 'member') await limitAiQuestion(service, organizationId, `m:${actor.memberId}`);
  const base = {
    organizationId,
    applicationId: application.id,
    door: 'ask',
    question: input.question,
  } as const;
  const { answer, retrieved, model } = await answerAndRecord(call, base, () =>
    answerQuestion(service, { organizationId, applicationId: application.id }, input.question),
  );
  const { passages, coverage, confidence } = retrieved;
  return { ...answer, passages: [...passages], coverage, confidence, thresholds, model };
}

async function getApplicationSettings(tx: ReadTx, applicationId: string): Promise<ApplicationSettings> {
  const row = await tx.repositories.applications.byId(applicationId);
  if (row === undefined) throw notFound('application');
  return readSettings(row);
}

/** `off`: it says nothing; `assist`: what it is asked for; `auto`: it answers visitors by itself, too. */
function assertAssistantEnabled({ ai }: ApplicationSettings): void {
  if (ai.mode === 'off')
    throw new ServiceError(
      'forbidden',
      'The assistant of this application is off: an admin sets ai.mode to assist or auto.',
    );
}

type LogBase = Pick<
  AiRecord,
  'organizationId' | 'applicationId' | 'visitorKey' | 'conversationId' | 'mode' | 'question'
> & {
  readonly door: AiLogEntry['door'];
  /** The messages that the question is made of. */
  readonly messageIds?: readonly string[];
};

interface LoggedAnswer {
  readonly answer: AiAnswer;
  readonly outcome: AnswerResult['outcome'];
  readonly model: string | null;
}

/** Runs what answers, writes down how it ended, and turns a model's failure into what a caller is told. */
async function answerAndRecord<T extends LoggedAnswer>(
  call: Call,
  base: LogBase,
  work: () => Promise<T>,
): Promise<T> {
  const { service, actor } = call;
  const { clock } = service.engine;
  const began = clock.monotonic();
  const write = (entry: Pick<AiRecord, 'answer' | 'outcome' | 'model' | 'sources'>): Promise<boolean> =>
    recordUnlessDeleted(call, base.messageIds ?? [], {
      ...base,
      actor: actorLabel(actor),
      ...entry,
      durationMs: clock.monotonic() - began,
    });
  try {
    const said = await work();
    await write({
      answer: said.answer.text,
      outcome: said.outcome,
      sources: said.answer.sources,
      model: said.model,
    });
    return said;
  } catch (error) {
    if (!(error instanceof ModelError)) throw error;
    await write({ answer: null, outcome: 'failed', model: service.model?.name ?? null });
    if (error instanceof ModelBusyError)
      throw new ServiceError(
        'unavailable',
        'Too many questions wait for the language model. Try again in a few seconds.',
      );
    throw new ServiceError(
      'ai_unavailable',
      'The language model gave no usable answer. Try again, or answer without it.',
    );
  }
}

function recordScope(call: Call, { organizationId, conversationId }: AiRecord): Scope {
  if (conversationId !== undefined && conversationId !== null)
    return scopeOfConversation({ id: conversationId, organization_id: organizationId });
  if (call.actor.kind === 'visitor') return visitorScope({ ...call, actor: call.actor });
  return { organization: organizationId, part: 'row:ai_log' };
}

/** A conversation, a visitor or a message may be gone by now: then nothing of it is to be kept either. */
function recordUnlessDeleted(call: Call, messageIds: readonly string[], entry: AiRecord): Promise<boolean> {
  const { service } = call;
  return service.engine.store.write(recordScope(call, entry), async (tx) => {
    if (entry.conversationId !== undefined && entry.conversationId !== null) {
      if ((await tx.repositories.conversations.byId(entry.conversationId)) === undefined) return false;
    } else if (entry.visitorKey !== undefined && entry.visitorKey !== null) {
      if (!(await tx.repositories.visitors.has(entry.visitorKey))) return false;
    }
    for (const id of messageIds) {
      const message = await tx.repositories.messages.byId(id);
      if (message === undefined || message.deleted_at !== null)
        return recordAi(tx, service, { ...entry, question: '', answer: null, sources: [] });
    }
    return recordAi(tx, service, entry);
  });
}
