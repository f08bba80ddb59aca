// Owns: what happens to a command line that can't work: exit code 2 or 1, one line on
// stderr that says what to do, nothing on stdout, nothing made.
import { existsSync } from 'node:fs';
import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { withDefaultCommand } from '../../src/cli/main.ts';
import { settings } from '../../src/config.ts';
import { deskbell, ensureBuilt, inProcess, temporaryFolder } from '../helpers/cli.ts';
import { openPty } from '../helpers/terminal.ts';

const oneLine = /^[^\n]+\n$/;
const someId = '0198c5a0-0000-7000-8000-000000000000';

let folder: string;
let data: string;
let appId: string;
let remove: () => Promise<void>;

beforeAll(async () => {
  ({ folder, remove } = await temporaryFolder());
  data = join(folder, 'data');
  for (const name of ['Acme', 'Small']) await inProcess(['org', 'create', name, '--data', data]);
  await inProcess(['org', 'plan', 'acme', 'premium', '--data', data]);
  await inProcess(['app', 'create', 'Only', '--org', 'small', '--data', data]);
  const made = await inProcess(['app', 'create', 'Shop', '--org', 'acme', '--data', data, '--json']);
  appId = (JSON.parse(made.stdout) as { appId: string }).appId;
});
afterAll(() => remove());

async function expectRefused(
  args: readonly string[],
  code: 1 | 2,
  line: string | RegExp,
  input?: string,
): Promise<void> {
  const outcome = await inProcess(args, input === undefined ? {} : { input });
  expect({ ...outcome, args }).toEqual({ args, code, stdout: '', stderr: expect.stringMatching(oneLine) });
  expect(outcome.stderr).toMatch(line);
}

test.each([
  [['frobnicate'], /has no command "frobnicate".*serve/],
  [['org'], /^deskbell org needs a command: create, list/],
  [['org', 'frobnicate'], /deskbell org has no command "frobnicate"/],
  [['frobnicate', '--org', 'acme'], /^deskbell has no command "frobnicate".*serve/],
  [['org', 'frobnicate', '--slug=x', '--json'], /^deskbell org has no command "frobnicate"/],
  [['org', '--slug', 'x'], /^Unknown option '--slug'\. See: deskbell org --help/],
  [['help', 'frobnicate'], /^deskbell has no command "frobnicate".*serve/],
  [['help', 'org', 'frobnicate'], /^deskbell org has no command "frobnicate"/],
  [['org', 'create'], /Missing required argument.*See: deskbell org create --help/],
  [['org', 'create', 'A', 'B'], /Too many arguments/],
  [['org', 'create', 'A', '--sluggg', 'x'], /Unknown option '--sluggg'.*--slug/],
  [['org', 'plan', 'acme', 'gold'], /free, premium, enterprise/],
  [['org', 'limits', 'acme', '--seats', '0'], /whole number of at least 1/],
  [['org', 'limits', 'acme', '--seats', '1e3'], /whole number/],
  [['org', 'delete', 'acme'], /--yes/],
  [['app', 'create', 'A'], /--org/],
  [['app', 'show', 'not-an-id'], /The application id must be a UUID\./],
  [['app', 'delete', someId], /--yes/],
  [['app', 'config', someId, '--set', 'locale'], /--set path=value/],
  [['key', 'create'], /--app/],
  [['key', 'rotate', someId, '--grace', '-1h'], /24h/],
  [['audit', '--since', 'soon'], /Write for example 24h, 30m or 7d\. See: deskbell audit --help/],
  [['key', 'rotate', someId, '--grace', '91d'], /^--grace must be at most 90 days\.$/m],
  [['webhook', 'rotate', someId, '--overlap', '91d'], /^--overlap must be at most 90 days\.$/m],
  [['org', 'set', 'acme', '--release-after', '1441'], /^--release-after must be at most 1440\.$/m],
  [['org', 'set', 'acme', '--escalate', '1441:all:push'], /^--escalate must be at most 1440\.$/m],
  [['export', '--visitor', someId, '--app', 'x'], /^--app must be a UUID\.$/m],
  [['stats', '--org', 'acme', '--from', '2026-01-01'], /^--from must be a time like /m],
  [['stats', '--org', 'acme', '--to', 'soon'], /^--to must be a time like /m],
  [['member', 'remove', someId], /--yes/],
  [['member', 'role', someId, 'boss'], /admin, operator/],
  [
    [
      'member',
      'add',
      '--org',
      'acme',
      '--email',
      'a@b.co',
      '--name',
      'A',
      '--role',
      'admin',
      '--password',
      'secret-in-argv',
    ],
    /Unknown option '--password'/,
  ],
  [['demo', '--data', '.'], /leave --data out/],
  [['healthcheck', '--url', 'nonsense'], /not an address/],
])('wrong usage: deskbell %j', async (args, line) => {
  const elsewhere = join(folder, 'never');
  await expectRefused(args[0] === 'demo' ? args : [...args, '--data', elsewhere], 2, line);
  expect(existsSync(elsewhere)).toBe(false);
});

