// The rules of the assistant's operations: a visitor's question, an operator's draft and rewriting, an admin's trial.
// Each checks plan, setting and budget, answers outside of any transaction, and writes down what was asked and said.
import type { AiAnswer, AiLogEntry } from '../../protocol/assistant.ts';
import { assistantLimits } from '../../protocol/codes.ts';
import type { ApplicationSettings } from '../../protocol/entities.ts';
import type { Input, Output } from '../../protocol/operations.ts';
import type { MessageWithSender } from '../../engine/rows.ts';
import { accessApplication, accessConversation, ensureVisitor, findVisitor } from '../access.ts';
import { actorLabel } from '../actor.ts';
import { recordAi, type AiRecord } from './log.ts';
import { checkRewriting } from './answer-check.ts';
import { assertAi } from '../applications.ts';
import { answerQuestion, type Answered } from './assistant.ts';
import { phrasesFor } from './phrases.ts';
import { rewritePrompt, type Turn } from './prompts.ts';
import { badField, Failure, notFound } from '../failure.ts';
import { ModelFailed } from './language-model.ts';
import { countQuestion } from '../limiting.ts';
import type { Call, MemberCall, OwnerCall, ReadTx, Service, VisitorCall } from '../service.ts';
import { readSettings } from '../settings.ts';

/** Messages of a conversation that a draft is made from. */
const mostMessages = 30;

/**
 * Answers a visitor's question.
 * @throws Failure plan_limit, forbidden (ai.mode off), rate_limit_exceeded, ai_unavailable
 */
export async function answerVisitor(call: VisitorCall, input: Input<'ai.answer'>): Promise<Output<'ai.answer'>> {
  const { service, actor } = call;
  const { organizationId, applicationId } = actor;
  const settings = await service.engine.store.read(async (tx) => {
    await assertAi(tx, organizationId);
    return applicationSettings(tx, applicationId);
  });
  assertOn(settings);
  countQuestion(service, organizationId, `v:${applicationId}:${actor.mode}:${actor.visitorId}`);
  // What is asked belongs to somebody, so that it is handed out and erased with them.
  const visitor =
    (await service.engine.store.read((tx) => findVisitor(tx, actor))) ??
    (await service.engine.store.write((tx) => ensureVisitor(tx, call))).row;
  const base = {
    organizationId,
    applicationId,
    visitorKey: visitor.id,
    mode: actor.mode,
    door: 'answer',
    question: input.question,
  } as const;
  const { answer } = await answerAndRecord(call, base, () => answerQuestion(service, actor, input.question));
  return answer;
}

/**
 * A draft of an answer from the whole conversation but its internal notes, which a visitor must never see a word of.
 * @throws Failure not_found, plan_limit, forbidden (ai.mode off), rate_limit_exceeded, ai_unavailable
 */
export async function draftReply(call: MemberCall, input: Input<'staff.ai.reply'>): Promise<Output<'staff.ai.reply'>> {
  const { service, actor } = call;
  const { conversation, settings, messages } = await service.engine.store.read(async (tx) => {
    const found = await accessConversation(tx, actor, input.conversationId);
    await assertAi(tx, found.organization_id);
    const newest = await tx.tables.messages.page({ conversationId: found.id, notes: false, order: 'desc', limit: mostMessages, offset: 0 });
    return { conversation: found, settings: await applicationSettings(tx, found.application_id), messages: newest.toReversed() };
  });
  assertOn(settings);
  countQuestion(service, actor.organizationId, `m:${actor.memberId}`);
  const { question, latest, history, asked: asking } = questionOf(messages);
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
  if (question === '') return { text: phrasesFor(settings.locale, '').noAnswer, sources: [], answered: false };
  const asked = { organizationId: conversation.organization_id, applicationId: conversation.application_id };
  const { answer } = await answerAndRecord(call, base, () => answerQuestion(service, asked, question, { history, latest }));
  return answer;
}

/**
 * What a visitor has written since the last answer, or last of all, as one question; and what was said before it.
 * @param messages oldest first
 */
export function questionOf(messages: readonly MessageWithSender[]): {
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
    .map((message): Turn => ({ who: whoOf(message), text: plainText(message) }));
  const newest = messages[lastOwn];
  const latest = newest === undefined ? '' : plainText(newest).slice(0, assistantLimits.question).toWellFormed();
  return { question, latest, history, asked };
}

const plainText = ({ content_text, content }: MessageWithSender): string => content_text ?? content;

function whoOf({ sender_role }: MessageWithSender): Turn['who'] {
  return sender_role === 'visitor' ? 'visitor' : sender_role === 'operator' ? 'staff' : 'assistant';
}

/**
 * Says an operator's text in another way; a model may add nothing to it.
 * @throws Failure bad_request, plan_limit, ai_model_required, rate_limit_exceeded, ai_unavailable
 */
