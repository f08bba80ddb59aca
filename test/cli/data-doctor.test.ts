// Attacks doctor and install-service: every fault that a folder can have must be found,
// and the unit must give away nothing that the server does not need.
import { chmod, readFile, stat, writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { checkClock, checkFileSystem, checkNodeVersion } from '../../src/cli/checks.ts';
import { unitText, unwrittenVariables } from '../../src/cli/commands/install-service.ts';
import { readConfig } from '../../src/config.ts';
import { openConnection } from '../../src/engine/sqlite/connection.ts';
import { deskbell, deskbellJson, ensureBuilt, serve, temporaryFolder } from '../helpers/cli.ts';

const day = 86_400_000;
let folder: string;
let remove: () => Promise<void>;
let names = 0;
const fresh = (): string => join(folder, `data-${(names += 1)}`);

beforeAll(async () => {
  await ensureBuilt();
  ({ folder, remove } = await temporaryFolder());
});
afterAll(() => remove());

/** A folder with an organization in it. */
async function aFolder(): Promise<string> {
  const data = fresh();
  await deskbellJson(['org', 'create', 'Acme', '--data', data]);
  return data;
}

function inFolder(data: string, sql: string): Record<string, unknown>[] {
  const connection = openConnection(join(data, 'deskbell.db'), { durability: 'full', lockTimeoutMs: 5_000 });
  try {
    const statement = connection.prepare(sql);
    if (statement.reader) return statement.all() as Record<string, unknown>[];
    statement.run();
    return [];
  } finally {
    connection.close();
  }
}

describe('doctor', () => {
  type Report = {
    ok: boolean;
    checks: { about: string; state: string; found: string; fix: string | null }[];
  };
  const examine = async (args: readonly string[]): Promise<Report & { code: number | null }> => {
    const { code, stdout } = await deskbell(['doctor', '--json', ...args]);
    return { code, ...(JSON.parse(stdout) as Report) };
  };
  const about = (report: Report, name: string) => report.checks.find((one) => one.about === name);

  it('finds nothing wrong with a folder that is served, and sees the upgrade pass', async () => {
    const data = await aFolder();
    const server = await serve(['--data', data]);
    const report = await examine(['--data', data, '--port', String(server.port), '--base-url', server.url]);
    expect(report.checks.filter(({ state }) => state === 'wrong')).toEqual([]);
    expect(report).toMatchObject({ code: 0, ok: true });
    for (const name of [
      'node',
      'data folder',
      'secret key',
      'schema',
      'integrity',
      'disk',
      'log',
      'file system',
      'clock',
      'port',
      'base URL',
      'websocket',
    ])
      expect(about(report, name), name).toMatchObject({ state: 'ok' });
    expect(
      about(await examine(['--data', await aFolder(), '--port', String(server.port)]), 'port'),
    ).toMatchObject({
      state: 'wrong',
      found: expect.stringContaining('another data folder'),
    });
    await server.running.stop('SIGTERM');
  });

  it('finds what is wrong, each with its remedy, and exits 1', async () => {
    const data = await aFolder();
    await chmod(data, 0o755);
    await chmod(join(data, 'secret.key'), 0o644);
    inFolder(data, 'update audit set created_at = created_at + 1000000000000');
    const taken = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => taken.once('listening', resolve));
    const report = await examine(['--data', data, '--port', String((taken.address() as AddressInfo).port)]);
    taken.close();
    expect(report).toMatchObject({ code: 1, ok: false });
    for (const name of ['data folder', 'rights', 'secret key', 'clock', 'port'])
      expect(about(report, name), name).toMatchObject({
        state: 'wrong',
        fix: expect.stringMatching(/.{10}/),
      });
    await chmod(join(data, 'secret.key'), 0o600);
    await writeFile(join(data, 'deskbell.db'), Buffer.alloc(20_000, 7));
    expect(about(await examine(['--data', data]), 'database')).toMatchObject({
      state: 'wrong',
      fix: expect.stringContaining('restore'),
    });
  });

  it('sees a damaged page, and makes nothing in a folder that is not there', async () => {
    const data = await aFolder();
    const [page] = inFolder(data, "select rootpage from sqlite_master where name = 'organizations'");
    const file = join(data, 'deskbell.db');
    const bytes = await readFile(file);
    bytes.fill(0xff, (Number(page?.['rootpage']) - 1) * 4096, (Number(page?.['rootpage']) - 1) * 4096 + 4096);
    await writeFile(file, bytes);
    // With the folder: a restore without it would go into the usual one.
    const advice = expect.stringContaining(`restore FILE --force --data ${data}`);
    expect((await examine(['--data', data])).checks).toContainEqual(
      expect.objectContaining({
        about: expect.stringMatching(/integrity|database/),
        state: 'wrong',
        fix: advice,
      }),
    );
    await writeFile(file, 'no database');
    expect(await deskbell(['org', 'list', '--data', data])).toMatchObject({ code: 1, stderr: advice });
    const nowhere = fresh();
    expect((await examine(['--data', nowhere, '--port', '0'])).code).toBe(0);
    expect(
      about(await examine(['--data', nowhere, '--port', '0', '--mail-round-trip']), 'mail round trip'),
    ).toEqual(expect.objectContaining({ state: 'note', found: expect.stringContaining('no mail was sent') }));
    expect(await stat(nowhere).catch(() => null)).toBeNull();
  });

  it('does not promise a folder that can’t be made', async () => {
    const file = join(await aFolder(), 'deskbell.db');
    const report = await examine(['--data', join(file, 'data'), '--port', '0']);
    expect(report.code).toBe(1);
    expect(about(report, 'data folder')).toMatchObject({
      state: 'wrong',
      found: expect.stringContaining(`can't be made: ${file} is no folder`),
      fix: expect.stringContaining('--data'),
    });
  });

  it('knows versions, file systems and clocks', () => {
    const range = '^22.22.2 || ^24.14.1 || >=26.0.0';
    expect(
      ['22.22.2', '22.23.0', '24.14.1', '26.0.0', '28.1.0'].map(
        (version) => checkNodeVersion(version, range).state,
      ),
    ).toEqual(Array(5).fill('ok'));
    expect(
      ['20.20.2', '22.22.1', '22.0.0', '23.9.0', '24.14.0', '25.1.0'].map(
        (version) => checkNodeVersion(version, range).state,
      ),
    ).toEqual(Array(6).fill('wrong'));
    expect([0x6969, 0xff534d42, -11317950, 0xef53].map((type) => checkFileSystem(type).state)).toEqual([
      'wrong',
      'wrong',
      'wrong',
      'ok',
    ]);
    const now = Date.UTC(2026, 10, 21);
    expect(
      [
        checkClock(0, null),
        checkClock(now, now + 2 * day),
        checkClock(now, now - 40 * day),
        checkClock(now, now),
      ].map(({ state }) => state),
    ).toEqual(['wrong', 'wrong', 'note', 'ok']);
    expect(checkClock(now, 1e18).state).toBe('wrong');
  });
});

