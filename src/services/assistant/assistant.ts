// A question → passages → an answer with its sources, or the word that there is none. With a model or without one, and
// never more than the documents of one application say. Network calls only outside of transactions.
import type { AiAnswer } from '../../protocol/assistant.ts';
import { checkAnswer, type CheckedAnswer } from './answer-check.ts';
import { getPhrases, type Phrases } from './phrases.ts';
import { answerPrompt, selectPassages, type Turn } from './prompts.ts';
import { listChoices, listSources, offerMarkdown, quotePassages } from './extractive-answer.ts';
import { ModelError, type LanguageModel, type ModelCall } from './language-model.ts';
import {
  findPassage,
  isSurer,
  retrieve,
  thresholds,
  type Retrieved,
} from './knowledge/retrieval/retrieval.ts';
import type { Service } from '../service.ts';

export interface AnswerScope {
  readonly organizationId: string;
  readonly applicationId: string;
}

export interface AnswerContext {
  /** What was said before, oldest first. A model sees it; nothing is looked up by it. */
  readonly history?: readonly Turn[];
  /** The newest part of the question: asked alone where the whole of it finds nothing. */
  readonly latest?: string;
}

export interface AnswerResult {
  /** `answered` is false also for a question back: `outcome` tells them apart. */
  readonly answer: AiAnswer;
  readonly retrieved: Retrieved;
  /**
   * `answered`: an answer or a model's question back; `offered`: choices; `refused`: the documents do not say;
   * `person`: the model hands over.
   */
  readonly outcome: 'answered' | 'offered' | 'refused' | 'person';
  /** The model that was asked; null: none was. */
  readonly model: string | null;
}

const maxPassages = 8;
/**
 * From this probability on, that one of the first passages answers, a model is asked. It can say itself that they
 * answer nothing, and what it says is held against them, so it may see more than could be offered unread: of the
 * questions of `npm run evaluate` (the half for choosing) 90 of 93 with an
 * answer reach it, and 29 of 62 without one.
 */
export const modelThreshold = 0.12;

/**
 * Answers from the documents of one application.
 * @param signal withdraws the question from the model
 * @throws ModelError when a model is configured and gives no usable answer
 */
export async function answerQuestion(
  service: Service,
  { organizationId, applicationId }: AnswerScope,
  whole: string,
  { history = [], latest = whole }: AnswerContext = {},
  signal: AbortSignal = new AbortController().signal,
): Promise<AnswerResult> {
  const { model } = service;
  let question = whole;
  let retrieved = await retrieve(service, applicationId, question, maxPassages);
  if (latest !== whole && retrieved.confidence.answer < thresholds.answer) {
    const alone = await retrieve(service, applicationId, latest, maxPassages);
    if (isSurer(alone.confidence, retrieved.confidence)) [question, retrieved] = [latest, alone];
  }
  const locale = (await service.configCache.application(applicationId))?.settings.locale ?? null;
  const phrases = getPhrases(locale, question);
  if (model === null) return { ...quoteOrOffer(retrieved, question, phrases), retrieved, model: null };
  const nothing: AiAnswer = { text: phrases.noAnswer, sources: [], answered: false };
  if (retrieved.passages.length === 0 || retrieved.confidence.choices < modelThreshold)
    return { answer: nothing, retrieved, outcome: 'refused', model: null };
  const checked = await askModel(model, question, retrieved, history, {
    asker: organizationId,
    signal,
  });
  const { name } = model;
  switch (checked.action) {
    case 'answer':
      return {
        answer: { text: checked.text, sources: listSources(checked.cited), answered: true },
        retrieved,
        outcome: 'answered',
        model: name,
      };
    case 'clarify':
      return {
        answer: { text: checked.text, sources: [], answered: false },
        retrieved,
        outcome: 'answered',
        model: name,
      };
    case 'handover':
      return { answer: nothing, retrieved, outcome: 'person', model: name };
  }
}

/**
 * Answers with the passage that a visitor chose, quoted around what they had asked.
 * @returns null: the application has no such passage, or no longer
 */
export async function answerChoice(
  service: Service,
  applicationId: string,
  passageId: string,
  question: string,
): Promise<AnswerResult | null> {
  const passage = await findPassage(service, applicationId, passageId);
  if (passage === null) return null;
  const { text, quoted } = quotePassages([passage], question);
  return {
    answer: { text, sources: listSources(quoted), answered: true },
    // The visitor said it.
    retrieved: { passages: [passage], coverage: passage.coverage, confidence: { answer: 1, choices: 1 } },
    outcome: 'answered',
    model: null,
  };
}

/** Without a model: the best passage where it is sure enough, else titles to choose from, else that there is none. */
function quoteOrOffer(
  { passages, confidence }: Retrieved,
  question: string,
  phrases: Phrases,
): Pick<AnswerResult, 'answer' | 'outcome'> {
  if (passages.length > 0 && confidence.answer >= thresholds.answer) {
    const { text, quoted } = quotePassages(passages, question);
    return { answer: { text, sources: listSources(quoted), answered: true }, outcome: 'answered' };
  }
  if (passages.length > 0 && confidence.choices >= thresholds.choices) {
    const choices = listChoices(passages);
    return {
      answer: { text: offerMarkdown(choices, phrases), sources: [], answered: false, choices },
      outcome: 'offered',
    };
  }
  return { answer: { text: phrases.noAnswer, sources: [], answered: false }, outcome: 'refused' };
}

/** Asks, and once more where the answer has not the agreed shape. @throws ModelError */
async function askModel(
  model: LanguageModel,
  question: string,
  retrieved: Retrieved,
  history: readonly Turn[],
  call: ModelCall,
): Promise<CheckedAnswer> {
  const passages = selectPassages(retrieved.passages);
  const prompt = answerPrompt(question, passages, history);
  for (let tries = 0; tries < 2; tries++) {
    const checked = await checkAnswer(await model.complete(prompt, call), passages, question);
    if (checked !== null) return checked;
  }
  throw new ModelError('the model did not keep to the form of an answer');
}
