// Answers visitors of pending conversations by itself, where an application's `ai.mode` is `auto`. What is due is read
// from the rows when an answer begins and once more in the transaction that posts it. So neither an operator who was
// faster, nor a restart, nor a second look lets two answer.
import type { CommitNotice } from '../../engine/engine.ts';
import type { UnansweredCursor } from '../../engine/repositories/ai-log.ts';
import type { ConversationWithVisitor, MessageWithSender } from '../../engine/rows.ts';
import type { AnswerSource } from '../../protocol/assistant.ts';
import type { AiChoice } from '../../protocol/entities.ts';
import type { ApplicationSettings } from '../../protocol/application-settings.ts';
import { markdownLink } from '../../text/markdown.ts';
import { createFairLimit } from '../../net/fair-limit.ts';
import { limitAiQuestion } from '../auth/rate-limits.ts';
import type { MessageContent } from '../chat/append-message.ts';
import { ServiceError } from '../core/errors.ts';
import { scopeOfConversation } from '../core/scopes.ts';
import { JobLoop } from '../core/job-loop.ts';
import type { ReadTx, Service, Tx } from '../service.ts';
import { answerChoice, answerQuestion } from './assistant.ts';
import { isStopword } from './knowledge/retrieval/stopwords.ts';
import { terms } from './knowledge/retrieval/terms.ts';
import { ModelError } from './language-model.ts';
import { recordAi } from './log.ts';
import {
  autoReplyRecord,
  getAutoReplySettings,
  handOffToHuman,
  markdownContent,
  postAssistantMessage,
} from './messages.ts';
import { extractQuestion } from './operations.ts';
import { asksForHuman, getPhrases, isCourtesy, type Phrases } from './phrases.ts';
import type { Turn } from './prompts.ts';

/** Conversations that are answered at once, those of one organization and of all; the others wait in turn. */
const turns = { maxRunningPerKey: 4, maxRunning: 16, maxWaiting: Infinity, maxWaitingPerKey: Infinity };
/** Older questions wait for a person: a heap of late answers after a long stop helps no visitor. */
const maxQuestionAgeMs = 15 * 60_000;
const pageSize = 500;
/** Where so many organizations have changed their settings, all are looked at. */
const maxLookedAtAlone = 50;
const maxMessages = 20;
const retryDelayMs = 5_000;
/** A question waits for a limit that is free again so soon after it was written: a rush of a second leaves no one to a person. */
const maxLimitWaitMs = 10_000;
/** Between two tries of a question that waits for a limit, at least. */
const limitRetryMs = 1_000;

/** What one conversation waits for. */
interface PendingQuestion {
  readonly conversation: ConversationWithVisitor;
  readonly settings: ApplicationSettings;
  /** The visitor's newest message. */
  readonly message: MessageWithSender;
  readonly question: string;
  readonly latest: string;
  /** The passage that the visitor chose; null: they ask in words. */
  readonly choice: string | null;
  readonly history: readonly Turn[];
}

/** How an answer ended, ready to be posted. */
interface GeneratedReply {
  readonly text: string;
  readonly content: MessageContent;
  readonly outcome: 'answered' | 'offered' | 'refused' | 'person' | 'failed';
  readonly sources: readonly AnswerSource[];
  readonly choices?: readonly AiChoice[] | undefined;
  readonly model: string | null;
  readonly durationMs: number;
}

/**
 * Begins to answer, for all organizations.
 * @param onError called with errors of the job itself, which goes on
 * @returns stops it: answers under way are aborted, and given after the next start
 */
export function startAutoReply(service: Service, onError: (error: unknown) => void): () => Promise<void> {
  const autoReply = new AutoReply(service, onError);
  return () => autoReply.stop();
}

class AutoReply {
  readonly #service: Service;
  readonly #onError: (error: unknown) => void;
  readonly #stop = new AbortController();
  readonly #inTurn = createFairLimit(turns);
  /** Conversations that may have a question, and whose. */
  readonly #queue = new Map<string, string>();
  /** Conversations that are being answered, with how to abort that. */
  readonly #answering = new Map<string, AbortController>();
  readonly #replies = new Set<Promise<void>>();
  readonly #scan: JobLoop;
  readonly #unsubscribe: () => void;
  /** Organizations with an application that answers by itself, as of the last scan. */
  readonly #organizations = new Set<string>();
  /** Whose settings may have changed since: a look at the applications of all is not for each change of one. */
  #changed: Set<string> | 'all' = 'all';

