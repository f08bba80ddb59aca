// Owns: the commands that put the queue in order, against a real server: what they do there, what they print, what they
// say when it can't be done.
import { beforeEach, expect, test } from 'vitest';
import { inProcess } from '../helpers/cli.ts';
import { createConversation, createMessage } from '../helpers/fixtures.ts';
import { ann, document, expectFailure, login, visitor, withCommands } from './command-fixture.ts';

withCommands();

let id: string;
beforeEach(async () => {
  await login();
  id = await createConversation(visitor, 'A lamp');
});

const ids = async (...args: readonly string[]): Promise<string[]> =>
  (await document<{ items: { id: string }[] }>('inbox', '--limit', '100', ...args)).items.map(
    (one) => one.id,
  );

test('tags, priority and the filters of inbox', async () => {
  expect(await document('tag', id.slice(-8), 'vip', 'later on')).toMatchObject({ tags: ['later on', 'vip'] });
  expect(await document('untag', id, 'VIP')).toMatchObject({ tags: ['later on'] });
  await document('tag', id, 'vip');
  expect((await inProcess(['untag', id, 'vip'])).stdout).toContain('is no longer tagged vip.');
  expect(await document('priority', id, 'urgent')).toMatchObject({ priority: 'urgent' });
  expect(await ids('--tag', 'later on', '--priority', 'urgent', '--priority', 'high')).toEqual([id]);
  expect(await ids('--tag', 'later on', '--tag', 'vip')).toEqual([]);
  expect(await ids('--untagged')).not.toContain(id);
  const { stdout } = await inProcess(['inbox', '--tag', 'later on']);
  expect(stdout).toContain('urgent #later on');
  expect((await inProcess(['show', id])).stdout).toMatch(/^order +urgent #later on$/m);
  await expectFailure(2, /low, normal, high, urgent/, ['priority', id, 'top']);
  await expectFailure(2, /low, normal, high, urgent/, ['inbox', '--priority', 'top']);
});

test('snooze, wake, unread and reopen', async () => {
  const snoozed = await document<{ snoozedUntil: string }>('snooze', id, '--for', '2h');
  const away = Date.parse(snoozed.snoozedUntil) - Date.now();
  expect(away).toBeGreaterThan(7_100_000);
  expect(away).toBeLessThanOrEqual(7_200_000);
  expect(await ids()).not.toContain(id);
  expect(await ids('--snoozed')).toContain(id);
  expect(await document('wake', id.slice(-10))).toMatchObject({ snoozedUntil: null });
  expect(await ids()).toContain(id);
  await expectFailure(2, /--for 2h/, ['snooze', id]);
  await expectFailure(2, /--for 2h/, ['snooze', id, '--for', '2h', '--until', '2030-01-01']);
  await expectFailure(2, /no time/, ['snooze', id, '--until', 'soon']);
  const message = await createMessage(visitor, id, 'hello');
  await ann.call('POST', `/conversations/${id}/read`, { messageId: message });
  expect(await ids('--unread')).not.toContain(id);
  expect(await document('unread', id)).toMatchObject({ unread: true, unreadCount: 1 });
  expect(await ids('--unread')).toContain(id);
  await expectFailure(1, /can't be reopened/, ['reopen', id]);
  await document('accept', id);
  await document('resolve', id);
  expect(await document('reopen', id)).toMatchObject({ status: 'active', assignedTo: ann.id });
});

test('the tags of the organization', async () => {
  await document('tags', 'create', 'Refund');
  await document('tag', id, 'refund');
  expect(await document('tags', 'rename', 'refund', 'Money back')).toMatchObject({ name: 'Money back' });
  expect(await document('show', id)).toMatchObject({ conversation: { tags: ['Money back'] } });
  const { items } = await document<{ items: { name: string }[] }>('tags', 'list');
  expect(items.map(({ name }) => name)).toContain('Money back');
  await expectFailure(2, /--yes/, ['tags', 'delete', 'Money back']);
  await document('tags', 'delete', 'money back', '--yes');
  await expectFailure(1, /There is no tag Money back/, ['tags', 'rename', 'Money back', 'x']);
});

test.each([
  [['token', 'revoke', 'unknown'], /^No such token\. See: .*deskbell(?:\.js)? token list$/m],
  [['session', 'end', 'unknown'], /^No such session\. See: .*deskbell(?:\.js)? session list$/m],
  [['block', 'lift', 'unknown'], /^No such block\. See: .*deskbell(?:\.js)? block list$/m],
])('an id that is unknown: %j says where the right one is found', async (args, line) => {
  await expectFailure(1, line, args);
});

test('views are saved, counted, used and deleted', async () => {
  await document('tag', id, 'of-view');
  const view = await document('views', 'save', 'Mine', '--tag', 'of-view', '--unread', '--shared');
  expect(view).toMatchObject({ name: 'Mine', shared: true, query: { tag: ['of-view'], unread: true } });
  expect(await document('views', 'save', 'Mine', '--tag', 'of-view')).toMatchObject({
    shared: false,
    query: { tag: ['of-view'] },
  });
  const { items } = await document<{ items: { name: string; count: number }[] }>('views', 'list');
  expect(items).toMatchObject([{ name: 'Mine', count: 1 }]);
  expect(await ids('--view', 'Mine')).toEqual([id]);
  expect((await inProcess(['views', 'list'])).stdout).toContain('tag=of-view');
  await document('views', 'delete', 'Mine');
  await expectFailure(1, /There is no view Mine/, ['inbox', '--view', 'Mine']);
});

test('many at once: each has a result, and what was refused is said', async () => {
  const other = await createConversation(visitor);
  await ann.call('POST', `/conversations/${other}/accept`);
  await ann.call('POST', `/conversations/${other}/resolve`);
  const { results } = await document<{ results: { ok: boolean }[] }>('bulk', 'accept', id, other.slice(-9));
  expect(results.map(({ ok }) => ok)).toEqual([true, false]);
  const said = await inProcess(['bulk', 'priority', id, other, '--priority', 'low']);
  expect(said).toMatchObject({ code: 0 });
  expect(said.stdout.match(/done/g)).toHaveLength(2);
  const refused = await inProcess(['bulk', 'accept', id, other]);
  expect(refused).toMatchObject({ code: 1, stderr: expect.stringMatching(/^2 of 2 were refused\.$/m) });
  const third = await createConversation(visitor);
  const one = await inProcess(['bulk', 'accept', third, other]);
  expect(one.stderr).toMatch(/^1 of 2 was refused, the other one is done\.$/m);
  await expectFailure(2, /choices/i, ['bulk', 'dance', id]);
  await expectFailure(2, /^transfer needs --member MEMBER\.$/m, ['bulk', 'transfer', id]);
  await expectFailure(2, /^tag needs --tag NAME\.$/m, ['bulk', 'tag', id]);
  await expectFailure(2, /^priority needs --priority P\.$/m, ['bulk', 'priority', id]);
});