describe('install-service', () => {
  it('prints a unit that gives the server its folder and nothing else', async () => {
    const { code, stdout } = await deskbell([
      'install-service',
      '--print',
      '--user',
      'deskbell',
      '--data',
      fresh(),
    ]);
    expect(code).toBe(0);
    for (const line of [
      'User=deskbell',
      'ProtectSystem=strict',
      'NoNewPrivileges=yes',
      'CapabilityBoundingSet=',
      'UMask=0077',
      'PrivateDevices=yes',
      `ReadWritePaths=${join(folder, `data-${names}`)}`,
      'Restart=on-failure',
      'WantedBy=multi-user.target',
    ])
      expect(stdout.split('\n')).toContain(line);
    expect(stdout).toMatch(/^ExecStart=\/\S*node\S* \/\S+deskbell\.js serve --data \S+$/m);
    expect((await deskbell(['install-service', '--print', '--user', 'a b'])).code).toBe(2);
  });

  it('tells by name alone which variables are not in it', () => {
    const variables = {
      DESKBELL_PORT: '4700',
      DESKBELL_AI_URL: 'https://model.example.com',
      DESKBELL_SMTP_URL: 'smtp://user:secret@mail.example.com',
      DESKBELL_LOG_LEVEL: '',
      DESKBELL_CONFIG: '/home/ann/.config',
      AWS_ACCESS_KEY_ID: 'of another program',
    };
    expect(unwrittenVariables(variables)).toEqual(['DESKBELL_AI_URL', 'DESKBELL_SMTP_URL']);
    expect(unwrittenVariables({ ...variables, DESKBELL_FILES: 's3://bucket' })).toContain(
      'AWS_ACCESS_KEY_ID',
    );
  });

  it('quotes what a unit would read as its own, and asks for a low port outright', () => {
    const config = {
      ...readConfig({ port: '443', baseUrl: 'https://chat.example.com' }, {}),
      data: '/srv/my data/50%/$HOME',
    };
    const unit = unitText({
      user: 'deskbell',
      node: '/usr/bin/node',
      script: '/opt/deskbell/bin/deskbell.js',
      config,
    });
    expect(unit).toContain(
      'ExecStart=/usr/bin/node /opt/deskbell/bin/deskbell.js serve --data "/srv/my data/50%%/$$HOME" --port 443 --base-url https://chat.example.com\n',
    );
    expect(unit).toContain('AmbientCapabilities=CAP_NET_BIND_SERVICE\n');
    const capabilities = (mailListen: string): readonly string[] =>
      unitText({
        user: 'deskbell',
        node: '/n',
        script: '/s',
        config: readConfig({ mailListen, mailAddress: 'reply@chat.example.com' }, {}),
      }).match(/^\w+Capabilities=\S*$|^CapabilityBoundingSet=\S*$/gm) ?? [];
    const bind = 'CAP_NET_BIND_SERVICE';
    expect(capabilities(':25')).toEqual([`CapabilityBoundingSet=${bind}`, `AmbientCapabilities=${bind}`]);
    expect(capabilities(':2525')).toEqual(['CapabilityBoundingSet=', 'AmbientCapabilities=']);
    expect(() =>
      unitText({
        user: 'x',
        node: '/n',
        script: '/s',
        config: { ...config, data: '/a\nExecStartPre=/bin/sh' },
      }),
    ).toThrow(/unit file/);
  });
});
