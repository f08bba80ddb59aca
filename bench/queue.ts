// Owns: what the operators' queue costs in an organization of 100,000 conversations, one in twenty of them open: a list by
// two tags and unread, the usual list, and the counts of 50 saved views. Held against bare SQL over the same rows: one
// statement each, which reads the fewest rows that answer. It asks through the operations that the transports call, and
// says how long the loop stood still at most.
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { readConfig } from '../src/config.ts';
import { openService } from '../src/open-service.ts';
import { sizeLimits } from '../src/protocol/codes.ts';
import type { OperationName, Output, RawInput } from '../src/protocol/operations.ts';
import type { ViewQuery } from '../src/protocol/queue.ts';
import type { Actor } from '../src/services/core/actor.ts';
import { execute } from '../src/services/execute.ts';
import { measureLoop } from '../test/helpers/loop-delay.ts';
import { median } from './program.ts';
import { signedIn } from './signed-in.ts';

const conversationsWanted = 100_000;
const tagsWanted = 50;
const membersWanted = 10;
const viewsWanted = 50;
const day = 86_400_000;

/** Numbers from 0 to 1, the same in each run. */
function numbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 4_294_967_296;
  };
}

function pick<T>(list: readonly T[], share: number): T {
  const found = list[Math.floor(list.length * share)];
  if (found === undefined) throw new RangeError('nothing to pick from');
  return found;
}

interface Organization {
  readonly organizationId: string;
  readonly applicationId: string;
  readonly members: readonly string[];
  readonly tags: readonly string[];
}

