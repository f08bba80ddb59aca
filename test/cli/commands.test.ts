// Owns: every command of the owner, run as a person or a script runs it: the real bin,
// its JSON shapes, its text, and what it leaves on the data folder.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  deskbell,
  deskbellJson,
  deskbellProcessJson,
  ensureBuilt,
  inProcess,
  temporaryFolder,
} from '../helpers/cli.ts';

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const isUuid: unknown = expect.stringMatching(uuid);

let data: string;
let remove: () => Promise<void>;
let organizationId: string;
let appId: string;

const on = (...args: string[]): string[] => [...args, '--data', data];

beforeAll(async () => {
  await ensureBuilt();
  ({ folder: data, remove } = await temporaryFolder());
  organizationId = (await deskbellJson(on('org', 'create', 'Acme GmbH'))).id;
  appId = (
    await deskbellJson(
      on(
        'app',
        'create',
        'Shop',
        '--org',
        'acme-gmbh',
        '--domain',
        'Shop.Example',
        '--domain',
        'localhost:3000',
      ),
    )
  ).appId;
});
afterAll(() => remove());

describe('organizations', () => {
  test('create answers id, name, slug and plan, and nothing else', async () => {
    const made = await deskbellJson(on('org', 'create', 'Beta', '--slug', 'b2'));
    expect(made).toEqual({ id: isUuid, name: 'Beta', slug: 'b2', plan: 'free' });
    const twice = await deskbell(on('org', 'create', 'Beta', '--slug', 'b2'));
    expect(twice).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(/^There is an organization b2 already[^\n]*\n$/),
    });
    expect(await deskbellJson(on('org', 'delete', 'b2', '--yes'))).toEqual({ success: true });
    expect((await deskbell(on('org', 'show', 'b2'))).code).toBe(1);
  });

  test('list, show, plan, limits and usage', async () => {
    const { items } = await deskbellJson<{ items: unknown[] }>(on('org', 'list'));
    expect(items).toEqual([
      expect.objectContaining({ id: organizationId, slug: 'acme-gmbh', applications: 1, members: 0 }),
    ]);
    expect(await deskbellJson(on('org', 'show', organizationId.toUpperCase()))).toMatchObject({
      slug: 'acme-gmbh',
      plan: 'free',
    });
    const refused = await deskbell(on('org', 'limits', 'acme-gmbh', '--seats', '9'));
    expect(refused).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('deskbell org plan acme-gmbh enterprise'),
    });
    expect(await deskbellJson(on('org', 'plan', 'acme-gmbh', 'enterprise'))).toMatchObject({
      plan: 'enterprise',
    });
    const limited = await deskbellJson(
      on(
        'org',
        'limits',
        'acme-gmbh',
        '--seats',
        '9',
        '--retention-days',
        'unlimited',
        '--applications',
        '4',
        '--requests-per-minute',
        '77',
      ),
    );
    expect(limited).toMatchObject({
      limits: { seats: 9, retentionDays: null, applications: 4, requestsPerMinute: 77 },
    });
    const back = await deskbellJson(on('org', 'limits', 'acme-gmbh', '--seats', 'plan'));
    expect(back).toMatchObject({ limits: { seats: null, applications: 4 } });
    // They end with the plan that has them; to go back to the plan's is no limit of one's own.
    expect(await deskbellJson(on('org', 'plan', 'acme-gmbh', 'premium'))).toMatchObject({
      limits: { seats: 25, applications: 10, requestsPerMinute: 6_000 },
      ownLimits: {
        seats: null,
        retentionDays: null,
        applications: null,
        requestsPerMinute: null,
        fileBytes: null,
      },
    });
    expect((await deskbell(on('org', 'limits', 'acme-gmbh', '--seats', 'plan'))).code).toBe(0);
    expect(await deskbellJson(on('org', 'plan', 'acme-gmbh', 'enterprise'))).toMatchObject({
      limits: { seats: null, requestsPerMinute: 60_000 },
    });
    // What was set is to be seen, and not in JSON alone.
    expect((await deskbell(on('org', 'set', 'acme-gmbh', '--release-after', '10'))).stdout).toMatch(
      /^absent members +lose their conversations after 10 min$/m,
    );
    expect((await deskbell(on('org', 'set', 'acme-gmbh', '--release-after', 'never'))).stdout).toMatch(
      /^absent members +keep their conversations$/m,
    );
    expect(await deskbellJson(on('org', 'usage', 'acme-gmbh'))).toMatchObject({
      organizationId,
      conversations: 0,
      messages: 0,
    });
  });
});