export async function rewriteText(call: MemberCall, input: Input<'staff.ai.rewrite'>): Promise<Output<'staff.ai.rewrite'>> {
  const { service, actor } = call;
  const { text, style, language } = input;
  if (style === 'translate' && language === undefined) throw badField('language', 'is needed: the language to translate into');
  await service.engine.store.read((tx) => assertAi(tx, actor.organizationId));
  const { model } = service;
  if (model === null)
    throw new Failure('ai_model_required', 'Rewriting needs a language model: set DESKBELL_AI_URL and DESKBELL_AI_MODEL on the server.');
  countQuestion(service, actor.organizationId, `m:${actor.memberId}`);
  const base = { organizationId: actor.organizationId, applicationId: null, door: 'rewrite', question: text } as const;
  const { answer } = await answerAndRecord(call, base, async () => {
    const prompt = rewritePrompt(text, style, language);
    for (let tries = 0; tries < 2; tries++) {
      const rewritten = await checkRewriting(await model.complete(prompt, new AbortController().signal), text);
      if (rewritten !== null) return { answer: { text: rewritten, sources: [], answered: true }, outcome: 'answered', model: model.name };
    }
    throw new ModelFailed('the model did not keep to the text');
  });
  return answer;
}

/**
 * An admin's trial: the answer that a visitor would get, with the passages and how well they fit. Whatever `ai.mode`
 * is, so that it can be tried before it is switched on.
 * @throws Failure not_found, plan_limit, rate_limit_exceeded, ai_unavailable
 */
export async function askKnowledge(call: OwnerCall, input: Input<'knowledge.ask'>): Promise<Output<'knowledge.ask'>> {
  const { service, actor } = call;
  const application = await service.engine.store.read(async (tx) => {
    const row = await accessApplication(tx, actor, input.applicationId);
    await assertAi(tx, row.organization_id);
    return row;
  });
  const organizationId = application.organization_id;
  if (actor.kind === 'member') countQuestion(service, organizationId, `m:${actor.memberId}`);
  const base = { organizationId, applicationId: application.id, door: 'ask', question: input.question } as const;
  const { answer, retrieved, threshold, model } = await answerAndRecord(call, base, () =>
    answerQuestion(service, { organizationId, applicationId: application.id }, input.question),
  );
  return { ...answer, passages: [...retrieved.passages], coverage: retrieved.coverage, threshold, model };
}

async function applicationSettings(tx: ReadTx, applicationId: string): Promise<ApplicationSettings> {
  const row = await tx.tables.applications.byId(applicationId);
  if (row === undefined) throw notFound('application');
  return readSettings(row);
}

/** `off`: it says nothing; `assist`: what it is asked for; `auto`: it answers visitors by itself, too. */
function assertOn({ ai }: ApplicationSettings): void {
  if (ai.mode === 'off')
    throw new Failure('forbidden', 'The assistant of this application is off: an admin sets ai.mode to assist or auto.');
}

type Base = Pick<AiRecord, 'organizationId' | 'applicationId' | 'visitorKey' | 'conversationId' | 'mode' | 'question'> & {
  readonly door: AiLogEntry['door'];
  /** The messages that the question is made of. */
  readonly messageIds?: readonly string[];
};

interface Said {
  readonly answer: AiAnswer;
  readonly outcome: Answered['outcome'];
  readonly model: string | null;
}

/** Runs what answers, writes down how it ended, and turns a model's failure into what a caller is told. */
async function answerAndRecord<T extends Said>(call: Call, base: Base, work: () => Promise<T>): Promise<T> {
  const { service, actor } = call;
  const { clock } = service.engine;
  const began = clock.monotonic();
  const write = (entry: Pick<AiRecord, 'answer' | 'outcome' | 'model' | 'sources'>): Promise<boolean> =>
    record(service, base.messageIds ?? [], { ...base, actor: actorLabel(actor), ...entry, durationMs: clock.monotonic() - began });
  try {
    const said = await work();
    await write({ answer: said.answer.text, outcome: said.outcome, sources: said.answer.sources, model: said.model });
    return said;
  } catch (error) {
    if (!(error instanceof ModelFailed)) throw error;
    await write({ answer: null, outcome: 'failed', model: service.model?.name ?? null });
    throw new Failure('ai_unavailable', 'The language model gave no usable answer. Try again, or answer without it.');
  }
}

/** A conversation, a visitor or a message may be gone by now: then nothing of it is to be kept either. */
function record(service: Service, messageIds: readonly string[], entry: AiRecord): Promise<boolean> {
  return service.engine.store.write(async (tx) => {
    if (entry.conversationId !== undefined && entry.conversationId !== null) {
      if ((await tx.tables.conversations.byId(entry.conversationId)) === undefined) return false;
    } else if (entry.visitorKey !== undefined && entry.visitorKey !== null) {
      if (!(await tx.tables.visitors.has(entry.visitorKey))) return false;
    }
    for (const id of messageIds) {
      const message = await tx.tables.messages.byId(id);
      if (message === undefined || message.deleted_at !== null)
        return recordAi(tx, service, { ...entry, question: '', answer: null, sources: [] });
    }
    return recordAi(tx, service, entry);
  });
}