  constructor(service: Service, onError: (error: unknown) => void) {
    const { store, clock } = service.engine;
    this.#service = service;
    this.#onError = onError;
    this.#scan = new JobLoop({
      clock,
      run: () => this.#findPending(),
      retryMs: retryDelayMs,
      onError,
    });
    this.#unsubscribe = store.subscribe((notice) => this.#onCommit(notice));
    this.#scan.wake();
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    this.#unsubscribe();
    await this.#scan.stop();
    await Promise.all(this.#replies);
  }

  #onCommit({ events, configuration }: CommitNotice): void {
    // It may have been a setting, or a conversation that came with an import.
    if (configuration !== null) {
      this.#noteChanged(configuration);
      this.#scan.wake();
    }
    for (const { type, audience, organization_id, conversation_id } of events) {
      if (!this.#organizations.has(organization_id)) continue;
      // An operator is there: what the model may still answer is not wanted.
      if (type === 'conversation:accepted' || type === 'conversation:resolved')
        this.#answering.get(conversation_id)?.abort();
      else if ((type === 'message:new' || type === 'message:edited') && audience === 'room')
        this.#enqueue(organization_id, conversation_id);
    }
  }

  #noteChanged(organizations: ReadonlySet<string> | 'all'): void {
    if (organizations === 'all' || this.#changed === 'all') this.#changed = 'all';
    else for (const id of organizations) this.#changed.add(id);
    if (this.#changed !== 'all' && this.#changed.size > maxLookedAtAlone) this.#changed = 'all';
  }

  /** Finds the questions that came before the start, or before a setting was changed. */
  async #findPending(): Promise<void> {
    const changed = this.#changed;
    this.#changed = new Set();
    try {
      if (changed === 'all') await this.#findPendingOf();
      else for (const id of changed) await this.#findPendingOf(id);
    } catch (error) {
      this.#noteChanged(changed);
      throw error;
    }
  }

  /** @param organizationId left out: all */
  async #findPendingOf(organizationId?: string): Promise<void> {
    const { store, clock } = this.#service.engine;
    const automatic = await store.read(({ repositories }) =>
      repositories.aiLog.automaticOrganizations(organizationId),
    );
    if (organizationId === undefined) this.#organizations.clear();
    else this.#organizations.delete(organizationId);
    for (const id of automatic) this.#organizations.add(id);
    if (automatic.length === 0) return;
    // Page by page: those that were answered already are among them.
    let after: UnansweredCursor = { updated_at: clock.now() - maxQuestionAgeMs, id: '' };
    while (!this.#stop.signal.aborted) {
      const from = after;
      const page = await store.read(({ repositories }) =>
        repositories.aiLog.unanswered(from, pageSize, organizationId),
      );
      for (const { id, organization_id } of page) this.#enqueue(organization_id, id);
      const last = page.at(-1);
      if (last === undefined || page.length < pageSize) return;
      after = last;
    }
  }

  #enqueue(organizationId: string, conversationId: string): void {
    if (this.#queue.has(conversationId)) return;
    this.#queue.set(conversationId, organizationId);
    if (!this.#answering.has(conversationId)) this.#begin(organizationId, conversationId);
  }

  #begin(organizationId: string, id: string): void {
    const reply = this.#inTurn(organizationId, () => this.#answer(id), this.#stop.signal)
      .catch((error: unknown) => {
        if (this.#stop.signal.aborted) return;
        this.#onError(error);
        // What could not be read or written is tried again, but not at once.
        this.#service.engine.clock.after(retryDelayMs, () => this.#enqueue(organizationId, id));
      })
      .finally(() => {
        this.#replies.delete(reply);
        // Written to while it was being answered.
        if (this.#queue.has(id) && !this.#stop.signal.aborted) this.#begin(organizationId, id);
      });
    this.#replies.add(reply);
  }

  async #answer(id: string): Promise<void> {
    this.#queue.delete(id);
    const abort = new AbortController();
    this.#answering.set(id, abort);
    try {
      await this.#reply(id, AbortSignal.any([this.#stop.signal, abort.signal]));
    } finally {
      this.#answering.delete(id);
    }
  }

  async #reply(conversationId: string, signal: AbortSignal): Promise<void> {
    const service = this.#service;
    const { store } = service.engine;
    const pending = await store.read((tx) => findPendingQuestion(tx, service, conversationId));
    if (pending === null) return;
    const { conversation, message } = pending;
    if (asksForHuman(message.content_text ?? message.content)) {
      await store.write(scopeOfConversation(conversation), async (tx) => {
        const current = await findPendingQuestion(tx, service, conversationId);
        if (current?.message.id === message.id)
          await handOffToHuman(tx, service, current.conversation, current.message);
      });
      return;
    }
    const limited = await findLimit(service, pending);
    if (limited !== null && this.#waitsFor(limited, pending)) return;
    const reply =
      limited === null ? await this.#generate(pending, signal) : await failedReply(pending, null, 0);
    // Aborted by the stop: the next start answers.
    if (this.#stop.signal.aborted && reply.outcome === 'failed') return;
    await store.write(scopeOfConversation(conversation), (tx) => postReply(tx, service, pending, reply));
  }

  /** Comes back to a question whose limit is free again soon. @returns false: it is not, and a person is to answer */
  #waitsFor(retryAfterMs: number, { conversation, message }: PendingQuestion): boolean {
    const { clock } = this.#service.engine;
    const waitMs = Math.max(retryAfterMs, limitRetryMs);
    if (clock.now() + waitMs - message.created_at > maxLimitWaitMs) return false;
    clock.after(waitMs, () => this.#enqueue(conversation.organization_id, conversation.id));
    return true;
  }

  /** Has the visitor see that it is at work. */
  async #generate(pending: PendingQuestion, signal: AbortSignal): Promise<GeneratedReply> {
    this.#showTyping(pending, true);
    try {
      return await generateReply(this.#service, pending, signal);
    } finally {
      this.#showTyping(pending, false);
    }
  }

  #showTyping({ conversation, settings }: PendingQuestion, active: boolean): void {
    this.#service.engine.signals.send({
      type: 'typing',
      organizationId: conversation.organization_id,
      conversationId: conversation.id,
      userId: conversation.application_id,
      userName: settings.ai.name,
      senderRole: 'assistant',
      active,
    });
  }
}

