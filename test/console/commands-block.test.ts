// Owns: blocking from the command line, against a real server.
import { describe, expect, test } from 'vitest';
import { createConversation } from '../helpers/fixtures.ts';
import { document, expectFailure, login, visitor, withCommands } from './command-fixture.ts';

withCommands();

describe('block', () => {
  test('a visitor, for a time, and lifts it', async () => {
    await login();
    await createConversation(visitor);
    const block = await document<{ id: string; until: string }>(
      'block',
      'visitor',
      visitor.id,
      '--for',
      '24h',
    );
    expect(Date.parse(block.until)).toBeGreaterThan(Date.now());
    expect((await visitor.call('GET', '/visitor')).body.error).toBe('visitor_blocked');
    expect(await document('block', 'list')).toMatchObject({ items: [{ id: block.id, kind: 'visitor' }] });
    expect(await document('block', 'lift', block.id)).toEqual({ success: true });
    expect((await visitor.call('GET', '/visitor')).status).toBe(200);
  });

  test('an address, alone or with its visitor', async () => {
    await login();
    await createConversation(visitor);
    const elsewhere = await document<{ id: string }>('block', 'address', '192.0.2.1');
    expect((await visitor.call('GET', '/visitor')).status).toBe(200);
    await document('block', 'lift', elsewhere.id);
    await document('block', 'visitor', visitor.id, '--address');
    const { items } = await document<{ items: { id: string; kind: string }[] }>('block', 'list');
    expect(items.map(({ kind }) => kind).toSorted()).toEqual(['address', 'visitor']);
    for (const { id } of items) await document('block', 'lift', id);
    expect((await visitor.call('GET', '/visitor')).status).toBe(200);
  });

  test('says what is wrong', async () => {
    await login();
    await expectFailure(1, /No such visitor/, ['block', 'visitor', '00000000-0000-4000-8000-000000000000']);
    await expectFailure(2, /must be an IPv4 or IPv6 address/, ['block', 'address', 'example.com']);
    await expectFailure(2, /at most 30 days/, ['block', 'address', '192.0.2.1', '--for', '31d']);
  });
});
