// deskbell demo: a throw-away organization on a server of its own, a page to write
// from, an assistant that knows the shop, and the command with which to answer.
// Everything goes when it ends.
import { randomBytes } from 'node:crypto';
import { rmSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Command } from 'commander';
import type { RunningApp } from '../../app.ts';
import { readConfig, type Flags } from '../../config.ts';
import { plainColumns } from '../print.ts';
import { createContext, type WrapHandler, type Context } from '../context.ts';
import { UsageError, messageOf } from '../errors.ts';
import { demoDocuments } from '../demo-documents.ts';
import { addSettings, settingFlags } from '../command-builder.ts';
import { localOn, withLocal, type Local } from '../local.ts';
import { credentialsOf } from '../remote.ts';
import { addressDocument, printAddress, runServer } from '../run-server.ts';

const organization = 'demo';
const email = 'demo@example.com';

export function addDemoCommand(program: Command, act: WrapHandler, version: string): void {
  addSettings(
    program.command('demo').description('try it out: a temporary organization and a page to write from'),
  ).action(
    act<Flags>((context, options) => demo(context, settingFlags(options), version), { tables: false }),
  );
}

async function demo(context: Context, flags: Flags, version: string): Promise<void> {
  if (context.data !== undefined)
    throw new UsageError(
      'The demo makes a data folder of its own and removes it at the end; leave --data out.',
    );
  // Said before anything is made: a setting that can't be.
  if (readConfig(flags).databaseUrl !== null)
    throw new UsageError(
      'The demo makes a database of its own and removes it at the end; unset DESKBELL_DATABASE_URL for it.',
    );
  const folder = await mkdtemp(join(tmpdir(), 'deskbell-demo-'));
  // Synchronous and at the very end, so that it also holds for a second Ctrl-C.
  const remove = (): void => rmSync(folder, { recursive: true, force: true });
  process.once('exit', remove);
  const password = randomBytes(9).toString('base64url');
  const onFolder = createContext(context.io, { data: folder, json: context.print.json }, plainColumns);
  const config = onFolder.config(flags);
  let url: string | null = null;
  try {
    const made = await withLocal(onFolder, (local) => makeDemo(local, password), 'may be new');
    await runServer(
      onFolder,
      config,
      (running) => {
        ({ url } = running);
        return present(onFolder, running, { ...made, password, version });
      },
      { demo: { appId: made.appId } },
    );
  } finally {
    remove();
    process.off('exit', remove);
    if (url !== null) await forgetSession(context, url);
  }
}

/** A session that the console has kept must not be the one used last when the server of the demo is gone. */
async function forgetSession(context: Context, url: string): Promise<void> {
  const credentials = credentialsOf(context);
  try {
    if ((await credentials.find({ url, organization })) !== null)
      await credentials.remove({ url, organization });
  } catch (error) {
    context.print.note(messageOf(error));
  }
}

async function makeDemo(
  local: Local,
  password: string,
): Promise<{ readonly appId: string; readonly memberId: string }> {
  await local.run('organizations.create', { name: 'Demo', slug: organization });
  await local.run('organizations.update', { organization, plan: 'premium' });
  const { appId } = await local.run('applications.create', {
    organization,
    name: 'Demo website',
    domains: [],
  });
  await local.run('applications.update', {
    applicationId: appId,
    behavior: { greeting: 'Hello! Looking for a tea, or for your parcel? We are glad to help.' },
    ai: { mode: 'auto', name: 'Leafy' },
  });
  for (const { source, content } of demoDocuments)
    await local.run('knowledge.add', { applicationId: appId, source, content });
  const { id } = await local.run('members.add', {
    organization,
    email,
    name: 'Demo operator',
    role: 'admin',
    password,
  });
  return { appId, memberId: id };
}

interface Made {
  readonly appId: string;
  readonly memberId: string;
  readonly password: string;
  readonly version: string;
}

async function present(
  context: Context,
  running: RunningApp,
  { appId, memberId, password, version }: Made,
): Promise<void> {
  const local = localOn(running.service);
  // The port is known only now.
  for (const host of new Set(['127.0.0.1', 'localhost', new URL(running.url).hostname]))
    await local.run('domains.add', { applicationId: appId, domain: `${host}:${running.port}` });
  const { print } = context;
  const page = `${running.url}/demo`;
  const { ticket } = await local.run('session.createLink', { memberId });
  const dashboard = `${running.url}/#sign-in=${ticket}`;
  if (print.json)
    return print.jsonLine({
      ...addressDocument(running),
      page,
      dashboard,
      data: context.data,
      appId,
      organization,
      email,
      password,
    });
  print.line(['bold', `Deskbell ${version} demo`], '; everything is removed when it ends.');
  print.line();
  print.line('1. Be the visitor, in a browser: ', ['cyan', page]);
  print.line('   Ask about deliveries, returns or teas, and the assistant answers; then ask for a person.');
  print.line('2. Be that person, in the dashboard: ', ['cyan', dashboard]);
  print.line('   The link works once, for ten minutes. Or in another terminal:');
  print.block(`   ${context.command(`console --org ${organization}`)}`);
  print.line('3. Or watch everything that happens:');
  print.block(`   ${context.command(`tail --org ${organization}`)}`);
  print.line(`For the API: ${email} of the organization ${organization}, password ${password}.`);
  print.line();
  printAddress(context, running);
}
