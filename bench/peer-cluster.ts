// Owns: the least that several processes need to store messages on one PostgreSQL database in one order: what Deskbell's
// servers are held against. One process of it: the same rows, groups of up to 50 in a pipelined transaction, numbers under
// a lock, a notification with the commit. Must not gain anything that a message does not need.
import { randomUUID } from 'node:crypto';
import pg from 'pg';

const [url = '', seconds = '1'] = process.argv.slice(2);
const lanes = 4;
const conversationsPerLane = 5;
/** Messages under way at once in a conversation. */
const window = 4;

let stored = 0;

/** Writes groups of messages one after another until its time is over. Each conversation belongs to one lane. */
async function runLane(until: number): Promise<void> {
  const client = new pg.Client({ connectionString: url, pipeline: true });
  await client.connect();
  const run = (name: string, text: string, values: unknown[] = []): Promise<pg.QueryResult> =>
    client.query({ name, text, values });
  const conversations = Array.from({ length: conversationsPerLane }, () => randomUUID());
  for (const id of conversations) await run('open', 'insert into conversations values ($1, 0, 0)', [id]);
  while (performance.now() < until) {
    const now = Date.now();
    const ids: string[] = [];
    const talks: string[] = [];
    const sent = [run('begin', 'begin')];
    for (const conversation of conversations)
      for (let index = 0; index < window; index += 1) {
        const id = randomUUID();
        ids.push(id);
        talks.push(conversation);
        sent.push(
          run(
            'insert',
            `with moved as (update conversations set last_seq = last_seq + 1, updated_at = $2 where id = $1 returning last_seq)
              insert into messages select $3, $1, last_seq, $3, $4, $2 from moved`,
            [conversation, now, id, 'x'.repeat(200)],
          ),
        );
      }
    sent.push(
      run('lock', 'select pg_advisory_xact_lock(7)'),
      run(
        'log',
        `insert into events select (select coalesce(max(seq), 0) from events) + n, conversation, 'message:new', id, $3
          from unnest($1::text[], $2::text[]) with ordinality as e(id, conversation, n)`,
        [ids, talks, now],
      ),
      run('tell', "select pg_notify('bare', $1)", [String(process.pid)]),
      run('commit', 'commit'),
    );
    await Promise.all(sent);
    stored += ids.length;
  }
  await client.end();
}

const until = performance.now() + Number(seconds) * 1_000;
await Promise.all(Array.from({ length: lanes }, () => runLane(until)));
process.stdout.write(`${stored}\n`);