/** The question that a conversation waits with, as its rows are now; null: none. */
async function findPendingQuestion(
  tx: ReadTx,
  { engine: { clock } }: Service,
  conversationId: string,
): Promise<PendingQuestion | null> {
  const conversation = await tx.repositories.conversations.byId(conversationId);
  if (
    conversation === undefined ||
    conversation.status !== 'pending' ||
    conversation.assistant_muted_at !== null
  )
    return null;
  const settings = await getAutoReplySettings(tx, conversation.application_id);
  if (settings === null) return null;
  const newest = await tx.repositories.messages.page({
    conversationId,
    notes: false,
    order: 'desc',
    limit: maxMessages,
    offset: 0,
  });
  const [message] = newest;
  if (
    message === undefined ||
    message.sender_role !== 'visitor' ||
    message.created_at < clock.now() - maxQuestionAgeMs
  )
    return null;
  const { question, latest, history } = extractQuestion(newest.toReversed());
  // "Hello", "thanks": there is no question yet. An answer that finds nothing would hand over too early.
  const { choice } = message;
  if (choice === null && (terms(question).every(isStopword) || isCourtesy(latest))) return null;
  return { conversation, settings, message, question, latest, choice, history };
}

/** Counts a question. @returns null; or, where it is one too many, when the limit is free again, ms from now */
async function findLimit(service: Service, { conversation }: PendingQuestion): Promise<number | null> {
  const { organization_id: organizationId, application_id: applicationId, mode, visitor_id } = conversation;
  try {
    await limitAiQuestion(service, organizationId, `v:${applicationId}:${mode}:${visitor_id}`);
    return null;
  } catch (error) {
    if (!(error instanceof ServiceError) || error.context.limit === undefined) throw error;
    return error.context.limit.retryAfterMs;
  }
}

