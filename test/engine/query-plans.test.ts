// How the database finds the conversations of the queue's filters: what one tag or one visitor names must not cost a walk
// through all of an organization's conversations. Looks at plans, not at time.
import Database from 'better-sqlite3';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ConversationFilter, QueueStretch } from '../../src/engine/repositories/conversations.ts';
import { migrate } from '../../src/engine/sqlite/migrate.ts';
import { createRunner } from '../../src/engine/sqlite/connection.ts';
import type { Runner } from '../../src/engine/sqlite/query.ts';
import { createConversationsRepository } from '../../src/engine/sqlite/repositories/conversations.ts';

let db: Database.Database;

beforeAll(async () => {
  db = new Database(':memory:');
  await migrate(db, () => Promise.resolve());
});
afterAll(() => db.close());

/** By which index each of the queue's queries reaches the conversations that it chooses among. */
async function indexesOf(
  filter: Partial<ConversationFilter>,
  stretch: QueueStretch,
): Promise<(string | undefined)[]> {
  const found: (string | undefined)[] = [];
  const real = createRunner(db);
  const look: Runner['first'] = (query, parameters = query.parameters) => {
    const plan = db
      .prepare<unknown[], { detail: string }>(`explain query plan ${query.sql}`)
      .all(...parameters);
    const steps = plan.map(
      ({ detail }) => /^S\w+ c USING (?:COVERING )?INDEX (conversations_\w+)/.exec(detail)?.[1],
    );
    found.push(steps.findLast((step) => step !== undefined));
    return real.first(query, parameters);
  };
  const repository = createConversationsRepository({
    ...real,
    first: look,
    all: async (query, parameters) => {
      await look(query, parameters);
      return [];
    },
  });
  const whole: ConversationFilter = {
    organizationId: 'o',
    mode: 'live',
    matching: [],
    assignedTo: undefined,
    ...filter,
  };
  await repository.queueOfStretch(whole, stretch, 'queue', 20);
  return found;
}

describe('the queue', () => {
  it('reaches one visitor’s conversations by the visitor', async () => {
    const visitorId = '3f2504e0-4f89-41d3-9a0c-0305e82c3301';
    expect(await indexesOf({ visitorId }, { ofVisitor: true })).toEqual(['conversations_by_visitor']);
  });

  it('walks an organization’s where nothing else leads there', async () => {
    const stretch = { mode: 'live', status: 'closed', after: 0, through: 500 } as const;
    expect(await indexesOf({}, stretch)).toEqual(['conversations_by_queue']);
  });
});
