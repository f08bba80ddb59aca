// Answers visitors of pending conversations by itself, where an application's `ai.mode` is `auto`. Looks at the rows, not
// at what it was told: what is due is decided when it begins and once more in the transaction that posts, so that a
// person who was faster, a restart or a second look never lets two answer. Never talks over anybody.
import type { CommitNotice } from '../../engine/engine.ts';
import type { ConversationWithVisitor, MessageWithSender } from '../../engine/rows.ts';
import type { AnswerSource } from '../../protocol/assistant.ts';
import type { ApplicationSettings } from '../../protocol/entities.ts';
import { markdownLink } from '../../text/markdown.ts';
import { recordAi } from './log.ts';
import { answerQuestion } from './assistant.ts';
import { questionOf } from './questions.ts';
import {
  automaticRecord,
  automaticSettings,
  leaveToPerson,
  markdownContent,
  postAssistantMessage,
  type AssistantContent,
} from './messages.ts';
import { asksForPerson, isCourtesy, phrasesFor, type Phrases } from './phrases.ts';
import type { Turn } from './prompts.ts';
import { Failure } from '../failure.ts';
import { isFunctionWord } from '../knowledge/retrieval/function-words.ts';
import { ModelFailed } from './language-model.ts';
import { countQuestion } from '../limiting.ts';
import type { ReadTx, Service, Tx } from '../service.ts';
import { terms } from '../knowledge/retrieval/terms.ts';

/** Tells a conversation's room that the assistant writes, or no longer does. */
export type ShowTyping = (conversationId: string, who: { userId: string; userName: string }, active: boolean) => void;

export interface AutoOptions {
  /** Hears of what went wrong inside; it goes on by itself. */
  readonly onFault: (error: unknown) => void;
  readonly showTyping?: ShowTyping | undefined;
}

/** Conversations that are answered at once. */
const mostAtOnce = 4;
/** Whoever has waited longer than this waits for a person: after a long stop nobody wants late answers in a heap. */
const freshMs = 15 * 60_000;
const mostFound = 500;
const messagesSeen = 20;
const afterFaultMs = 5_000;

/** What one conversation waits for. */
interface Due {
  readonly conversation: ConversationWithVisitor;
  readonly settings: ApplicationSettings;
  /** The visitor's newest message. */
  readonly message: MessageWithSender;
  readonly question: string;
  readonly latest: string;
  readonly history: readonly Turn[];
}

/** How an answer ended, ready to be posted. */
interface Result {
  readonly text: string;
  readonly content: AssistantContent;
  readonly outcome: 'answered' | 'refused' | 'person' | 'failed';
  readonly sources: readonly AnswerSource[];
  readonly model: string | null;
  readonly durationMs: number;
}

/**
 * Begins to answer, for all organizations.
 * @returns how to stop: what is under way is given up, and answered after the next start
 */
export function startAnswering(service: Service, { onFault, showTyping }: AutoOptions): () => Promise<void> {
  const { store, clock } = service.engine;
  const stop = new AbortController();
  /** Organizations with an application that answers by itself, as of the last look. */
  let organizations: ReadonlySet<string> = new Set();
  const waiting = new Set<string>();
  /** Those under way; how to give one up. */
  const busy = new Map<string, AbortController>();
  const underWay = new Set<Promise<void>>();
  let looking: Promise<void> = Promise.resolve();
  let cancelRetry = (): void => undefined;

  function onCommit({ events, configuration }: CommitNotice): void {
    // No events: another process committed, which may have been a restored conversation or a setting.
    if (configuration || events.length === 0) lookAround();
    for (const { type, audience, organization_id, conversation_id } of events) {
      if (!organizations.has(organization_id)) continue;
      // A person is there: what the model may still say is not wanted.
      if (type === 'conversation:accepted' || type === 'conversation:resolved') busy.get(conversation_id)?.abort();
      else if ((type === 'message:new' || type === 'message:edited') && audience === 'room') look(conversation_id);
    }
  }

  /** Finds what came while nobody looked: before the start, or before the setting. */
  function lookAround(): void {
    looking = looking
      .then(async () => {
        if (stop.signal.aborted) return;
        const found = await store.read(async ({ tables: { aiLog } }) => {
          const automatic = new Set(await aiLog.automaticOrganizations());
          return { automatic, ids: automatic.size === 0 ? [] : await aiLog.unanswered(clock.now() - freshMs, mostFound) };
        });
        organizations = found.automatic;
        for (const id of found.ids) look(id);
      })
      .catch((error: unknown) => {
        onFault(error);
        cancelRetry();
        cancelRetry = clock.after(afterFaultMs, lookAround);
      });
  }

  function look(conversationId: string): void {
    waiting.add(conversationId);
    begin();
  }

  function begin(): void {
    for (const id of waiting) {
      if (stop.signal.aborted || busy.size >= mostAtOnce) return;
      if (busy.has(id)) continue;
      waiting.delete(id);
      const givenUp = new AbortController();
      busy.set(id, givenUp);
      const done = answer(id, AbortSignal.any([stop.signal, givenUp.signal]))
        .catch((error: unknown) => {
          onFault(error);
          // What could not be read or written is tried again, but not at once.
          clock.after(afterFaultMs, () => look(id));
        })
        .finally(() => {
          busy.delete(id);
          underWay.delete(done);
          begin();
        });
      underWay.add(done);
    }
  }

  async function answer(conversationId: string, signal: AbortSignal): Promise<void> {
    const due = await store.read((tx) => findDue(tx, service, conversationId));
    if (due === null) return;
    if (asksForPerson(due.message.content_text ?? due.message.content)) {
      await store.write(async (tx) => {
        const now = await findDue(tx, service, conversationId);
        if (now?.message.id === due.message.id) await leaveToPerson(tx, service, now.conversation, now.message);
      });
      return;
    }
    const who = { userId: due.conversation.application_id, userName: due.settings.ai.name };
    showTyping?.(conversationId, who, true);
    const result = await think(service, due, signal).finally(() => showTyping?.(conversationId, who, false));
    // Stopped in the middle: the next start answers.
    if (stop.signal.aborted && result.outcome === 'failed') return;
    await store.write((tx) => post(tx, service, due, result));
  }

  const unsubscribe = store.subscribe(onCommit);
  lookAround();

  return async () => {
    stop.abort();
    unsubscribe();
    cancelRetry();
    await looking;
    await Promise.all(underWay);
  };
}