/** What is said where no answer could be made. */
async function failedReply(
  { settings, question }: PendingQuestion,
  model: string | null,
  durationMs: number,
): Promise<GeneratedReply> {
  const phrases = getPhrases(settings.locale, question);
  const text = `${phrases.failed} ${phrases.person}`;
  return {
    text,
    content: await markdownContent(text),
    outcome: 'failed',
    sources: [],
    model,
    durationMs,
  };
}

/** Finds the answer, or the sentence in its place. An error of the model is an outcome, not an exception. */
async function generateReply(
  service: Service,
  pending: PendingQuestion,
  signal: AbortSignal,
): Promise<GeneratedReply> {
  const { clock } = service.engine;
  const { conversation, settings, question, latest, history } = pending;
  const { organization_id: organizationId, application_id: applicationId } = conversation;
  const began = clock.monotonic();
  const phrases = getPhrases(settings.locale, question);
  try {
    const chosen =
      pending.choice === null
        ? null
        : await answerChoice(service, applicationId, pending.choice, lastQuestion(history) ?? question);
    const { answer, outcome, model } =
      chosen ??
      (await answerQuestion(
        service,
        { organizationId, applicationId },
        question,
        { history, latest },
        signal,
      ));
    const isOver = outcome === 'refused' || outcome === 'person';
    const text = isOver ? `${answer.text} ${phrases.person}` : answer.text;
    const content = await markdownContent(text + sourcesLine(answer.sources, phrases));
    return {
      text,
      content,
      outcome,
      sources: answer.sources,
      choices: answer.choices,
      model,
      durationMs: clock.monotonic() - began,
    };
  } catch (error) {
    if (!(error instanceof ModelError)) throw error;
    return failedReply(pending, service.model?.name ?? null, clock.monotonic() - began);
  }
}

/** What the visitor had asked before they chose. */
function lastQuestion(history: readonly Turn[]): string | undefined {
  return history.findLast(({ role }) => role === 'visitor')?.text;
}

function sourcesLine(sources: readonly AnswerSource[], { source }: Phrases): string {
  return sources.length === 0
    ? ''
    : `\n\n${source}: ${sources.map(({ title, url }) => markdownLink(title, url)).join(' · ')}`;
}

/** Posts the reply if the question is still the same and still open: all rows are read again in this transaction. */
async function postReply(
  tx: Tx,
  service: Service,
  pending: PendingQuestion,
  { text, content, outcome, sources, choices, model, durationMs }: GeneratedReply,
): Promise<void> {
  const { message } = pending;
  const conversation = await tx.repositories.conversations.byId(pending.conversation.id);
  // Erased or removed since: nothing of it may be kept.
  if (conversation === undefined) return;
  const now = await findPendingQuestion(tx, service, conversation.id);
  const isWanted =
    now !== null && now.message.id === message.id && now.message.changed_seq === message.changed_seq;
  const asked = await tx.repositories.messages.byId(message.id);
  // Edited since: it is another question now, which is answered next.
  const isEdited = now?.message.id === message.id && !isWanted;
  if (!isEdited) {
    const isDeleted = asked === undefined || asked.deleted_at !== null;
    await recordAi(tx, service, {
      ...autoReplyRecord(conversation, message.id),
      question: isDeleted ? '' : pending.question,
      answer: isWanted ? text : null,
      outcome: isWanted ? outcome : 'dropped',
      sources: isWanted ? sources : [],
      model,
      durationMs,
    });
  }
  if (!isWanted) return;
  await postAssistantMessage(
    tx,
    service,
    now.conversation,
    now.settings.ai.name,
    message.id,
    content,
    choices,
  );
  if (pending.choice !== null && outcome === 'answered')
    await tx.repositories.aiLog.setChosen(conversation.id, pending.choice);
  if (outcome !== 'answered' && outcome !== 'offered')
    await tx.repositories.conversations.muteAssistant(conversation.id, service.engine.clock.now());
}
