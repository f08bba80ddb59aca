// Owns a server with an organization and a member Ann, a folder of sign-ins for each test,
// and running commands there. Must not know which command a test is about.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, vi } from 'vitest';
import { startApp, type TestApp } from '../helpers/app.ts';
import { inProcess } from '../helpers/cli.ts';
import {
  createMember,
  createOrganization,
  createVisitor,
  memberPassword,
  type TestClient,
  type TestMember,
  type TestOrganization,
} from '../helpers/fixtures.ts';

export let app: TestApp;
export let acme: TestOrganization;
export let ann: TestMember;
export let visitor: TestClient;
export let folder: string;

/** Declares what comes before and after each test of a file. */
export function withCommands(): void {
  beforeAll(async () => {
    app = await startApp({ realTime: true });
    acme = await createOrganization(app, 'acme');
    ann = await createMember(app, 'acme', 'operator', 'Ann');
  });
  afterAll(() => app.stop());
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'deskbell-commands-'));
    vi.stubEnv('DESKBELL_CONFIG', join(folder, 'config'));
    vi.stubEnv('DESKBELL_DATA', join(folder, 'no-data'));
    visitor = createVisitor(app, acme.application);
  });
  afterEach(async () => {
    vi.unstubAllEnvs();
    await rm(folder, { recursive: true, force: true });
  });
}

export const credentialsFile = (): string => join(folder, 'config', 'credentials.json');

export async function login(member: TestMember = ann, url = app.url): Promise<void> {
  const outcome = await inProcess(
    ['login', '--url', url, '--org', 'acme', '--email', member.email, '--password-stdin'],
    {
      input: `${memberPassword}\n`,
    },
  );
  expect(outcome).toMatchObject({ code: 0, stderr: '' });
}

/** Runs a command that must work. @returns its document */
export async function document<T = unknown>(...args: readonly string[]): Promise<T> {
  const outcome = await inProcess([...args, '--json']);
  expect(outcome).toMatchObject({ code: 0, stderr: '' });
  return JSON.parse(outcome.stdout) as T;
}

/** Runs a command that must fail, with one sentence. */
export async function expectFailure(
  code: 1 | 2,
  line: string | RegExp,
  args: readonly string[],
  input = '',
): Promise<void> {
  const outcome = await inProcess(args, { input });
  expect(outcome).toEqual({ code, stdout: '', stderr: expect.stringMatching(/^[^\n]+\n$/) });
  expect(outcome.stderr).toMatch(line);
}

/** Signs another member in, in a folder of their own, for as long as the work takes. */
export async function as<T>(member: TestMember, work: () => Promise<T>): Promise<T> {
  vi.stubEnv('DESKBELL_CONFIG', join(folder, member.id));
  try {
    await login(member);
    return await work();
  } finally {
    vi.stubEnv('DESKBELL_CONFIG', join(folder, 'config'));
  }
}
