// How the database finds the conversations of the queue's filters, and the messages of a conversation: what one tag, one
// visitor or one conversation names must not cost a walk through all that there are. Looks at plans, not at time.
import Database from 'better-sqlite3';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ConversationFilter, QueueStretch } from '../../src/engine/repositories/conversations.ts';
import { migrate } from '../../src/engine/sqlite/migrate.ts';
import { createRunner } from '../../src/engine/sqlite/runner.ts';
import { preparedQueries, type Runner } from '../../src/engine/sqlite/query.ts';
import { createConversationsRepository } from '../../src/engine/sqlite/repositories/conversations.ts';
import { createMessagesRepository } from '../../src/engine/sqlite/repositories/messages.ts';
import { createSubstringsRepository } from '../../src/engine/sqlite/repositories/substrings.ts';
import { createRepositories } from '../../src/engine/sqlite/repositories/repositories.ts';

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

/** FTS5 takes whole numbers alone for the bounds of its rows, and the driver hands over others. */
function expectWholeBounds(text: string): void {
  const bounds = [...text.matchAll(/"rowid" [<>]=? (.{5})/g)].map(([, bound]) => bound);
  expect(bounds, text).toEqual(['cast(', 'cast(']);
}

describe('the search for words', () => {
  it('begins where it is told to, in place of reading all entries up to there', () => {
    createRepositories(createRunner(db));
    const texts = preparedQueries.map(({ compiled }) => compiled.sql);
    const [words = '', ...others] = texts.filter((text) => text.includes('search match '));
    expect(others).toEqual([]);
    expectWholeBounds(words);
  });
});

describe('the search for a part of a subject, a name or an address', () => {
  it('reaches the conversations that it names by their places and by their ids', async () => {
    const plans: string[] = [];
    const real = createRunner(db);
    const repository = createConversationsRepository({
      ...real,
      all: async (query) => {
        plans.push(planOf(query.sql));
        return [];
      },
    });
    const filter: ConversationFilter = {
      organizationId: 'o',
      text: 'some',
      matching: [],
      assignedTo: undefined,
    };
    await repository.queueOfStretch(filter, { places: [1, 2] }, 'queue', 20);
    expect(plans[0]).toMatch(/SEARCH c USING INTEGER PRIMARY KEY \(rowid=\?\)/);
    await repository.queueOfStretch(filter, { ids: ['a', 'b'] }, 'queue', 20);
    expect(plans[1]).toMatch(/SEARCH c USING INDEX sqlite_autoindex_conversations_1 \(id=\?\)/);
    for (const plan of plans) expect(plan).not.toMatch(/SCAN [cv]\b/);
  });

  it('asks the index within its bounds, and a visitor’s conversations by the visitor', async () => {
    const texts: string[] = [];
    const real = createRunner(db);
    const substrings = createSubstringsRepository({
      ...real,
      all: (query) => {
        texts.push(query.sql);
        return Promise.resolve([]);
      },
    });
    for (const source of ['subjects', 'visitors'] as const)
      await substrings.matches(source, 'a', { after: 0, span: 10, most: 5 });
    const [subjects = '', visitors = ''] = texts;
    for (const text of texts) expectWholeBounds(text);
    await substrings.placesOfVisitors([1, 2]);
    // Bounds that FTS5 takes: below, and above.
    expect(planOf(subjects)).toMatch(/SCAN search_subjects VIRTUAL TABLE INDEX \d+:M\d+><$/m);
    expect(planOf(visitors)).toMatch(/SCAN search_visitors VIRTUAL TABLE INDEX \d+:M\d+><$/m);
    const [, , conversations = ''] = texts;
    expect(planOf(conversations)).toMatch(/SEARCH v USING INTEGER PRIMARY KEY \(rowid=\?\)/);
    expect(planOf(conversations)).toMatch(
      /SEARCH c USING COVERING INDEX conversations_by_visitor \(visitor_key=\?\)/,
    );
  });
});

function planOf(text: string): string {
  return db
    .prepare<unknown[], { detail: string }>(`explain query plan ${text}`)
    .all(...Array.from(text.matchAll(/\?/g), () => 1))
    .map(({ detail }) => detail)
    .join('\n');
}

describe('the deliveries of webhooks', () => {
  it('that are next are found among those that wait, by time and by turn', () => {
    createRepositories(createRunner(db));
    const waiting = preparedQueries
      .map(({ compiled }) => compiled.sql)
      .filter((text) => /^select .* from "webhook_deliveries" .*"status" = 'waiting'/.test(text));
    expect(
      waiting.map((text) =>
        planOf(text)
          .split('\n')
          .find((step) => step.startsWith('SEARCH')),
      ),
    ).toEqual([
      'SEARCH webhook_deliveries USING INDEX webhook_deliveries_in_turn (conversation_id=? AND webhook_id=?)',
      'SEARCH webhook_deliveries USING INDEX webhook_deliveries_due (webhook_id=? AND next_attempt_at>?)',
      'SEARCH webhook_deliveries USING COVERING INDEX webhook_deliveries_due (webhook_id=? AND next_attempt_at>?)',
      'SEARCH webhook_deliveries USING COVERING INDEX webhook_deliveries_due (webhook_id=?)',
    ]);
  });
});