test.each([
  'null',
  '*',
  '*.com',
  '*.co.uk',
  'https://',
  'example.com/x',
  'exa mple.com',
  'javascript:1',
  '..',
  '-a.com',
  `${'a.'.repeat(126)}aa`,
  '',
])('the domain %j is refused and nothing stored', async (domain) => {
  await expectRefused(['domain', 'add', '--app', appId, '--data', data, domain], 2, /./);
  await expectRefused(
    ['app', 'create', 'Other', '--org', 'acme', '--data', data, `--domain=${domain}`],
    2,
    /^The domain is not right: /,
  );
  const { items } = JSON.parse(
    (await inProcess(['domain', 'list', '--app', appId, '--data', data, '--json'])).stdout,
  ) as {
    items: unknown[];
  };
  expect(items).toEqual([]);
  expect(
    (
      JSON.parse((await inProcess(['app', 'list', '--org', 'acme', '--data', data, '--json'])).stdout) as {
        items: unknown[];
      }
    ).items,
  ).toHaveLength(1);
});

test.each([
  ['', 'support@acme.example', /^The address on standard input must not be empty\.$/m],
  ['ftp://mail.example.com', 'support@acme.example', /^The address on standard input must be like smtp:/],
  ['smtp://mail.example.com', 'support', /^--address must be an e-mail address\.$/m],
])(
  'a mail server %j that sends as %j is refused by the names of what was typed',
  async (input, address, line) => {
    await expectRefused(
      ['mail', 'server', '--org', 'acme', '--data', data, '--address', address],
      2,
      line,
      input,
    );
  },
);

test.each([
  [['org', 'show', 'unknown'], /No such organization\. See: .*org list --data \S/],
  [['app', 'show', someId], /No such application/],
  [['key', 'revoke', someId], /No such API key/],
  [['member', 'disable', someId], /No such member/],
  [['knowledge', 'show', someId], /No such document\. See: .*knowledge list --app ID --data \S/],
  [['outbox', 'replay', someId], /No such effect\. See: .*outbox list --org S --data \S/],
  [['export', '--visitor', someId], /No such visitor\. See: .*inbox --status all --json/],
  [['tail', '--org', 'unknown'], /No such organization/],
  [
    ['app', 'create', 'Second', '--org', 'small'],
    /as many applications as it may have: 1\. .*deskbell org plan small premium/,
  ],
])('what is not there or not allowed fails with 1: deskbell %j', async (args, line) => {
  await expectRefused([...args, '--data', data], 1, line);
});

test('figures need no name of an organization where there is only one', async () => {
  await expectRefused(
    ['stats', '--data', data],
    2,
    /^Name the organization: --org S\. See: .*org list --data \S/,
  );
  const alone = join(folder, 'alone');
  await inProcess(['org', 'create', 'Alone', '--data', alone]);
  const { code, stdout } = await inProcess(['stats', '--data', alone, '--json']);
  expect({ code, ...JSON.parse(stdout) }).toMatchObject({ code: 0, opened: 0, resolved: 0 });
});

