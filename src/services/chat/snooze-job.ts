// Wakes snoozed conversations when their time has come. The times are rows, so a restart forgets none; an update that
// matches only a snooze that is over makes sure that each wakes once.
import { noActor } from '../core/actor.ts';
import { scopeOfConversation } from '../core/scopes.ts';
import { JobLoop } from '../core/job-loop.ts';
import type { Service, Tx } from '../service.ts';
import { emitChanged } from './conversation-events.ts';

const pageSize = 100;
/** Looked at least so often while one is snoozed: a clock that is set forward, or a machine that slept, moves no timer. */
const maxSleepMs = 10_000;
const retryMs = 1_000;

/**
 * Begins to wake conversations.
 * @param onError called when a run failed; it is tried again
 * @returns stops it
 */
export function startSnoozeJob(service: Service, onError: (error: unknown) => void): () => Promise<void> {
  const { clock, store } = service.engine;
  let cancel = (): void => undefined;
  const loop = new JobLoop({
    clock,
    retryMs,
    onError,
    run: async () => {
      cancel();
      const next = await wakeDue(service);
      cancel =
        next === null
          ? () => undefined
          : clock.after(Math.min(next - clock.now(), maxSleepMs), () => loop.wake());
    },
  });
  const unsubscribe = store.subscribe(({ events, configuration }) => {
    // An import that is complete changes configuration: some of what came with it may be snoozed.
    if (configuration !== null || events.some(({ type }) => type === 'conversation:changed')) loop.wake();
  });
  loop.wake();
  return async () => {
    unsubscribe();
    await loop.stop();
    cancel();
  };
}

/** Wakes what is due. @returns when the next one is, ms; null: none is snoozed */
export async function wakeDue(service: Service): Promise<number | null> {
  const { clock, store } = service.engine;
  for (;;) {
    const now = clock.now();
    const { due, first } = await store.read(async ({ repositories: { conversations } }) => ({
      due: await conversations.dueSnoozes(now, pageSize),
      first: await conversations.nextSnooze(),
    }));
    // Woken by what has nothing to do with it, as nearly always: one read is enough.
    if (due.length === 0 && (first === null || first > clock.now())) return first;
    await Promise.all(
      due.map((row) => store.write(scopeOfConversation(row), (tx) => wakeOne(tx, row.id, now))),
    );
    if (due.length === pageSize) continue;
    const next = await store.read(({ repositories }) => repositories.conversations.nextSnooze());
    // It may have become due while the others were woken.
    if (next === null || next > clock.now()) return next;
  }
}

async function wakeOne(tx: Tx, id: string, now: number): Promise<void> {
  const conversation = await tx.repositories.conversations.byId(id);
  if (conversation === undefined) return;
  if ((await tx.repositories.conversations.wake(id, now)) > 0)
    await emitChanged(tx, conversation, noActor, { snoozed_until: null });
}
