// Answers that events may have overtaken: what was heard while an answer was on its way holds after it, too.

export interface Answers {
  /**
   * Takes an answer in, and then once more what was heard since it was asked for.
   * @throws what the question throws
   */
  ask<T>(question: Promise<T>, takeIn: (answer: T) => void): Promise<T>;
  /** Applies what was heard: now, and after each answer that is on its way. @param change may run several times */
  apply(change: () => void): void;
}

/** For one kind of things that are asked for and heard of. */
export function createAnswers(): Answers {
  /** Of each question under way: what was heard since. */
  const underWay = new Set<(() => void)[]>();
  return {
    ask: async (question, takeIn) => {
      const heard: (() => void)[] = [];
      underWay.add(heard);
      try {
        const answer = await question;
        takeIn(answer);
        for (const again of heard) again();
        return answer;
      } finally {
        underWay.delete(heard);
      }
    },
    apply: (change) => {
      for (const heard of underWay) heard.push(change);
      change();
    },
  };
}
