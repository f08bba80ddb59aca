// Owns: the questions of the first run, asked over streams of ours, and what comes of
// the answers. The same code asks on a real terminal.
import { PassThrough } from 'node:stream';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { askFirstQuestions, createFirstResources, type FirstAnswers } from '../../src/cli/first-run.ts';
import { localOn } from '../../src/cli/local.ts';
import { openPrompt } from '../../src/cli/prompt.ts';
import { readConfig } from '../../src/config.ts';
import { openService } from '../../src/open-service.ts';
import { outputStream, temporaryFolder } from '../helpers/cli.ts';
import { eventually } from '../helpers/eventually.ts';

/** Types lines, one after each question, as a person does. */
async function answer(
  lines: readonly string[],
  leave = false,
): Promise<{ answers: FirstAnswers; shown: string }> {
  const input = new PassThrough();
  const errors = outputStream(false);
  const asked = askFirstQuestions({ input, errors });
  for (const line of lines) input.write(`${line}\n`);
  if (leave) input.end();
  return { answers: await asked, shown: errors.text() };
}

describe('the questions', () => {
  test('good answers come back as they are', async () => {
    const { answers } = await answer([
      'Äcme 東京',
      ' Ada ',
      'ada@example.com',
      'correct horse',
      'correct horse',
      'shop.example',
    ]);
    expect(answers).toEqual({
      organization: 'Äcme 東京',
      name: 'Ada',
      email: 'ada@example.com',
      password: 'correct horse',
      domain: 'shop.example',
    });
  });

  test('a bad answer is said and asked again; no password is ever shown', async () => {
    const { answers, shown } = await answer([
      '',
      'Acme',
      'Ada',
      'unknown',
      'ada@example.com',
      'short',
      'Password1',
      'first secret',
      'other secret',
      'third secret',
      'third secret',
      '*.com',
      '',
    ]);
    expect(answers).toEqual({
      organization: 'Acme',
      name: 'Ada',
      email: 'ada@example.com',
      password: 'third secret',
      domain: null,
    });
    for (const said of [
      '1 to 100 characters',
      'not an e-mail',
      'at least 8',
      'are tried first',
      'differ',
      '*.com would let in',
    ])
      expect(shown).toContain(said);
    expect(shown).not.toMatch(/secret|short/);
    expect(shown.match(/Once more: /g)).toHaveLength(2);
  });

  test('on a terminal what is typed is echoed, but not a password; Ctrl-C leaves', async () => {
    const input = Object.assign(new PassThrough(), { isTTY: true, setRawMode: () => input });
    const errors = outputStream(true);
    const asked = askFirstQuestions({ input, errors });
    const left = asked.catch((error: unknown) => error);
    // A terminal gets each answer only once its question stands there.
    for (const [question, typed] of [
      ['Organization: ', 'Acme\r'],
      ['visitors see it', 'Ada\r'],
      ['e-mail address: ', 'ada@example.com\r'],
      ['A password', 'correct horse\r'],
      ['Once more: ', 'correct horse\r'],
      ['Your website', '\u0003'],
    ] as const) {
      await eventually(() => expect(errors.text()).toContain(question));
      input.write(typed);
    }
    expect(await left).toMatchObject({
      name: 'CommandError',
      message: expect.stringContaining('nothing was created'),
    });
    expect(errors.text()).toContain('ada@example.com');
    expect(errors.text()).not.toContain('horse');
  });

  test.each([0, 1, 3, 4, 5])('leaving after %i answers ends it in one sentence', async (count) => {
    const lines = ['Acme', 'Ada', 'ada@example.com', 'correct horse', 'correct horse'].slice(0, count);
    await expect(answer(lines, true)).rejects.toMatchObject({
      name: 'CommandError',
      message: expect.stringContaining('nothing was created'),
    });
  });
});

test('leaving another question says that nothing was changed', async () => {
  const prompt = openPrompt(new PassThrough().end(), outputStream(false));
  await expect(prompt.ask('Which? ', () => null)).rejects.toThrow('Stopped; nothing was changed.');
});

describe('what comes of the answers', () => {
  let folder: string;
  let remove: () => Promise<void>;
  beforeEach(async () => ({ folder, remove } = await temporaryFolder()));
  afterEach(() => remove());

  test.each(['shop.example', null])(
    'an organization, an application and an admin who can sign in (domain %s)',
    async (domain) => {
      const { service, close } = await openService(
        readConfig({ data: join(folder, 'data') }, {}),
        'command',
        () => null,
        {
          passwordCost: 4,
        },
      );
      const made = await createFirstResources(localOn(service), {
        organization: 'Acme',
        name: 'Ada',
        email: 'ada@example.com',
        password: 'correct horse',
        domain,
      });
      expect(made).toMatchObject({
        organization: { name: 'Acme', slug: 'acme', plan: 'free' },
        application: { organizationId: made.organization.id, domains: domain === null ? [] : [domain] },
        member: { role: 'admin', email: 'ada@example.com' },
        stopped: false,
      });
      const { execute } = await import('../../src/services/execute.ts');
      const call = {
        service,
        actor: { kind: 'anonymous' },
        address: '127.0.0.1',
        contentLimit: 5000,
      } as const;
      expect(
        await execute(call, 'session.create', {
          organization: 'acme',
          email: 'ada@example.com',
          password: 'correct horse',
        }),
      ).toHaveProperty('token');
      await close();
    },
  );
});