/** Writes the rows past every handler: by their operations it would take an hour. */
function fill(file: Database.Database, { organizationId, applicationId, members, tags }: Organization): void {
  const random = numbers(7);
  const now = Date.now();
  const visitor = file.prepare(
    `insert into visitors (id, visitor_id, organization_id, application_id, mode, verified, verified_fields, attributes, created_at)
     values (?, ?, ?, ?, 'live', 0, '', '{}', ?)`,
  );
  const conversation = file.prepare(
    `insert into conversations (id, organization_id, application_id, visitor_key, mode, status, subject, assigned_to,
       resolved_by, resolved_at, last_seq, last_visitor_seq, waiting_since, priority, snoozed_until, created_at, updated_at)
     values (?, ?, ?, ?, 'live', ?, 'A question', ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  );
  const participant = file.prepare(
    `insert into participants (conversation_id, user_id, role, joined_at, last_read_seq) values (?, ?, 'operator', ?, ?)`,
  );
  const tagged = file.prepare(
    'insert or ignore into conversation_tags (conversation_id, tag_id) values (?, ?)',
  );
  file.transaction(() => {
    for (let index = 0; index < conversationsWanted; index += 1) {
      const id = randomUUID();
      const key = randomUUID();
      const created = now - Math.floor(random() * 365 * day);
      const status = random() < 0.05 ? (random() < 0.5 ? 'pending' : 'active') : 'closed';
      const who = status === 'pending' ? null : pick(members, random());
      const seq = 2 + Math.floor(random() * 20);
      visitor.run(key, randomUUID(), organizationId, applicationId, created);
      conversation.run(
        id,
        organizationId,
        applicationId,
        key,
        status,
        who,
        status === 'closed' ? who : null,
        status === 'closed' ? created + 3_600_000 : null,
        seq,
        seq - 1,
        status !== 'closed' && random() < 0.7 ? created : null,
        random() < 0.8 ? 'normal' : pick(['low', 'high', 'urgent'], random()),
        status !== 'closed' && random() < 0.1 ? now + day : null,
        created,
        created + Math.floor(random() * day),
      );
      if (who !== null) participant.run(id, who, created, random() < 0.9 ? seq : 0);
      // A few tags are on many, most on few.
      for (let count = Math.floor(random() * 4); count > 0; count -= 1)
        tagged.run(id, pick(tags, random() ** 2));
    }
  })();
}

/** 50 questions as teams ask them: by person, tag, priority and state; a few of them over what is closed too. */
function questions(members: readonly string[], tags: readonly string[]): ViewQuery[] {
  const made: ViewQuery[] = [
    {},
    { status: 'pending' },
    { status: 'active', assignedTo: 'me' },
    { assignedTo: 'me', unread: true },
    { unread: true },
    { status: 'closed' },
    { snoozed: true },
    { status: 'pending', waitingLonger: 60 },
    { priority: ['urgent', 'high'] },
    { status: 'pending', untagged: true },
  ];
  for (const memberId of members) made.push({ status: 'active', assignedTo: memberId });
  for (let index = 0; made.length < viewsWanted; index += 1)
    made.push({
      tag: [pick(tags, (index % tags.length) / tags.length)],
      ...(index % 3 === 0 ? { status: 'pending' } : {}),
      ...(index % 5 === 0 ? { unread: true } : {}),
    });
  return made;
}

interface Figures {
  readonly own: number[];
  readonly bare: number[];
  /** Processor time of each of our own answers, ms: what is left where others use the machine, too. */
  readonly cpu: number[];
  /** The first answer after a start, in which the index is filled, ms. */
  first: number;
  /** The longest turn of the loop, CPU ms. */
  longest: number;
}

export interface QueueLine {
  readonly what: string;
  readonly deskbell: string;
  readonly ceiling: string;
  readonly ratio: string;
}

/** Measures each question in turn with its bare statement. @param parent where the folder is made */
export async function queueCost(parent: string, rounds: number): Promise<QueueLine[]> {
  const data = await mkdtemp(join(parent, 'deskbell-bench-'));
  const { service, close } = await openService(
    readConfig({ data, durability: 'normal' }, {}),
    'server',
    () => null,
  );
  const as =
    (actor: Actor) =>
    <N extends OperationName>(name: N, input: RawInput<N>): Promise<Output<N>> =>
      execute({ service, actor, address: null, contentLimit: sizeLimits.contentRest }, name, input);
  try {
    const made = await prepareOrganization(as({ kind: 'local' }));
    const file = new Database(join(data, 'deskbell.db'), { timeout: 5_000 });
    const tags = made.tagNames.map(() => randomUUID());
    const insertTag = file.prepare(
      'insert into tags (id, organization_id, name, folded, created_at) values (?, ?, ?, ?, 0)',
    );
    for (const [index, id] of tags.entries())
      insertTag.run(id, made.organizationId, made.tagNames[index], made.tagNames[index]);
    fill(file, { ...made, tags });
    const [memberId = ''] = made.members;
    const member = as(await signedIn(service, memberId));
    const insertView = file.prepare(
      `insert into views (id, organization_id, name, shared, query, created_by, created_at, updated_at)
       values (?, ?, 'view', 1, ?, ?, 0, 0)`,
    );
    for (const query of questions(made.members, made.tagNames))
      insertView.run(randomUUID(), made.organizationId, JSON.stringify(query), memberId);
    const measured = await measure(member, file, { ...made, tags, memberId }, rounds);
    file.close();
    return lines(measured);
  } finally {
    await close();
    await rm(data, { recursive: true, force: true });
  }
}

async function prepareOrganization(
  local: <N extends OperationName>(name: N, input: RawInput<N>) => Promise<Output<N>>,
): Promise<Omit<Organization, 'tags'> & { tagNames: readonly string[] }> {
  const { id: organizationId } = await local('organizations.create', { name: 'Acme', slug: 'acme' });
  await local('organizations.update', { organization: 'acme', plan: 'enterprise' });
  const { id: applicationId } = await local('applications.create', {
    organization: 'acme',
    name: 'Shop',
    domains: ['acme.example'],
  });
  const members: string[] = [];
  for (let index = 0; index < membersWanted; index += 1) {
    const { id } = await local('members.add', {
      organization: 'acme',
      email: `member${index}@acme.example`,
      name: `Member ${index}`,
      role: 'operator',
      password: `a long password ${index}`,
    });
    members.push(id);
  }
  const tagNames = Array.from({ length: tagsWanted }, (_, index) => `tag-${String(index).padStart(2, '0')}`);
  return { organizationId, applicationId, members, tagNames };
}

type Asking = <N extends OperationName>(name: N, input: RawInput<N>) => Promise<Output<N>>;

async function measure(
  member: Asking,
  file: Database.Database,
  {
    organizationId,
    tags,
    tagNames,
    memberId,
  }: Organization & { tagNames: readonly string[]; memberId: string },
  rounds: number,
): Promise<Map<string, Figures>> {
  const bareList = file.prepare(
    `select c.id, c.updated_at from conversation_tags as one
       cross join conversation_tags as two on two.conversation_id = one.conversation_id and two.tag_id = ?
       cross join conversations as c on c.id = one.conversation_id
       left join participants as p on p.conversation_id = c.id and p.user_id = ?
     where one.tag_id = ? and c.organization_id = ? and c.mode = 'live' and c.snoozed_until is null
       and c.last_visitor_seq > coalesce(p.last_read_seq, 0)`,
  );
  const bareOpen = file
    .prepare(
      `select c.application_id, c.assigned_to, c.priority, c.snoozed_until, c.waiting_since, c.last_visitor_seq,
         p.last_read_seq,
         (select group_concat(tag_id, ' ') from conversation_tags as t where t.conversation_id = c.id)
       from conversations as c left join participants as p on p.conversation_id = c.id and p.user_id = ?
       where c.organization_id = ? and c.mode = 'live' and c.status in ('pending', 'active')`,
    )
    .raw();
  const pairs = tagNames.map((name, index) => [index, (index + 7) % tagNames.length, name] as const);
  const figures = new Map<string, Figures>();
  const take = async (
    what: string,
    ask: (round: number) => Promise<unknown>,
    bare: (round: number) => unknown,
  ): Promise<void> => {
    const found: Figures = { own: [], bare: [], cpu: [], first: 0, longest: 0 };
    const hasBegun = figures.size > 0;
    figures.set(what, found);
    if (!hasBegun) {
      const at = performance.now();
      await ask(0);
      found.first = performance.now() - at;
    }
    for (let round = 0; round < rounds; round += 1) {
      const bareAt = performance.now();
      bare(round);
      const ownAt = performance.now();
      const { longest } = await measureLoop(async () => {
        const at = performance.now();
        const before = process.cpuUsage();
        await ask(round);
        const { user, system } = process.cpuUsage(before);
        found.own.push(performance.now() - at);
        found.cpu.push((user + system) / 1_000);
      });
      found.bare.push(ownAt - bareAt);
      found.longest = Math.max(found.longest, longest);
      // The counts are kept for a second.
      if (what.startsWith('counts')) await sleep(1_000);
    }
  };
  await take(
    'list: two tags, unread',
    (round) => {
      const [one, two] = pairs[round % pairs.length] ?? [0, 1];
      return member('staff.conversations.list', {
        tag: [tagNames[one] ?? '', tagNames[two] ?? ''],
        unread: true,
      });
    },
    (round) => {
      const [one, two] = pairs[round % pairs.length] ?? [0, 1];
      return bareList.all(tags[two], memberId, tags[one], organizationId);
    },
  );
  await take(
    'list: pending',
    () => member('staff.conversations.list', { status: 'pending' }),
    () => bareOpen.all(memberId, organizationId),
  );
  const bareAll = file.prepare(
    `select id from conversations where organization_id = ? and mode = 'live' order by updated_at desc limit 50`,
  );
  await take(
    'list: everything',
    () => member('staff.conversations.list', {}),
    () => bareAll.all(organizationId),
  );
  await take(
    'list: a word',
    () => member('staff.conversations.list', { q: 'nowhere' }),
    () => bareAll.all(organizationId),
  );
  await take(
    'counts: 50 views',
    () => member('views.counts', {}),
    () => bareOpen.all(memberId, organizationId),
  );
  return figures;
}

/** The value below which a share of all lie. */
function quantile(values: readonly number[], share: number): number {
  return values.toSorted((one, other) => one - other)[Math.floor(values.length * share)] ?? Number.NaN;
}

function lines(measured: ReadonlyMap<string, Figures>): QueueLine[] {
  return [...measured].flatMap(([what, { own, bare, cpu, first, longest }]) => [
    ...(first === 0
      ? []
      : [{ what: 'first answer, fills the index, ms', deskbell: first.toFixed(0), ceiling: '', ratio: '' }]),
    {
      what: `${what}, median, ms`,
      deskbell: median(own).toFixed(1),
      ceiling: median(bare).toFixed(1),
      ratio: (median(own) / median(bare)).toFixed(2),
    },
    {
      what: '  p95, ms',
      deskbell: quantile(own, 0.95).toFixed(1),
      ceiling: quantile(bare, 0.95).toFixed(1),
      ratio: (quantile(own, 0.95) / quantile(bare, 0.95)).toFixed(2),
    },
    {
      what: '  CPU, median and p95, ms',
      deskbell: `${median(cpu).toFixed(1)} ${quantile(cpu, 0.95).toFixed(1)}`,
      ceiling: '',
      ratio: '',
    },
    { what: '  longest turn of the loop, CPU ms', deskbell: longest.toFixed(1), ceiling: '', ratio: '' },
  ]);
}