describe('applications and domains', () => {
  test('create answers id, appId, organizationId, name and domains, and nothing else', async () => {
    const made = await deskbellJson(on('app', 'create', 'Second', '--org', organizationId));
    expect(made).toEqual({ id: isUuid, appId: made.id, organizationId, name: 'Second', domains: [] });
    const { items } = await deskbellJson<{ items: { appId: string; domains: string[] }[] }>(
      on('app', 'list', '--org', 'acme-gmbh'),
    );
    expect(items.find((one) => one.appId === appId)?.domains.toSorted()).toEqual([
      'localhost:3000',
      'shop.example',
    ]);
    expect(await deskbellJson(on('app', 'delete', made.appId, '--yes'))).toEqual({ success: true });
    expect((await deskbell(on('app', 'show', made.appId))).code).toBe(1);
  });

  test('config takes JSON where it is JSON, text elsewhere, all or nothing', async () => {
    const changed = await deskbellJson(
      on(
        'app',
        'config',
        appId,
        '--set',
        'appearance.colors.primary=#FF0000',
        '--set',
        'behavior.greeting=Hi=there',
        '--set',
        'behavior.businessHours={"week":{"monday":[{"open":"09:00","close":"17:30"}]}}',
      ),
    );
    expect(changed).toMatchObject({
      settings: {
        appearance: { colors: { primary: '#ff0000' } },
        behavior: {
          greeting: 'Hi=there',
          businessHours: { week: { monday: [{ open: '09:00', close: '17:30' }] } },
        },
      },
    });
    const refused = await deskbell(
      on('app', 'config', appId, '--set', 'locale=de', '--set', 'behavior.timezone=Mars/Base'),
    );
    expect(refused).toMatchObject({
      code: 2,
      stdout: '',
      stderr: expect.stringMatching(/^behavior\.timezone [^\n]*\n$/),
    });
    // An address is --email elsewhere.
    expect((await deskbell(on('app', 'config', appId, '--set', 'email.mode=foo'))).stderr).toBe(
      'email.mode must be off, replies or inbox.\n',
    );
    for (const path of ['__proto__.x', 'constructor.x', 'toString.x', 'toString', 'behavior.__proto__.x'])
      expect(await deskbell(on('app', 'config', appId, '--set', `${path}=1`))).toMatchObject({
        code: 2,
        stdout: '',
        stderr: `${path} is not a setting; see: deskbell app config ID.\n`,
      });
    expect(await deskbellJson(on('app', 'config', appId))).toMatchObject({ settings: { locale: null } });
  });

  test('a domain is added, listed and removed; a suffix is warned of', async () => {
    expect(await deskbellJson(on('domain', 'add', '--app', appId, 'https://Example.com:443'))).toMatchObject({
      domain: 'https://example.com',
      applicationId: appId,
    });
    const warned = await deskbell(on('domain', 'add', '--app', appId, 'github.io'));
    expect(warned).toMatchObject({ code: 0, stderr: expect.stringContaining('github.io') });
    const { items } = await deskbellJson<{ items: { domain: string }[] }>(
      on('domain', 'list', '--app', appId),
    );
    expect(items.map((one) => one.domain)).toEqual(
      expect.arrayContaining(['https://example.com', 'github.io']),
    );
    expect(await deskbellJson(on('domain', 'remove', '--app', appId, 'github.io'))).toEqual({
      success: true,
    });
    expect((await deskbell(on('domain', 'remove', '--app', appId, 'github.io'))).code).toBe(1);
  });

  test('snippet names the application and the address, and warns of a local one', async () => {
    const local = await deskbell(on('snippet', '--app', appId));
    expect(local).toMatchObject({
      code: 0,
      stdout: expect.stringContaining(appId),
      stderr: expect.stringContaining('--base-url'),
    });
    // The package is in no registry, where anyone could take its name.
    expect(local.stdout).not.toContain('npm install');
    const base = 'https://chat.example.com';
    const { code, stdout, stderr } = await deskbell(
      on('snippet', '--app', appId, '--base-url', base, '--json'),
    );
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const { snippets, ...rest } = JSON.parse(stdout) as { snippets: { name: string; code: string }[] };
    expect(rest).toEqual({ appId, baseUrl: base, domains: expect.any(Array) });
    // Settled: a snippet that keeps calls, one tag, the npm package.
    expect(snippets.map((snippet) => snippet.code)).toEqual([
      expect.stringContaining(
        `deskbell('init', { appId: '${appId}' });\n</script>\n<script async src="${base}/widget.js"></script>`,
      ),
      `<script async src="${base}/widget.js" data-app-id="${appId}"></script>`,
      `import { init } from '@deskbell/sdk';\nawait init({ appId: '${appId}', apiBaseUrl: '${base}' });`,
    ]);
  });
});