describe('a folder without a database', () => {
  test.each([
    [['org', 'list']],
    [['app', 'list', '--org', 'x']],
    [['domain', 'list', '--app', someId]],
    [['key', 'list', '--app', someId]],
    [
      [
        'member',
        'add',
        '--org',
        'x',
        '--email',
        'a@b.co',
        '--name',
        'A',
        '--role',
        'admin',
        '--password-stdin',
      ],
    ],
    [['snippet', '--app', someId]],
    [['tail']],
  ])('deskbell %j names it and makes nothing', async (args) => {
    const elsewhere = join(folder, 'nothing-here');
    await expectRefused([...args, '--data', elsewhere], 1, elsewhere, 'a password');
    expect(existsSync(elsewhere)).toBe(false);
  });

  test('a wrong name for the first organization makes no folder either', async () => {
    const elsewhere = join(folder, 'not-yet');
    await expectRefused(['org', 'create', ' ', '--data', elsewhere], 2, /name/);
    expect(existsSync(elsewhere)).toBe(false);
  });
});

describe('settings', () => {
  test('--data and --json are taken before and after the command', async () => {
    const places = [
      ['--data', data, '--json', 'org', 'list'],
      ['org', '--json', `--data=${data}`, 'list'],
      ['org', 'list', '--json', '--data', data],
    ];
    const answers = await Promise.all(places.map((args) => inProcess(args)));
    for (const answer of answers) expect(answer).toEqual({ code: 0, stdout: answers[0]!.stdout, stderr: '' });
    expect(JSON.parse(answers[0]!.stdout)).toMatchObject({
      items: expect.arrayContaining([expect.objectContaining({ slug: 'acme' })]),
    });
  });

  const bad: Record<string, string> = {
    data: 'x\0',
    baseUrl: 'chat.example.com/path',
    host: 'a b',
    durability: 'maybe',
    logLevel: 'loud',
    aiModel: 'a b',
    aiEmbeddingModel: 'a b',
  };
  const others = Object.entries(settings).filter(([name]) => name !== 'data');

  test.each(others)('a bad value of %s is refused, by flag, with its name', async (name, { flag }) => {
    const elsewhere = join(folder, 'unset');
    await expectRefused(['serve', '--data', elsewhere, `--${flag}`, bad[name] ?? 'abc'], 2, `--${flag} is `);
    expect(existsSync(elsewhere)).toBe(false);
  });

  test('a bad value in each variable is refused with its name', async () => {
    await ensureBuilt();
    for (const [name, { variable }] of others) {
      const elsewhere = join(folder, 'unset');
      const outcome = await deskbell(['serve', '--data', elsewhere], {
        env: { [variable]: bad[name] ?? 'abc' },
      });
      expect(outcome).toMatchObject({ code: 2, stdout: '', stderr: expect.stringMatching(oneLine) });
      expect(outcome.stderr).toContain(`${variable} is `);
      expect(existsSync(elsewhere)).toBe(false);
    }
  });

  test('an empty name of the data folder is refused, and not taken for the folder one is in', async () => {
    for (const args of [
      ['serve', '--data', ''],
      ['org', 'list', '--data='],
    ])
      await expectRefused(args, 2, /^--data is "", which is not valid: it must name a folder\.$/m);
  });

  test('a setting that takes more than one form names all of them', async () => {
    const refusalOf = async (...args: readonly string[]): Promise<string> =>
      (await inProcess(['serve', ...args, '--data', join(folder, 'never')])).stderr;
    expect(await refusalOf('--files', '/srv/files')).toMatch(/like s3:.*or like file:\/\/\/srv\//);
    expect(await refusalOf('--audit-days', 'foo')).toMatch(/from 1 to 36500, or unlimited\.$/m);
  });

  test('serve --help lists every setting with its variable and default', async () => {
    const { stdout, code } = await inProcess(['serve', '--help'], { columns: 500, terminal: true });
    expect(code).toBe(0);
    for (const { flag, variable, fallback } of Object.values(settings)) {
      expect(stdout).toContain(`--${flag} `);
      expect(stdout).toContain(variable);
      if (fallback !== null) expect(stdout).toContain(fallback);
    }
    for (const words of [
      '--files <PLACE>',
      '--clamd <ADDRESS>',
      '--mail-tls-key <FILE>',
      '--files-url <URL>',
    ])
      expect(stdout).toContain(words);
  });
});

test.each([
  [[], ['start']],
  [['--json'], ['start', '--json']],
  [
    ['--data', 'org'],
    ['start', '--data', 'org'],
  ],
  [
    ['--data=x', '--port', '1'],
    ['start', '--data=x', '--port', '1'],
  ],
  [
    ['--data', 'x', 'org', 'list'],
    ['--data', 'x', 'org', 'list'],
  ],
  [['--help'], ['--help']],
  [
    ['--json', '--version'],
    ['--json', '--version'],
  ],
  [['nonsense'], ['nonsense']],
])('%j is read as %j', (argv, expected) => {
  expect(withDefaultCommand(argv)).toEqual(expected);
});

test('the help names only commands that there are, and each of them has its own', async () => {
  const { stdout } = await inProcess(['--help']);
  const names = [...stdout.slice(stdout.indexOf('Commands:')).matchAll(/^ {2}([a-z]+) /gm)].map(
    (match) => match[1]!,
  );
  expect(names).toEqual(
    expect.arrayContaining([
      'serve',
      'demo',
      'org',
      'app',
      'domain',
      'key',
      'member',
      'snippet',
      'tail',
      'healthcheck',
      'help',
    ]),
  );
  expect(names).not.toContain('start');
  for (const name of names.filter((one) => one !== 'help'))
    expect((await inProcess([name, '--help'])).stdout).toContain(`Usage: deskbell ${name}`);
  expect((await inProcess(['help'])).stdout).toBe(stdout);
  const deep = await inProcess(['org', 'create', '--help']);
  expect(await inProcess(['help', 'org', 'create'])).toEqual(deep);
  expect(deep).toMatchObject({ code: 0, stdout: expect.stringContaining('Usage: deskbell org create') });
});

describe('the bin', () => {
  test('without a terminal and without a command it serves: a bad port is said, nothing asked', async () => {
    await ensureBuilt();
    const outcome = await deskbell(['--port', 'abc'], { cwd: folder });
    expect(outcome).toMatchObject({ code: 2, stdout: '', stderr: expect.stringMatching(/^--port is "abc"/) });
    expect((await readdir(folder)).includes('deskbell-data')).toBe(false);
  });

  test('on a terminal the first run says under which short name to sign in', async () => {
    await ensureBuilt();
    const terminal = await openPty(
      ['--data', join(folder, 'first'), '--port', '0'],
      // Wide, so that no line is broken.
      { columns: 200, rows: 40 },
    );
    for (const [question, typed] of [
      ['Organization: ', 'Kettle & Leaf'],
      ['visitors see it', 'Ada'],
      ['e-mail address: ', 'ada@example.com'],
      ['A password', 'correct horse'],
      ['Once more: ', 'correct horse'],
      ['Your website', ''],
    ] as const) {
      await terminal.waitFor(question);
      await terminal.type(`${typed}\n`);
    }
    expect(await terminal.waitFor('Serving, until Ctrl-C')).toMatch(
      /in a browser\. Sign in to the organization kettle-leaf:\n +http:/,
    );
    await terminal.close();
  });

  test('the version needs no database driver; a command that does says what to do without one', async () => {
    // A preload that makes the driver unloadable, as on a machine of another kind.
    const preload = join(folder, 'no-driver.cjs');
    await writeFile(
      preload,
      "process.dlopen = () => { throw Object.assign(new Error('wrong ELF class'), { code: 'ERR_DLOPEN_FAILED' }); };",
    );
    const env = { NODE_OPTIONS: `--require ${preload}` };
    expect(await deskbell(['--version'], { env })).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/),
      stderr: '',
    });
    const list = await deskbell(['org', 'list', '--data', data], { env });
    expect(list).toMatchObject({ code: 1, stdout: '', stderr: expect.stringMatching(oneLine) });
    expect(list.stderr).toContain('npm install');
  });
});
