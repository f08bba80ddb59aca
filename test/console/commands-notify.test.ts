// Owns: the command line's part of being told: what a member is told of, the test that names the broken link, the key for
// pushes and what doctor says of it, the steps for conversations that no member accepts.
import { describe, expect, test } from 'vitest';
import { inProcess } from '../helpers/cli.ts';
import { ann, app, document, expectFailure, login, withCommands } from './command-fixture.ts';

withCommands();

describe('deskbell notify', () => {
  test('lists and changes what a member is told of', async () => {
    await login(ann);
    expect(await document('notify', 'list')).toMatchObject({
      preview: 'name',
      quietHours: null,
      devices: [],
    });
    const changed = await document(
      'notify',
      'set',
      'new.push=off',
      'reply.email=off',
      'preview=none',
      'quiet=22:00-07:00',
    );
    expect(changed).toMatchObject({
      events: { new: { push: false, bell: true }, reply: { email: false } },
      preview: 'none',
      quietHours: { from: '22:00', to: '07:00' },
    });
    const { stdout } = await inProcess(['notify', 'list']);
    expect(stdout).toMatch(/new +off +off +on/);
    expect(stdout).toMatch(/22:00 to 07:00/);
    expect(
      await document('notify', 'set', 'quiet=off', 'preview=name', 'new.push=on', 'reply.email=on'),
    ).toMatchObject({
      quietHours: null,
    });
    await expectFailure(2, /is no change/, ['notify', 'set', 'new.pigeon=on']);
    await expectFailure(2, /quiet=22:00-07:00/, ['notify', 'set', 'quiet=always']);
  });

  test('names each way that does not work, and fails', async () => {
    await login(ann);
    const { code, stdout, stderr } = await inProcess(['notify', 'test']);
    expect([code, stderr]).toEqual([1, 'Not every way works: push, email, bell.\n']);
    expect(stdout).toMatch(/FAILED.*push: no browser of yours/);
    expect(stdout).toMatch(/FAILED.*email: no mail server is configured/);
    expect(stdout).toMatch(/FAILED.*bell: no dashboard or console/);
  });

  test('makes a new key, of which doctor knows', async () => {
    const before = (await ann.call('GET', '/push')).body.publicKey;
    const args = ['--data', app.folder];
    const made = await inProcess(['notify', 'rotate-key', '--json', ...args]);
    const { publicKey } = JSON.parse(made.stdout) as { publicKey: string };
    expect([publicKey === before, (await ann.call('GET', '/push')).body.publicKey]).toEqual([
      false,
      publicKey,
    ]);
    const doctor = await inProcess(['doctor', '--json', '--port', '0', ...args]);
    const { checks } = JSON.parse(doctor.stdout) as {
      checks: { about: string; state: string; found: string }[];
    };
    expect(checks.find(({ about }) => about === 'push')).toMatchObject({
      state: 'ok',
      found: '0 browsers are sent pushes',
    });
  });
});

describe('deskbell org set --escalate', () => {
  test('takes steps, and none', async () => {
    const args = ['--data', app.folder, '--json'];
    const set = async (...steps: string[]) =>
      JSON.parse(
        (await inProcess(['org', 'set', 'acme', ...steps.flatMap((one) => ['--escalate', one]), ...args]))
          .stdout,
      ) as { escalation: unknown };
    expect((await set('10:all:email', '2:available:push,bell')).escalation).toEqual([
      { afterMinutes: 2, to: 'available', ways: ['push', 'bell'] },
      { afterMinutes: 10, to: 'all', ways: ['email'] },
    ]);
    expect((await set('off')).escalation).toEqual([]);
    expect((await inProcess(['org', 'set', 'acme', '--escalate', 'soon', ...args])).stderr).toContain(
      'is no step',
    );
  });
});
