// What the assistant learns from the operator: questions without an answer, a reply kept as a passage, a title kept with a
// question. Nothing is kept before a person has read and confirmed it; the service points out what may be of a person.
import type { KnowledgeGap } from '../protocol/assistant.ts';
import { assistantLimits } from '../protocol/codes.ts';
import { asSdkError } from '../sdk/error.ts';
import type { StaffMessage } from '../sdk/staff-types.ts';
import { isAvailable, targetConversation, targetMessage } from './available-commands.ts';
import { beginKeep, endKeep, refuseKeep } from './composer-changes.ts';
import type { ComposerController } from './composer-controller.ts';
import type { Keeping } from './composer.ts';
import type { DeskContext } from './desk-context.ts';
import type { GapChoice } from './desk-state.ts';
import { editableText } from './lexical-markdown.ts';
import type { Navigation } from './navigation.ts';
import { shownMessages } from './shown-messages.ts';

export { stillMeant } from './late-commands.ts';

export interface LearningParts {
  readonly composer: ComposerController;
  readonly navigation: Navigation;
}

/** Shows the questions without an answer, and keeps answers to them. */
export class Learning {
  readonly #context: DeskContext;
  readonly #parts: LearningParts;

  constructor(context: DeskContext, parts: LearningParts) {
    this.#context = context;
    this.#parts = parts;
    parts.composer.keep = (text, keeping) => this.#keepReply(text, keeping);
  }

  /** Lists the questions that the documents of the conversation's application did not answer. */
  async showGaps(): Promise<void> {
    const applicationId = this.#application('gaps');
    if (applicationId === null) return;
    this.#context.store.set({ gaps: [] });
    this.#parts.navigation.openMenu('gaps', { loading: true });
    try {
      this.#context.store.set({ gaps: await this.#load(applicationId) });
    } catch (error) {
      this.#context.report(error);
    }
    const { dialog } = this.#context.state;
    if (dialog?.kind === 'menu' && dialog.menu === 'gaps')
      this.#context.store.set({ dialog: { ...dialog, loading: false } });
  }

  /** A question was chosen: with a title it is kept with that one, else an answer is written to it. */
  choose({ gap, applicationId, withTitle }: GapChoice): void {
    const { navigation, composer } = this.#parts;
    if (!withTitle || gap.chosen === null) {
      if (navigation.openTarget('composer'))
        beginKeep(composer, `${gap.question}\n\n`, { applicationId, settles: gap.entries, refused: null });
      return;
    }
    this.#confirmTitle({ gap, applicationId, withTitle }, '');
  }

  /** Keeps the selected or the last answer of the operator, under the visitor's question before it. */
  beginKeep(): void {
    const applicationId = this.#application('keep');
    if (applicationId === null) return;
    const { open } = this.#context.state;
    const messages = open === null ? [] : shownMessages(open);
    const reply = targetMessage(this.#context.state, true);
    const at = reply === undefined ? -1 : messages.indexOf(reply);
    const question = messages.slice(0, Math.max(0, at)).findLast(isQuestion);
    if (reply === undefined || question === undefined || !isAnswer(reply))
      return this.#context.flash(this.#context.say('answerFirst'), 'bad');
    const title = titleOf(question);
    this.#parts.navigation.setFocus('composer');
    beginKeep(this.#parts.composer, `${title}\n\n${editableText(reply)}`, {
      applicationId,
      settles: null,
      refused: null,
    });
    return this.#context.flash(this.#context.say('makeItFit'));
  }

  /** Keeps a question with the passage whose title visitors chose. @param reviewed what it may name of a person was read */
  async keepTitle({ gap, applicationId, withTitle }: GapChoice, reviewed: boolean): Promise<void> {
    const body = { passageId: gap.chosen?.id, question: gap.question, reviewed, settles: gap.entries };
    try {
      await this.#context.client.call('POST', `/admin/applications/${applicationId}/questions`, body);
      this.#context.flash(this.#context.say('kept'), 'good');
    } catch (error) {
      if (!isPersonal(error)) return this.#context.report(error);
      this.#confirmTitle({ gap, applicationId, withTitle }, `${this.#personal(error)} `);
    }
  }

  #confirmTitle(choice: GapChoice, before: string): void {
    const { question, chosen } = choice.gap;
    this.#parts.navigation.ask(
      `${before}${this.#context.say('askKeep', { question, title: chosen?.title ?? '' })}`,
      this.#context.say('yesKeep'),
      {
        command: 'keepTitle',
        choice,
        reviewed: before !== '',
      },
    );
  }

  /** The composer's text: the first line is the question, the rest its answer. */
  async #keepReply(text: string, keeping: Keeping): Promise<void> {
    const { composer } = this.#parts;
    const [question = '', ...rest] = text.trim().split('\n');
    const reply = rest.join('\n').trim();
    if (reply === '') return this.#context.flash(this.#context.say('firstLineIsQuestion'), 'bad');
    const { applicationId } = keeping;
    try {
      const settles = keeping.settles ?? (await this.#entriesOf(applicationId, question));
      await this.#context.client.call('POST', `/admin/applications/${applicationId}/replies`, {
        question: question.trim(),
        reply,
        settles,
        // The same text once more: what was pointed out in it was read.
        reviewed: keeping.refused === text,
      });
      endKeep(composer, keeping);
      this.#context.flash(this.#context.say('kept'), 'good');
    } catch (error) {
      if (!isPersonal(error)) return this.#context.report(error);
      refuseKeep(composer, keeping, text);
      this.#context.flash(`${this.#personal(error)} ${this.#context.say('changeOrKeep')}`, 'bad');
    }
  }

  #personal(error: unknown): string {
    const found = /may name a person \((.*)\)/s.exec(asSdkError(error).message)?.[1] ?? '';
    return this.#context.say('mayNamePerson', { found });
  }

  /** The gap that was meant is the one with the same words. */
  async #entriesOf(applicationId: string, question: string): Promise<readonly string[]> {
    const gaps = await this.#load(applicationId);
    return gaps.find(({ gap }) => sameWords(gap.question, question))?.gap.entries ?? [];
  }

  async #load(applicationId: string): Promise<readonly GapChoice[]> {
    const { gaps } = await this.#context.client.call<{ gaps: KnowledgeGap[] }>(
      'GET',
      `/admin/applications/${applicationId}/gaps?limit=100`,
    );
    return gaps.flatMap((gap) =>
      (gap.chosen === null ? [false] : [true, false]).map((withTitle) => ({ gap, applicationId, withTitle })),
    );
  }

  #application(command: 'gaps' | 'keep'): string | null {
    const item = targetConversation(this.#context.state);
    if (item !== undefined && isAvailable(this.#context.state, command)) return item.application.id;
    this.#context.flash(
      this.#context.say(item === undefined ? 'chooseConversation' : 'onlyAdminTeaches'),
      'bad',
    );
    return null;
  }
}

const isQuestion = (message: StaffMessage): boolean => message.senderRole === 'visitor';
const isAnswer = (message: StaffMessage): boolean => message.own && message.internal !== true;
const titleOf = (message: StaffMessage): string =>
  editableText(message).replace(/\s+/g, ' ').trim().slice(0, assistantLimits.title).toWellFormed();
const sameWords = (one: string, other: string): boolean =>
  one.trim().toLowerCase() === other.trim().toLowerCase();

/** Whether the service points out what may be of a person. */
function isPersonal(error: unknown): boolean {
  return /may name a person/.test(asSdkError(error).message);
}
