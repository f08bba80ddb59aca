// The npm package @deskbell/sdk as a customer gets it: packed, installed, imported in
// Node without a window, and checked by their compiler.
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { repository, run } from '../helpers/command.ts';

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'deskbell-sdk-'));
  await run('npm', ['run', 'build:sdk'], { cwd: repository });
  await run('npm', ['pack', '--pack-destination', folder], { cwd: join(repository, 'widget') });
  const [tarball = ''] = await readdir(folder);
  await mkdir(join(folder, 'customer'));
  await writeFile(join(folder, 'customer/package.json'), '{"type": "module"}');
  await run('npm', ['install', '--offline', '--no-audit', '--no-fund', join('..', tarball)], {
    cwd: join(folder, 'customer'),
  });
});

afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
});

it('imports in Node without touching a window, and brings nothing along', async () => {
  const script = `
    const sdk = await import('@deskbell/sdk');
    const staff = await import('@deskbell/sdk/staff');
    const files = await import('@deskbell/sdk/files');
    console.log(typeof sdk.init, typeof sdk.getSdkApi, typeof sdk.getSdkApi().on, typeof staff.createStaffClient,
      typeof files.uploadFile);`;
  const { stdout } = await run(process.execPath, ['--input-type=module', '-e', script], {
    cwd: join(folder, 'customer'),
  });
  expect(stdout.trim()).toBe('function function function function function');
  expect(
    (await readdir(join(folder, 'customer/node_modules'))).filter((name) => !name.startsWith('.')),
  ).toEqual(['@deskbell']);
});

it('has types that a strict compiler takes, and that refuse what is wrong', async () => {
  const check = async (name: string, code: string): Promise<void> => {
    await writeFile(join(folder, 'customer', `${name}.ts`), code);
    const flags = [
      '--noEmit',
      '--strict',
      '--module',
      'nodenext',
      '--target',
      'es2022',
      '--lib',
      'es2022,dom',
      '--types',
      '',
    ];
    const tsc = join(repository, 'node_modules/typescript/bin/tsc');
    await run(process.execPath, [tsc, ...flags, `${name}.ts`], { cwd: join(folder, 'customer') });
  };
  const right = `import { init, getSdkApi } from '@deskbell/sdk';
    import { uploadFile } from '@deskbell/sdk/files';
    export const undo = getSdkApi().on('message', (message) => message.content.trim());
    export const send = async (file: File): Promise<void> => {
      const { id, name } = await uploadFile({ address: 'https://chat.example/api/v1/files', headers: {} }, file);
      await getSdkApi().sendMessage({ content: name, attachments: [id] });
    };
    export const started = init({ appId: 'x', apiBaseUrl: 'https://chat.example', headless: true });`;
  await expect(check('right', right)).resolves.toBeUndefined();
  const wrong = `import { getSdkApi } from '@deskbell/sdk'; getSdkApi().on('mesage', () => undefined);`;
  await expect(check('wrong', wrong)).rejects.toThrow('mesage');
});
