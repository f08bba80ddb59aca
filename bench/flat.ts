// Owns: whether what is asked for all day costs the same in a small and in a large database: a send, a page of history,
// the count of unread messages, the queue's first pages, a search, catching up, and a start of the server. Both databases are open in this process and asked in turn,
// so a busy machine slows both. As many conversations are open in the large one: what grows is what lies behind them.
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { readConfig } from '../src/config.ts';
import { openService } from '../src/open-service.ts';
import { sizeLimits } from '../src/protocol/codes.ts';
import type { OperationName, Output, RawInput } from '../src/protocol/operations.ts';
import type { Actor } from '../src/services/core/actor.ts';
import { backfill, resync } from '../src/services/chat/room-sync.ts';
import { execute } from '../src/services/execute.ts';
import type { ParticipantCall } from '../src/services/service.ts';
import { placeMessages } from './place-messages.ts';
import { median, startUp } from './program.ts';
import { unlimited } from './protocol.ts';
import { signedIn } from './signed-in.ts';

const messagesEach = 20;
const openWanted = 50;
/** Asked in one measurement: one alone is shorter than the system's clock of processor time. */
const asked = 100;
/** Of a search, which takes longer. */
const searched = 10;
/** Messages with the word that is searched, and with words that begin alike; conversations with a subject, or a visitor's name. */
const found = 20;
/** What subjects are made of, three words and a number each, and names of visitors, two of which make an address. */
const subjectWords =
  'account address advice agreement amount answer application appointment arrival balance battery billing booking box brand broken cable calendar cancel card catalogue change charge charger claim code collection colour complaint confirmation contract copy coupon credit customs damaged date delay delivery deposit details device discount document download email error exchange export failure fee garden gift guide holiday import incomplete instructions insurance invoice item keyboard language late letter licence limit login logo lost mailbox manual material membership message missing mistake model month network newsletter notice number offer order packaging parcel password payment phone picture plan postage price printer problem product profile question quality quote receipt refund registration reminder renewal repair replacement report return review sample screen security service setting shipment shop size software spare status stock store subscription summer support tax ticket tracking transfer travel update upgrade visit voucher warranty website weight winter wireless wrong';
const names =
  'Abigail Adrian Alice Amina Andreas Anna Antonio Ben Bianca Carlos Chiara Chloe Clara Daniel David Diego Elena Elias Emil Emma Erik Eva Fatima Felix Finn Flora Gabriel Greta Hannah Hassan Helena Hugo Ida Ingrid Isaac Ivan Jakob Jana Jonas Julia Karim Kasper Laila Lara Leon Lina Lucas Magnus Maja Maria Martin Mateo Maya Mehmet Mila Mina Nadia Nina Noah Nora Olga Oliver Omar Oscar Paula Pedro Petra Rafael Rosa Samir Sara Simon Sofia Stefan Thea Thomas Tim Valentina Vera Viktor Yara Yusuf Zoe';
const startRuns = 5;

/** What is asked, and how often in one measurement. */
interface Ask {
  readonly times: number;
  readonly run: (index: number) => Promise<unknown>;
}

interface Side {
  readonly asks: ReadonlyMap<string, Ask>;
  readonly messages: () => number;
  readonly close: () => Promise<void>;
}

