// A question → passages → an answer with its sources, or the word that there is none. With a model or without one, and
// never more than the documents of one application say. Network calls only outside of transactions.
import type { AiAnswer } from '../../protocol/assistant.ts';
import { checkAnswer, type CheckedAnswer } from './answer-check.ts';
import { getPhrases } from './phrases.ts';
import { answerPrompt, selectPassages, type Turn } from './prompts.ts';
import { quotePassages, listSources } from './extractive-answer.ts';
import { ModelError, type LanguageModel } from './language-model.ts';
import { retrieve, type Retrieved } from './knowledge/retrieval/retrieval.ts';
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
  /** The coverage from which an answer was looked for. */
  readonly threshold: number;
  /** `answered`: an answer or a question back; `refused`: the documents do not say; `person`: the model hands over. */
  readonly outcome: 'answered' | 'refused' | 'person';
  /** The model that was asked; null: none was. */
  readonly model: string | null;
}

const maxPassages = 8;
/**
 * The coverage from which a model is asked. It can say itself that the passages answer nothing, and what it says is
 * held against them, so it may see more than could be quoted unread: of the questions of `npm run evaluate` (the half
 * for choosing) 89 of 93 with an answer reach it, and 26 of 62 without one.
 */
export const modelCoverageThreshold = 0.3;

/**
 * Answers from the documents of one application.
 * @param signal withdraws the question from the model
 * @throws ModelFailed when a model is configured and gives no usable answer
 */
export async function answerQuestion(
  service: Service,
  { applicationId }: AnswerScope,
  whole: string,
  { history = [], latest = whole }: AnswerContext = {},
  signal: AbortSignal = new AbortController().signal,
): Promise<AnswerResult> {
  const { model } = service;
  let question = whole;
  let retrieved = await retrieve(service, applicationId, question, maxPassages);
  const threshold = model === null ? retrieved.threshold : modelCoverageThreshold;
  if (retrieved.coverage < threshold && latest !== whole) {
    question = latest;
    retrieved = await retrieve(service, applicationId, question, maxPassages);
  }
  const locale = (await service.configCache.application(applicationId))?.settings.locale ?? null;
  const { noAnswer } = getPhrases(locale, question);
  const nothing: AiAnswer = { text: noAnswer, sources: [], answered: false };
  const found = { retrieved, threshold };
  if (retrieved.passages.length === 0 || retrieved.coverage < threshold)
    return { answer: nothing, ...found, outcome: 'refused', model: null };
  if (model === null) {
    const { text, quoted } = quotePassages(retrieved.passages, question, threshold);
    return {
      answer: { text, sources: listSources(quoted), answered: true },
      ...found,
      outcome: 'answered',
      model: null,
    };
  }
  const checked = await askModel(model, question, retrieved, history, signal);
  const { name } = model;
  switch (checked.action) {
    case 'answer':
      return {
        answer: { text: checked.text, sources: listSources(checked.cited), answered: true },
        ...found,
        outcome: 'answered',
        model: name,
      };
    case 'clarify':
      return {
        answer: { text: checked.text, sources: [], answered: false },
        ...found,
        outcome: 'answered',
        model: name,
      };
    case 'handover':
      return { answer: nothing, ...found, outcome: 'person', model: name };
  }
}

/** Asks, and once more where the answer has not the agreed shape. @throws ModelFailed */
async function askModel(
  model: LanguageModel,
  question: string,
  retrieved: Retrieved,
  history: readonly Turn[],
  signal: AbortSignal,
): Promise<CheckedAnswer> {
  const passages = selectPassages(retrieved.passages);
  const prompt = answerPrompt(question, passages, history);
  for (let tries = 0; tries < 2; tries++) {
    const checked = await checkAnswer(await model.complete(prompt, signal), passages, question);
    if (checked !== null) return checked;
  }
  throw new ModelError('the model did not keep to the form of an answer');
}
