// Attacks `deskbell webhook …`: the whole life of a webhook from the command line, its
// exit codes, and that a secret is shown only where it was asked for.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Webhook, WebhookDelivery } from '../../src/protocol/webhooks.ts';
import { inProcess, temporaryFolder } from '../helpers/cli.ts';

let folder: string;
let remove: () => Promise<void>;

beforeEach(async () => {
  ({ folder, remove } = await temporaryFolder());
  await json('org', 'create', 'Acme');
});

afterEach(async () => {
  await remove();
});

const run = (...args: string[]) => inProcess([...args, '--data', folder]);

async function json<T>(...args: string[]): Promise<T> {
  const { code, stdout, stderr } = await run(...args, '--json');
  expect({ code, stderr }, args.join(' ')).toEqual({ code: 0, stderr: '' });
  return JSON.parse(stdout) as T;
}

const url = 'https://hooks.example.com/deskbell';

describe('deskbell webhook', () => {
  it('makes, shows, changes, tests, replays and deletes', async () => {
    const made = await json<Webhook & { secret: string }>(
      'webhook',
      'create',
      url,
      '--org',
      'acme',
      '--event',
      'message:new',
      '--event',
      'conversation:new',
    );
    expect(made).toMatchObject({
      url,
      events: ['message:new', 'conversation:new'],
      enabled: true,
      secret: expect.stringMatching(/^whsec_[A-Za-z0-9+/]{43}=$/),
    });
    const { secret, ...shown } = made;
    expect(await json('webhook', 'list', '--org', 'acme')).toEqual({ items: [shown] });
    expect(await json('webhook', 'show', made.id)).toEqual(shown);
    expect(await json('webhook', 'reveal', made.id)).toEqual(made);
    expect(await json('webhook', 'update', made.id, '--all-events', '--url', `${url}/2`)).toEqual({
      ...shown,
      events: null,
      url: `${url}/2`,
    });
    const tested = await json<WebhookDelivery>('webhook', 'test', made.id);
    expect(tested).toMatchObject({ type: 'webhook:test', status: 'waiting', attempts: 0 });
    const replayed = await json<WebhookDelivery>('webhook', 'replay', made.id, tested.id);
    expect(replayed).toEqual({ ...tested, nextAttemptAt: expect.any(String) });
    expect(await json('webhook', 'deliveries', made.id, '--status', 'waiting')).toEqual({
      items: [replayed],
    });
    expect(await json('webhook', 'deliveries', made.id, '--status', 'failed')).toEqual({ items: [] });
    expect(await json('webhook', 'disable', made.id)).toMatchObject({ enabled: false, waiting: 1 });
    expect((await run('webhook', 'test', made.id)).code).toBe(1);
    expect(await json('webhook', 'enable', made.id)).toMatchObject({ enabled: true });
    for (const args of [
      ['list', '--org', 'acme'],
      ['show', made.id],
      ['deliveries', made.id],
    ])
      expect((await run('webhook', ...args)).stdout).not.toContain('whsec_');
    expect((await run('webhook', 'reveal', made.id)).stdout).toContain(secret);
    expect(await json('webhook', 'delete', made.id, '--yes')).toEqual({ success: true });
    expect((await run('webhook', 'show', made.id)).code).toBe(1);
  });

  it.each([
    ['no address', ['create', '--org', 'acme']],
    ['an address without https', ['create', 'http://hooks.example.com/', '--org', 'acme']],
    ['a private address', ['create', 'https://10.0.0.1/', '--org', 'acme']],
    ['an event that is none', ['create', url, '--org', 'acme', '--event', 'typing:start']],
    ['nothing to change', ['update', '00000000-0000-4000-8000-000000000000']],
    ['a deletion without --yes', ['delete', '00000000-0000-4000-8000-000000000000']],
    ['an id that is none', ['show', 'x']],
    ['a status that is none', ['deliveries', '00000000-0000-4000-8000-000000000000', '--status', 'lost']],
  ])('says in one line what is wrong with %s, and changes nothing', async (_what, args) => {
    const { code, stdout, stderr } = await run('webhook', ...args);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toMatch(/^[^\n]+\n$/);
    expect(await json('webhook', 'list', '--org', 'acme')).toEqual({ items: [] });
  });
});
