// Places that connections hold, counted over all nodes: a row for each node and key, decided under a lock of the key.
import { StoreUnavailableError, type Seats, type WantedSeat } from '../engine.ts';
import { isWorthRepeating, refusal, type Link, type Statement } from './link.ts';
import type { Membership } from './membership.ts';

const begin: Statement = { name: 'begin', text: 'begin' };
const commit: Statement = { name: 'commit', text: 'commit' };
const maxAttempts = 3;
/** The first number of the locks of keys. */
const keyLock = 1_145_392_973;
const lockKeys: Statement = {
  name: 'lock_seats',
  text: `select pg_advisory_xact_lock(${keyLock}, number)
    from (select distinct hashtext(key) as number from unnest($1::text[]) as wanted(key) order by 1 offset 0) as ordered`,
};
// After the lock, in a statement of its own: its snapshot must not be older than the lock.
const takeSeats: Statement = {
  name: 'take_seats',
  text: `with wanted as (select key, most, n from unnest($2::text[], $3::bigint[]) with ordinality as w(key, most, n)),
    fullest as (select min(n) - 1 as at from wanted
      where (select coalesce(sum(held), 0) from seats where seats.key = wanted.key) >= most),
    taken as (insert into seats (node, key, held)
      select $1, key, count(*) from wanted where (select at from fullest) is null group by key
      on conflict (key, node) do update set held = seats.held + excluded.held)
    select at from fullest`,
};
const leaveLast: Statement = {
  name: 'leave_last_seat',
  text: 'delete from seats where node = $1 and key = $2 and held <= 1',
};
const leaveOne: Statement = {
  name: 'leave_seat',
  text: 'update seats set held = held - 1 where node = $1 and key = $2',
};
const leaveAll: Statement = { name: 'leave_all_seats', text: 'delete from seats where node = $1' };
const holdAgain: Statement = {
  name: 'hold_seats',
  text: `insert into seats (node, key, held) select $1, key, held from unnest($2::text[], $3::bigint[]) as h(key, held)`,
};

/** Makes the seats of a node. */
export function createNodeSeats(membership: Membership, nodeId: string): Seats {
  /** What this node holds, to be told anew with another connection. */
  const held = new Map<string, number>();
  const count = (key: string, change: 1 | -1): void => {
    const left = (held.get(key) ?? 0) + change;
    if (left <= 0) held.delete(key);
    else held.set(key, left);
  };
  membership.add({
    joined: async (link) => {
      // Both go at once: what is given back from now on comes behind them.
      await Promise.all([
        link.query(leaveAll, [nodeId]),
        link.query(holdAgain, [nodeId, [...held.keys()], [...held.values()]]),
      ]);
    },
  });
  const giveBack = (key: string): void => {
    count(key, -1);
    membership.change((link) =>
      Promise.all([link.query(leaveLast, [nodeId, key]), link.query(leaveOne, [nodeId, key])]),
    );
  };
  return {
    take: async (wanted) => {
      const full = await decideAgain(membership, nodeId, wanted);
      if (full !== null) return { full };
      for (const { key } of wanted) count(key, 1);
      const mine = wanted.map(({ key }) => key);
      return () => {
        for (const key of mine.splice(0)) giveBack(key);
      };
    },
  };
}

/** What the database asks to be repeated is repeated, a few times. @throws StoreUnavailableError */
async function decideAgain(
  membership: Membership,
  nodeId: string,
  wanted: readonly WantedSeat[],
): Promise<number | null> {
  for (let attempt = 1; ; attempt += 1) {
    const link = await membership.connected();
    try {
      return await decide(link, nodeId, wanted);
    } catch (error) {
      if (attempt === maxAttempts || !isWorthRepeating(error)) throw refusal(error);
    }
  }
}

/** @returns which of the keys is full; null: a place under each of them is taken */
async function decide(link: Link, nodeId: string, wanted: readonly WantedSeat[]): Promise<number | null> {
  const keys = wanted.map(({ key }) => key);
  // All of it travels at once, so nothing else comes in between on this connection.
  const [, , answer, ended] = await Promise.all([
    link.query(begin),
    link.query(lockKeys, [keys]),
    link.query<{ at: number | null }>(takeSeats, [nodeId, keys, wanted.map(({ most }) => most)]),
    link.query(commit),
  ]);
  if (ended.command !== 'COMMIT') throw new StoreUnavailableError('The database is busy.');
  return answer.rows[0]?.at ?? null;
}