/** Writes rows past every handler: by their operations it would take hours. */
function fill(
  file: Database.Database,
  {
    organizationId,
    applicationId,
    messages,
  }: Record<'organizationId' | 'applicationId', string> & { messages: number },
): void {
  const begun = Date.now() - 365 * 86_400_000;
  const conversations = Math.max(openWanted, Math.ceil(messages / messagesEach));
  const apart = Math.max(1, Math.floor((364 * 86_400_000) / conversations));
  const id = (kind: number, number: string): string =>
    `printf('%08x-0000-7000-800${kind}-%012x', ${number} / 65536, ${number})`;
  const numbers = (count: number): string =>
    `with recursive numbers(n) as (select 0 union all select n + 1 from numbers where n + 1 < ${count})`;
  const every = Math.floor((conversations * messagesEach) / found);
  const pick = (words: string, turn: number): string => {
    const all = words.split(' ');
    return `('${JSON.stringify(all)}' ->> ((${turn} * (n + 7) + n / ${all.length + turn}) % ${all.length}))`;
  };
  const some = Math.floor(conversations / found);
  const rare = `(n % ${some} = 1 and n / ${some} < ${found})`;
  const subject = `concat_ws(' ', ${pick(subjectWords, 1)}, ${pick(subjectWords, 41)},
    iif(${rare}, 'zeppelin', ${pick(subjectWords, 67)}), n % 9973)`;
  const [first, second] = [pick(names, 1), `iif(${rare}, 'Quillfeather', ${pick(names, 29)})`];
  /** Words that many have, one that a few have, and as many that begin alike. */
  const content = `printf('word%d %s %s %.170c', n % 5000, iif(n % ${every} = 1, 'needle', 'often'),
    iif(n % ${every} = 2, 'begin' || (n / ${every}), 'usual'), 'x')`;
  const status = `case when n < ${conversations - openWanted} then 'closed' else 'pending' end`;
  file.transaction(() => {
    file
      .prepare(
        `${numbers(conversations)} insert into visitors (id, visitor_id, organization_id, application_id, mode,
           name, email, verified, verified_fields, attributes, created_at)
         select ${id(1, 'n')}, ${id(2, 'n')}, ?, ?, 'live', ${first} || ' ' || ${second},
           lower(${first} || '.' || ${second}) || n || '@mail' || (n % 7) || '.example', 0, '', '{}', ${begun} + n * ${apart}
         from numbers`,
      )
      .run(organizationId, applicationId);
    file
      .prepare(
        `${numbers(conversations)} insert into conversations (id, organization_id, application_id, visitor_key, mode,
           status, subject, last_seq, last_visitor_seq, created_at, updated_at)
         select ${id(3, 'n')}, ?, ?, ${id(1, 'n')}, 'live', ${status}, ${subject}, ${messagesEach}, ${messagesEach},
           ${begun} + n * ${apart}, ${begun} + n * ${apart} from numbers`,
      )
      .run(organizationId, applicationId);
    file
      .prepare(
        `${numbers(conversations * messagesEach)} insert into messages (id, conversation_id, organization_id, seq,
           changed_seq, sender_id, sender_role, content, content_format, internal, client_message_id, created_at)
         select ${id(4, 'n')}, ${id(3, `(n / ${messagesEach})`)}, ?, n % ${messagesEach} + 1, n % ${messagesEach} + 1,
           ${id(2, `(n / ${messagesEach})`)}, 'visitor', ${content}, 'plain', 0,
           (${begun} + (n / ${messagesEach}) * ${apart}) || '-' || ${id(5, 'n')},
           ${begun} + (n / ${messagesEach}) * ${apart} from numbers`,
      )
      .run(organizationId);
    placeMessages(file);
    logMessages(file);
    fillSearch(file, organizationId);
  })();
}

/** The events of the messages, as commits of so many leave them, behind those that are there. */
function logMessages(file: Database.Database): void {
  const inCommit = 32;
  file.exec(`
    with log as (select max(seq) as newest from event_log),
      some as (select min(number) as oldest, max(number) as newest from messages)
    insert into message_events (seq, number, messages, created_at)
      select log.newest + 1 + m.number - some.oldest, m.number, min(${inCommit}, some.newest - m.number + 1), m.created_at
        from log, some, messages as m where (m.number - some.oldest) % ${inCommit} = 0`);
}

/** The index of the search, as the server fills it: each word behind the number of its organization. */
function fillSearch(file: Database.Database, organizationId: string): void {
  const { lastInsertRowid: scope } = file
    .prepare('insert into search_scopes (organization_id) values (?)')
    .run(organizationId);
  file.exec(`
    insert into search_rows (message_id) select id from messages order by id;
    insert into search (rowid, words)
      select search_rows.id, '${scope}x' || replace(content, ' ', ' ${scope}x')
      from search_rows join messages on messages.id = message_id order by search_rows.id;
    insert or replace into meta (key, value) select 'search_cursor', max(seq + messages - 1) from message_events;`);
}