describe('keys', () => {
  test('create answers id, key, mode, applicationId and name; list never shows a key', async () => {
    const made = await deskbellJson(on('key', 'create', '--app', appId, '--test', '--name', 'ci'));
    expect(made).toEqual({
      id: isUuid,
      key: expect.stringMatching(/^dbk_test_\w+$/),
      mode: 'test',
      applicationId: appId,
      name: 'ci',
    });
    const list = await deskbell(on('key', 'list', '--app', appId, '--json'));
    expect(list.stdout).not.toContain(made.key);
    expect(JSON.parse(list.stdout)).toMatchObject({ items: [{ id: made.id, mode: 'test' }] });
    expect(await deskbellJson(on('key', 'reveal', made.id))).toEqual(made);
    const next = await deskbellJson(on('key', 'rotate', made.id, '--grace', '30m'));
    expect(next).toMatchObject({ mode: 'test', name: 'ci', key: expect.not.stringMatching(made.key) });
    const { items } = await deskbellJson<{
      items: { id: string; expiresAt: string | null; createdAt: string }[];
    }>(on('key', 'list', '--app', appId));
    const old = items.find((one) => one.id === made.id)!;
    const successor = items.find((one) => one.id === next.id)!;
    // The two moments lie within one operation: to the minute is exact enough.
    expect(Math.round((Date.parse(old.expiresAt!) - Date.parse(successor.createdAt)) / 60_000)).toBe(30);
    expect(await deskbellJson(on('key', 'revoke', next.id))).toEqual({ success: true });
    const over = await deskbell(on('key', 'rotate', next.id));
    expect([over.code, over.stderr]).toEqual([1, expect.stringContaining(`key create --app ${appId}`)]);
    expect((await deskbell(on('key', 'rotate', made.id, '--grace', 'soon'))).code).toBe(2);
  });
});

test('an empty list says whether there is nothing, or nothing of what was asked for', async () => {
  const seen = async (...args: readonly string[]): Promise<string> =>
    (await inProcess(on(...args), { terminal: true })).stdout.trim();
  const hook = 'https://hooks.example.com/';
  const { id } = await deskbellJson(on('webhook', 'create', hook, '--org', 'acme-gmbh'));
  expect(await seen('audit', '--search', 'nothing like it')).toBe('No such entries.');
  expect(await seen('mail', 'log', '--org', 'acme-gmbh', '--status', 'failed')).toBe('No such entries.');
  expect(await seen('webhook', 'deliveries', id, '--status', 'failed')).toBe('No such deliveries.');
  expect(await seen('webhook', 'deliveries', id)).toBe('Nothing was sent yet.');
});

describe('members', () => {
  test('add, list, role, password, disable, enable, remove', async () => {
    const added = await deskbellJson(
      on(
        'member',
        'add',
        '--org',
        'acme-gmbh',
        '--email',
        'Ada@Example.com',
        '--name',
        'Ada',
        '--role',
        'admin',
        '--password-stdin',
      ),
      { input: 'correct horse\n' },
    );
    expect(added).toEqual({
      id: isUuid,
      email: 'ada@example.com',
      name: 'Ada',
      role: 'admin',
      organizationId,
    });
    // Who was invited has no password yet.
    const invite = ['member', 'invite', '--org', 'acme-gmbh', '--email', 'cy@example.com', '--name', 'Cy'];
    const { id: cy } = await deskbellJson<{ id: string }>(on(...invite, '--role', 'operator'));
    expect((await deskbell(on('member', 'list', '--org', 'acme-gmbh'))).stdout).toMatch(
      /cy@example\.com +operator +none +enabled/,
    );
    await deskbellJson(on('member', 'remove', cy, '--yes'));
    const bob = await deskbellProcessJson(
      on(
        'member',
        'add',
        '--org',
        'acme-gmbh',
        '--email',
        'bob@example.com',
        '--name',
        'Bob',
        '--role',
        'operator',
      ),
      { env: { DESKBELL_PASSWORD: 'from a variable' } },
    );
    const last = await deskbell(on('member', 'remove', added.id, '--yes'));
    expect(last).toMatchObject({ code: 1, stderr: expect.stringContaining('last admin') });
    expect(await deskbellJson(on('member', 'role', bob.id, 'admin'))).toMatchObject({ role: 'admin' });
    expect(
      await deskbellJson(on('member', 'password', bob.id, '--password-stdin'), { input: 'another one' }),
    ).toMatchObject({
      id: bob.id,
    });
    expect(await deskbellJson(on('member', 'disable', bob.id))).toMatchObject({ disabled: true });
    expect(await deskbellJson(on('member', 'enable', bob.id))).not.toHaveProperty('disabled');
    const { items } = await deskbellJson<{ items: unknown[] }>(on('member', 'list', '--org', 'acme-gmbh'));
    expect(items).toHaveLength(2);
    expect(JSON.stringify(items)).not.toMatch(/password|scrypt|hash/i);
    expect(await deskbellJson(on('member', 'remove', bob.id, '--yes'))).toEqual({ success: true });
  });
});

test('piped text has no colours and no advice', async () => {
  const list = await deskbell(on('org', 'list'), { env: { FORCE_COLOR: '1' } });
  expect(list.stdout).toMatch(/^SLUG +NAME/);
  expect(list.stdout).not.toContain('\u001b');
  const made = await deskbell(on('org', 'create', 'Plain'));
  expect(made.stdout).not.toContain('Next');
  expect(made.stdout).not.toContain('\u001b');
});
