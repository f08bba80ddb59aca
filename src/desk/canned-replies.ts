// The canned replies as the desk knows them: when they are asked for, and for how long an answer does.
import type { CannedReply } from '../protocol/entities.ts';
import type { DeskContext } from './desk-context.ts';
import { editableText } from './lexical-markdown.ts';

/** Canned replies that are older are asked for again when their list is opened: a colleague may have changed one. */
const repliesKeptMs = 60_000;

export interface Replies {
  load(): Promise<void>;
  forget(): void;
}

/** The canned replies, asked for when they are wanted. Their texts are kept as one types them. */
export function createReplies(context: DeskContext): Replies {
  const { client, store } = context;
  let loading: Promise<void> | null = null;
  let askedAt = 0;
  /** Answers of an earlier round are dropped. */
  let round = 0;

  async function ask(): Promise<readonly CannedReply[]> {
    const all: CannedReply[] = [];
    for (;;) {
      const { cannedReplies, total } = await client.call<{ cannedReplies: CannedReply[]; total: number }>(
        'GET',
        `/canned-replies?limit=100&offset=${all.length}`,
      );
      all.push(
        ...cannedReplies.map((reply) => ({
          ...reply,
          content: editableText(reply),
          contentFormat: 'plain' as const,
        })),
      );
      if (cannedReplies.length === 0 || all.length >= total || all.length >= 1_000) return all;
    }
  }

  async function take(): Promise<void> {
    round += 1;
    const asked = round;
    askedAt = context.now();
    try {
      const cannedReplies = await ask();
      if (asked === round) store.set({ cannedReplies });
    } catch (error) {
      // Where there are older ones, they do; they are asked for again in a while.
      if (asked === round && store.get().cannedReplies === null) context.report(error);
    } finally {
      if (asked === round) loading = null;
    }
  }

  return {
    load: () => {
      const isFresh = store.get().cannedReplies !== null && context.now() - askedAt < repliesKeptMs;
      if (!isFresh) loading ??= take();
      return loading ?? Promise.resolve();
    },
    forget: () => {
      round += 1;
      loading = null;
      store.set({ cannedReplies: null });
    },
  };
}