describe('the conversations that members have', () => {
  it('are found by the member, and members who may have to give them back among the members', () => {
    createRepositories(createRunner(db));
    const plans = preparedQueries
      .map(({ compiled }) => compiled.sql)
      .filter((text) => text.startsWith('select') && text.includes("status = 'active'"))
      .map(planOf);
    expect(plans).toHaveLength(3);
    for (const plan of plans) {
      expect(plan).toMatch(
        /SEARCH conversations (EXISTS )?USING (COVERING )?INDEX conversations_held \(organization_id=\? AND assigned_to=\?\)/,
      );
      expect(plan).not.toContain('SCAN conversations');
    }
    expect(
      plans.filter((plan) => /(SCAN|SEARCH) m USING (COVERING )?INDEX members_disabled/.test(plan)),
    ).toHaveLength(1);
  });
});

describe('what is kept of a visitor', () => {
  it('is found part by part, by the visitor and in its order', () => {
    createRepositories(createRunner(db));
    const parts = preparedQueries
      .map(({ compiled }) => compiled.sql)
      .filter((text) => text.includes('(created_at > '));
    const searches = parts.map((text) => /^SEARCH .*$/m.exec(planOf(text))?.[0] ?? '');
    expect(searches.toSorted()).toEqual([
      'SEARCH ai_log USING INDEX ai_log_by_visitor (visitor_key=? AND created_at>?)',
      'SEARCH audit USING INDEX audit_of_visitors (subject=? AND created_at>?)',
      'SEARCH conversations USING INDEX conversations_by_visitor (visitor_key=? AND created_at>?)',
    ]);
    // Of those made in one millisecond alone.
    expect(parts.map(planOf).join('\n')).not.toContain('B-TREE FOR ORDER BY');
  });
});

describe('the messages of a conversation', () => {
  /** Texts of all queries that read them: the prepared ones, and those that are built for each call. */
  async function queries(): Promise<string[]> {
    const real = createRunner(db);
    // So that all of them are declared.
    createRepositories(real);
    const built: string[] = [];
    const note: Runner['all'] = (query) => {
      built.push(query.sql);
      return Promise.resolve([]);
    };
    const messages = createMessagesRepository({ ...real, all: note });
    const page = { conversationId: 'c', notes: false, limit: 20, offset: 40 };
    for (const order of ['asc', 'desc'] as const)
      for (const bounds of [{}, { beforeSeq: 5 }, { afterSeq: 5 }])
        await messages.page({ ...page, ...bounds, order });
    const conversations = createConversationsRepository({
      ...real,
      all: note,
      first: async (query) => void built.push(query.sql),
    });
    await conversations.queuePage('o', ['c'], 'reader');
    await conversations.visitorAttributes('o', ['c']);
    await conversations.queueItem('o', 'c', 'reader');
    const prepared = preparedQueries.map(({ compiled }) => compiled.sql);
    return [...prepared, ...built].filter((text) => text.includes('ordered_messages'));
  }

  it('are found by their places and, where they have none yet, by their number', async () => {
    const texts = await queries();
    expect(texts.length).toBeGreaterThan(18);
    for (const text of texts) {
      const plan = planOf(text);
      expect(plan, text).toMatch(/SEARCH p USING PRIMARY KEY \(conversation=\?/);
      expect(plan, text).toMatch(/SEARCH m USING INTEGER PRIMARY KEY \(rowid>\?\)/);
      expect(plan, text).not.toMatch(/SCAN [nmp]\b|AUTOMATIC/);
    }
  });

  it('that were changed or mailed are found by the index of those alone', async () => {
    createRepositories(createRunner(db));
    const changed = preparedQueries
      .map(({ compiled }) => compiled.sql)
      .filter((text) => text.includes('m.changed_seq > m.seq or'));
    const [staff, visitor] = changed
      .map((text) => planOf(text))
      .toSorted((one, other) => other.length - one.length);
    expect(visitor).toMatch(
      /SEARCH m USING INDEX messages_changed \(conversation_id=\? AND changed_seq>\?\)/,
    );
    expect(staff).toMatch(/SEARCH m USING INDEX messages_changed \(conversation_id=\?\)/);
    expect(changed).toHaveLength(2);
  });

  it('are read in their order as far as they are asked for, not sorted as a whole', async () => {
    const texts = (await queries())
      .filter((text) => /order by .*seq"?(?: asc| desc)? limit/.test(text))
      // Of what was changed the ids alone are put in order.
      .filter((text) => !text.includes('m.changed_seq > m.seq'));
    expect(texts.length).toBeGreaterThan(8);
    for (const text of texts) expect(planOf(text), text).toContain('MERGE (UNION ALL)');
  });
});