/** Makes a database of so many messages and everything that is asked of it. */
async function openSide(data: string, messages: number): Promise<Side> {
  const limits = { limitVisitor: unlimited, limitApplication: unlimited, limitAddress: unlimited };
  const config = readConfig({ data, durability: 'normal', ...limits }, {});
  const { service, close } = await openService(config, 'server', () => null);
  const as =
    (actor: Actor) =>
    <N extends OperationName>(name: N, input: RawInput<N>): Promise<Output<N>> =>
      execute({ service, actor, address: null, contentLimit: sizeLimits.contentRest }, name, input);
  const local = as({ kind: 'local' });
  const { id: organizationId } = await local('organizations.create', { name: 'Acme', slug: 'acme' });
  await local('organizations.update', {
    organization: 'acme',
    plan: 'enterprise',
    limits: { requestsPerMinute: 1_000_000_000 },
  });
  const { id: applicationId } = await local('applications.create', {
    organization: 'acme',
    name: 'Shop',
    domains: ['acme.example'],
  });
  const { id: memberId } = await local('members.add', {
    organization: 'acme',
    email: 'member@acme.example',
    name: 'Member',
    role: 'admin',
    password: 'a long password of a member',
  });
  const file = new Database(join(data, 'deskbell.db'), { timeout: 5_000 });
  fill(file, { organizationId, applicationId, messages });
  file.pragma('wal_checkpoint(truncate)');
  const actor = await signedIn(service, memberId);
  const member = as(actor);
  const call: ParticipantCall = { service, actor, address: null, contentLimit: sizeLimits.contentSocket };
  const visitor = as({
    kind: 'visitor',
    organizationId,
    applicationId,
    visitorId: randomUUID(),
    mode: 'live',
    via: 'origin',
    origin: 'https://acme.example',
  });
  const { conversation } = await visitor('conversations.create', {});
  // Spread over all that is there, so that what is read is not always in the cache.
  const some = file.prepare<[number], { id: string }>(
    'select id from conversations where rowid = 1 + cast(? as integer) * (select max(rowid) - 1 from conversations) / 100',
  );
  const places = Array.from({ length: asked }, (_, index) => some.get(index)?.id ?? conversation.id);
  const firstOf = file.prepare<[string], { id: string }>(
    'select id from messages where conversation_id = ? and seq = 1',
  );
  const seen = places.map((place) => firstOf.get(place)?.id);
  /** What a connection does that joins a room again. */
  const catchUp = async (index: number): Promise<void> => {
    const conversationId = places[index] ?? conversation.id;
    const { resumeSeq } = await resync(call, { conversationId, lastMessageId: seen[index] });
    const since = resumeSeq ?? 0;
    const { payload } = await backfill(call, {
      conversationId,
      afterSeq: since,
      sinceSeq: since,
      changedAfterSeq: 0,
    });
    if (payload.messages.length !== messagesEach - 1)
      throw new Error(`${payload.messages.length} messages were caught up on`);
  };
  const search = async (q: string, wanted = found): Promise<void> => {
    const { total } = await member('staff.conversations.list', { q });
    if (total !== wanted) throw new Error(`${total} conversations have ${q}`);
  };
  const conversations = Math.max(openWanted, Math.ceil(messages / messagesEach));
  const count = file.prepare<[], { count: number }>('select count(*) as count from messages');
  const often = (run: Ask['run']): Ask => ({ times: asked, run });
  const send = (index: number): Promise<unknown> =>
    visitor('messages.send', {
      conversationId: conversation.id,
      content: `${'x'.repeat(190)}${index}`,
      // As the SDK calls them.
      clientMessageId: `${Date.now()}-${randomUUID()}`,
    });
  return {
    asks: new Map<string, Ask>([
      ['send', often(send)],
      [
        'page of history',
        often((index) => member('staff.messages.list', { conversationId: places[index] ?? conversation.id })),
      ],
      [`catching up on ${messagesEach - 1} messages`, often(catchUp)],
      ['count of unread', often(() => visitor('conversations.unread', { conversationId: conversation.id }))],
      ['queue: pending', often(() => member('staff.conversations.list', { status: 'pending' }))],
      ['queue: everything', often(() => member('staff.conversations.list', {}))],
      [`search of a word in ${found} messages`, { times: searched, run: () => search('needle') }],
      [`search of a beginning of ${found} words`, { times: searched, run: () => search('begi') }],
      [`search of a part of ${found} subjects`, { times: searched, run: () => search('eppeli') }],
      [`search of a part of ${found} names and addresses`, { times: searched, run: () => search('LLFEATH') }],
      ['search of a part of every address', { times: 1, run: () => search('.exam', conversations) }],
    ]),
    messages: () => count.get()?.count ?? 0,
    close: async () => {
      file.close();
      await close();
    },
  };
}

export interface FlatLine {
  readonly what: string;
  readonly deskbell: string;
  readonly ceiling: string;
  readonly ratio: string;
}

/** @param parent where the folders are made @param messages how many the large database holds */
export async function flatCost(parent: string, messages: number, rounds: number): Promise<FlatLine[]> {
  const folder = await mkdtemp(join(parent, 'deskbell-bench-'));
  const sides: Side[] = [];
  try {
    const small = await openSide(join(folder, 'small'), 1_000);
    sides.push(small);
    const large = await openSide(join(folder, 'large'), messages);
    sides.push(large);
    const lines: FlatLine[] = [];
    for (const [what, ask] of small.asks) {
      const cost = { small: [] as number[], large: [] as number[] };
      const other = large.asks.get(what);
      if (other === undefined) throw new Error(`${what} is not asked of both`);
      const before = { small: small.messages(), large: large.messages() };
      // The first round warms both up, and isn't counted.
      for (let round = 0; round <= rounds; round += 1)
        for (const [side, one] of [
          ['small', ask],
          ['large', other],
        ] as const) {
          const at = process.cpuUsage();
          for (let index = 0; index < one.times; index += 1) await one.run(index);
          const { user, system } = process.cpuUsage(at);
          if (round > 0) cost[side].push((user + system) / one.times);
        }
      const stored = what === 'send' ? (rounds + 1) * asked : 0;
      if (small.messages() !== before.small + stored || large.messages() !== before.large + stored)
        throw new Error(`${what}: messages were lost, or stored twice`);
      lines.push({
        what: `${what}, processor time, µs`,
        deskbell: median(cost.large).toFixed(0),
        ceiling: median(cost.small).toFixed(0),
        ratio: (median(cost.large) / median(cost.small)).toFixed(2),
      });
    }
    for (const side of sides.splice(0)) await side.close();
    const starts = [
      await startUp(startRuns, join(folder, 'small')),
      await startUp(startRuns, join(folder, 'large')),
    ] as const;
    lines.push({
      what: 'start to first /healthz, ms',
      deskbell: starts[1].toFixed(0),
      ceiling: starts[0].toFixed(0),
      ratio: (starts[1] / starts[0]).toFixed(2),
    });
    return lines;
  } finally {
    for (const side of sides) await side.close();
    await rm(folder, { recursive: true, force: true });
  }
}