/** What there is to answer in a conversation, as its rows are now; null: nothing. */
async function findDue(tx: ReadTx, { engine: { clock } }: Service, conversationId: string): Promise<Due | null> {
  const conversation = await tx.tables.conversations.byId(conversationId);
  if (conversation === undefined || conversation.status !== 'pending' || conversation.assistant_muted_at !== null) return null;
  const settings = await automaticSettings(tx, conversation.application_id);
  if (settings === null) return null;
  const newest = await tx.tables.messages.page({ conversationId, notes: false, order: 'desc', limit: messagesSeen, offset: 0 });
  const [message] = newest;
  if (message === undefined || message.sender_role !== 'visitor' || message.created_at < clock.now() - freshMs) return null;
  const { question, latest, history } = questionOf(newest.toReversed());
  // "Hello", "thanks": nothing was asked yet, and saying so would end it before it began.
  if (terms(question).every(isFunctionWord) || isCourtesy(latest)) return null;
  return { conversation, settings, message, question, latest, history };
}

/** Finds the answer, or what is said instead of one. Never throws for the model's sake. */
async function think(service: Service, due: Due, signal: AbortSignal): Promise<Result> {
  const { clock } = service.engine;
  const { conversation, settings, question, latest, history } = due;
  const { organization_id: organizationId, application_id: applicationId, mode, visitor_id } = conversation;
  const began = clock.monotonic();
  const phrases = phrasesFor(settings.locale, question);
  try {
    countQuestion(service, organizationId, `v:${applicationId}:${mode}:${visitor_id}`);
    const { answer, outcome, model } = await answerQuestion(
      service,
      { organizationId, applicationId },
      question,
      { history, latest },
      signal,
    );
    const text = outcome === 'answered' ? answer.text : `${answer.text} ${phrases.person}`;
    const content = await markdownContent(text + sourcesLine(answer.sources, phrases));
    return { text, content, outcome, sources: answer.sources, model, durationMs: clock.monotonic() - began };
  } catch (error) {
    const isLimited = error instanceof Failure && error.code === 'rate_limit_exceeded';
    if (!isLimited && !(error instanceof ModelFailed)) throw error;
    const text = `${phrases.failed} ${phrases.person}`;
    const model = isLimited ? null : (service.model?.name ?? null);
    return { text, content: await markdownContent(text), outcome: 'failed', sources: [], model, durationMs: clock.monotonic() - began };
  }
}

function sourcesLine(sources: readonly AnswerSource[], { source }: Phrases): string {
  return sources.length === 0 ? '' : `\n\n${source}: ${sources.map(({ title, url }) => markdownLink(title, url)).join(' · ')}`;
}

/** Posts what was found, if it is still wanted: everything is read once more, in the transaction that writes. */
async function post(tx: Tx, service: Service, due: Due, { text, content, outcome, sources, model, durationMs }: Result): Promise<void> {
  const { message } = due;
  const conversation = await tx.tables.conversations.byId(due.conversation.id);
  // Erased or removed meanwhile: nothing of it may be kept.
  if (conversation === undefined) return;
  const now = await findDue(tx, service, conversation.id);
  const isWanted = now !== null && now.message.id === message.id && now.message.changed_seq === message.changed_seq;
  const asked = await tx.tables.messages.byId(message.id);
  // Edited meanwhile: it is another question now, which is looked at next.
  const isEdited = now?.message.id === message.id && !isWanted;
  if (!isEdited) {
    const isGone = asked === undefined || asked.deleted_at !== null;
    await recordAi(tx, service, {
      ...automaticRecord(conversation, message.id),
      question: isGone ? '' : due.question,
      answer: isWanted ? text : null,
      outcome: isWanted ? outcome : 'dropped',
      sources: isWanted ? sources : [],
      model,
      durationMs,
    });
  }
  if (!isWanted) return;
  await postAssistantMessage(tx, service, now.conversation, now.settings.ai.name, message.id, content);
  if (outcome !== 'answered') await tx.tables.conversations.muteAssistant(conversation.id, service.engine.clock.now());
}
