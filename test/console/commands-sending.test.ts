// Owns: reply, note and tail --follow against a real server, and over a line that breaks: what
// is sent is stored once, what is told is told once.
import { PassThrough } from 'node:stream';
import { beforeEach, describe, expect, test } from 'vitest';
import { main } from '../../src/cli/main.ts';
import { inProcess, outputStream } from '../helpers/cli.ts';
import { rowsOf } from '../helpers/database.ts';
import { eventually } from '../helpers/eventually.ts';
import { startProxy } from '../helpers/proxy.ts';
import { createConversation, createMember, createMessage } from '../helpers/fixtures.ts';
import { ann, app, document, expectFailure, login, visitor, withCommands } from './command-fixture.ts';

withCommands();

describe('what is sent', () => {
  let id: string;
  beforeEach(async () => {
    await login();
    id = await createConversation(visitor);
    await document('accept', id);
  });
  const stored = async (): Promise<string[]> =>
    ((await visitor.call('GET', `/conversations/${id}/messages`)).body.messages as { content: string }[]).map(
      ({ content }) => content,
    );

  test('from standard input, as it is', async () => {
    expect((await inProcess(['reply', id, '-'], { input: 'two\nlines ü\n' })).code).toBe(0);
    expect((await inProcess(['reply', id], { input: 'piped' })).code).toBe(0);
    expect(await stored()).toEqual(['two\nlines ü', 'piped']);
    await expectFailure(2, /nothing was sent/i, ['reply', id, '-'], '  \n');
    await expectFailure(2, /too long/, ['reply', id, '-'], 'x'.repeat(30_000));
    await expectFailure(2, /5.?000/, ['reply', id, 'x'.repeat(5_001)]);
    expect(await stored()).toHaveLength(2);
  });

  test('bytes that are no text are refused', async () => {
    const output = outputStream(false);
    const errors = outputStream(false);
    const input = new PassThrough().end(Buffer.from([0x41, 0xff, 0xfe]));
    expect(
      await main(['reply', id, '-'], { input, output, errors, outputClosed: new AbortController().signal }),
    ).toBe(2);
    expect(errors.text()).toMatch(/not UTF-8/);
  });

  test('under a key that begins with the time', async () => {
    await document('reply', id, 'Hello');
    const rows = await rowsOf(
      app,
      'select client_message_id as key from messages where conversation_id = ?',
      id,
    );
    expect(rows).toEqual([{ key: expect.stringMatching(/^\d{13}-[\da-f]{8}-[\da-f]{4}-/) }]);
  });

  test('Markdown becomes rich text', async () => {
    expect(await document('reply', id, '--markdown', 'It is **here**: <b>x</b>')).toMatchObject({
      contentFormat: 'lexical',
    });
    const { body } = await visitor.call('GET', `/conversations/${id}/messages`);
    expect(body.messages[0].contentHtml).toContain('<strong>here</strong>');
    expect(body.messages[0].contentHtml).not.toContain('<b>');
    expect((await inProcess(['show', id])).stdout).toContain('It is here');
  });

  test('with a key of its own a text is stored once, however often it is sent', async () => {
    const first = await document<{ id: string }>('reply', id, 'Once', '--once', 'job-7');
    const second = await document<{ id: string }>('reply', id, 'Once', '--once', 'job-7');
    expect(second.id).toBe(first.id);
    expect(await stored()).toEqual(['Once']);
    await expectFailure(2, /1 to 100 characters/, ['reply', id, 'x', '--once', '']);
  });

  test('an answer that gets lost on the way is asked for again, and the text is stored once', async () => {
    const proxy = await startProxy(app.url);
    try {
      await login(ann, proxy.url);
      const { body } = await ann.call('GET', `/conversations/${id}`);
      expect(body.conversation.assignedTo).toBe(ann.id);
      // The request passes whole (its headers and body are below this), the answer does not.
      let lost = 0;
      const requestBytes = 500;
      proxy.injectFaults(() => (lost++ === 0 ? { afterBytes: requestBytes, what: 'cut' } : null));
      proxy.cutAll();
      const outcome = await inProcess(['reply', id, 'Through a bad line', '--url', proxy.url]);
      expect(outcome).toMatchObject({ code: 0, stderr: '' });
      expect(proxy.faults).toBe(1);
      expect(await stored()).toEqual(['Through a bad line']);
    } finally {
      await proxy.stop();
    }
  });
});

