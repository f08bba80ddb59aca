// deskbell second-factor …: a member's own second factor, at a server. Passwords, codes and secrets are asked for and
// shown on a terminal only; passkeys are listed, because only browsers make them. Holds no rule.
import type { Command } from 'commander';
import type { Output } from '../../protocol/operations.ts';
import { addCommandGroup } from '../command-builder.ts';
import type { Context, WrapHandler } from '../context.ts';
import { UsageError } from '../errors.ts';
import { openPrompt, type Prompt } from '../prompt.ts';
import { addServerOptions, withRemote, type Remote, type ServerOptions } from '../remote.ts';
import { askCode, securityPageUrl, showRecoveryCodes, showSecret } from '../second-factor-dialogue.ts';

export function addSecondFactorCommands(program: Command, act: WrapHandler): void {
  const group = addCommandGroup(
    program,
    'second-factor',
    'your own second factor: codes of an authenticator, and passkeys',
  );
  addServerOptions(group.command('status').description('whether it is on')).action(
    act<ServerOptions>(status),
  );
  addServerOptions(
    group.command('enable').description('switch it on, with an authenticator and recovery codes'),
  ).action(act<ServerOptions>((context, options) => onTerminal(context, options, enable)));
  addServerOptions(group.command('disable').description('switch it off; asks for a code')).action(
    act<ServerOptions>((context, options) => onTerminal(context, options, disable)),
  );
  addServerOptions(group.command('codes').description('make ten new recovery codes')).action(
    act<ServerOptions>((context, options) => onTerminal(context, options, makeCodes)),
  );
}

async function status(context: Context, options: ServerOptions): Promise<void> {
  const { totp, passkeys, url } = await withRemote(context, options, async ({ call, signIn }) => ({
    ...(await call<{ totp: Output<'totp.get'> }>('GET', '/staff/me/totp')),
    ...(await call<Output<'passkeys.list'>>('GET', '/staff/me/passkeys')),
    url: signIn.url,
  }));
  const { print } = context;
  if (print.json) return print.document({ ...totp, passkeys });
  if (!totp.enabled && passkeys.length === 0)
    return print.line(
      `The second factor is off. Switch it on: ${context.remoteCommand('second-factor enable')}, or with a passkey at ${securityPageUrl(url)}`,
    );
  return print.fields([
    ['authenticator', totp.enabledAt === null ? 'off' : `since ${totp.enabledAt}`],
    ['passkeys', passkeys.map(({ name }) => name).join(', ') || `none; add one at ${securityPageUrl(url)}`],
    ['recovery codes left', String(totp.recoveryCodesLeft)],
  ]);
}

type Work = (context: Context, remote: Remote, dialogue: Prompt) => Promise<void>;

async function onTerminal(context: Context, options: ServerOptions, work: Work): Promise<void> {
  const { input, errors } = context.io;
  if (input.isTTY !== true || context.print.json)
    throw new UsageError('This asks for a password or a code, and shows secrets: run it on a terminal.');
  await withRemote(context, options, async (remote) => {
    const dialogue = openPrompt(input, errors);
    try {
      await work(context, remote, dialogue);
    } finally {
      dialogue.close();
    }
  });
}

const enable: Work = async (context, { call }, dialogue) => {
  const password = await dialogue.secret('Password (not shown): ');
  const { totp } = await call<{ totp: Output<'totp.begin'> }>('POST', '/staff/me/totp', { password });
  showSecret(context, totp);
  const code = await askCode(dialogue);
  const { recoveryCodes } = await call<Output<'totp.confirm'>>('POST', '/staff/me/totp/confirm', { code });
  showRecoveryCodes(context, recoveryCodes);
  context.print.line('The second factor is on. Your other sessions have ended.');
};

const disable: Work = async (context, { call }, dialogue) => {
  await call('POST', '/staff/me/totp/disable', { code: await askCode(dialogue) });
  context.print.line('The second factor is off.');
};

const makeCodes: Work = async (context, { call }, dialogue) => {
  const password = await dialogue.secret('Password (not shown): ');
  const { recoveryCodes } = await call<Output<'recoveryCodes.create'>>('POST', '/staff/me/recovery-codes', {
    password,
  });
  showRecoveryCodes(context, recoveryCodes);
};