interface Following {
  text(): string;
  said(): string;
  end(): Promise<number>;
}

/** @param terminal whether it prints to one */
function startTail(terminal: boolean, ...args: readonly string[]): Following {
  const [output, errors, gone] = [outputStream(terminal), outputStream(false), new AbortController()];
  const code = main(['tail', ...args], {
    input: new PassThrough(),
    output,
    errors,
    outputClosed: gone.signal,
  });
  return {
    text: output.text,
    said: errors.text,
    end: async () => {
      // As when the reader of a pipe has closed it.
      gone.abort(Object.assign(new Error('closed'), { code: 'EPIPE' }));
      return code;
    },
  };
}

test.each([
  [[], 'What happens in every organization from now on; Ctrl-C ends.'],
  [['--org', 'acme'], 'What happens in acme from now on; Ctrl-C ends.'],
])('tail %j in a terminal says whose events it prints', async (options, sentence) => {
  const following = startTail(true, ...options, '--data', app.folder);
  await eventually(() => expect(following.text()).toContain(sentence));
  expect(await following.end()).toBe(0);
});

describe('tail --follow', () => {
  const follow = (...args: readonly string[]): Following => startTail(false, ...args);

  test('tells what happens, live, and again after the connection was lost', async () => {
    const proxy = await startProxy(app.url);
    await login(ann, proxy.url);
    const following = follow('--follow', '--json');
    const lines = (): { type: string; conversationId: string; payload: { preview?: string } }[] =>
      following
        .text()
        .trimEnd()
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line));
    try {
      await eventually(() => expect(following.said()).toContain('Listening to acme'));
      const id = await createConversation(visitor, 'Live');
      await createMessage(visitor, id, 'first');
      await eventually(() =>
        expect(lines().map(({ type }) => type)).toEqual(
          expect.arrayContaining(['conversation:new', 'conversation:activity']),
        ),
      );
      await ann.call('POST', `/conversations/${id}/accept`);
      await eventually(() =>
        expect(lines()).toContainEqual(
          expect.objectContaining({ type: 'conversation:accepted', conversationId: id }),
        ),
      );
      proxy.refuse(true);
      proxy.cutAll();
      await eventually(() => expect(following.said()).toContain('The connection is lost'));
      await createMessage(visitor, id, 'while it was offline');
      proxy.refuse(false);
      await eventually(
        () =>
          expect(lines().at(-1), following.said()).toMatchObject({
            conversationId: id,
            payload: { preview: 'while it was offline' },
          }),
        20_000,
      );
      expect(following.said()).toContain('The connection is back');
      expect(lines().filter(({ payload }) => payload.preview === 'while it was offline')).toHaveLength(1);
      expect(await following.end()).toBe(0);
      // The end that was asked for is no other loss.
      expect(following.said().match(/The connection is lost/g)).toHaveLength(1);
    } finally {
      await following.end();
      await proxy.stop();
    }
  });

  test('says whose words a line shows, and which are a note', async () => {
    await login();
    const following = follow('--follow');
    await eventually(() => expect(following.said()).toContain('Listening to acme'));
    const id = await createConversation(visitor, 'Whose');
    await visitor.call('PUT', '/visitor', { name: 'Vera' });
    await createMessage(visitor, id, 'a question');
    await eventually(() => expect(following.text()).toMatch(/ {2}Vera: a question$/m));
    await ann.call('POST', `/conversations/${id}/messages`, { content: 'a guess', internal: true });
    await eventually(() => expect(following.text()).toMatch(/ {2}Ann \(note\): a guess$/m));
    expect(await following.end()).toBe(0);
  });

  test('ends with a sentence when the session is ended elsewhere', async () => {
    const eva = await createMember(app, 'acme', 'operator', 'Eva');
    await login(eva);
    const following = follow('--url', app.url);
    await eventually(() => expect(following.said()).toContain('Listening'));
    await app.local('members.update', { memberId: eva.id, disabled: true });
    await eventually(() => expect(following.said()).toMatch(/has ended\. Sign in again: .*login/));
    expect(await following.end()).toBe(1);
  });

  test('without any sign-in and without a data folder it says how to sign in', () =>
    expectFailure(1, /Sign in: .*login/, ['tail', '--follow']));
});
