// deskbell install-service: a systemd unit that runs the server with as few rights as
// it needs. Writes one file, or prints it; starts nothing.
import { stat, writeFile } from 'node:fs/promises';
import { userInfo } from 'node:os';
import type { Command } from 'commander';
import { settings, variablesInForce, type Config, type SettingName } from '../../config.ts';
import type { Environment } from '../../config/secrets.ts';
import type { WrapHandler, Context } from '../context.ts';
import { assertFolder } from '../local.ts';
import { CommandError, UsageError } from '../errors.ts';
import { errorCode } from '../../net/network-errors.ts';

const unitFile = '/etc/systemd/system/deskbell.service';

interface ServiceFlags {
  readonly user?: string;
  readonly print?: boolean;
  readonly force?: boolean;
}

export function addInstallServiceCommand(program: Command, act: WrapHandler): void {
  program
    .command('install-service')
    .description(
      `write a systemd unit (${unitFile}) with the data folder, addresses, proxies and durability in force`,
    )
    .option('--user <U>', 'the user it runs as (default: the one that runs this command)')
    .option('--print', 'print it instead')
    .option('--force', 'replace the unit if it exists')
    .action(act<ServiceFlags>(installService));
}

async function installService(
  context: Context,
  { user = userInfo().username, print: only = false, force = false }: ServiceFlags,
): Promise<void> {
  if (!/^[a-z_][a-z0-9_-]{0,31}$/.test(user))
    throw new UsageError(`--user ${user} is not a valid user name.`);
  const config = context.config();
  assertFolder(
    config,
    'DESKBELL_DATABASE_URL is set, and the unit that this writes is for a data folder. Several servers are set up as the documentation says: More than one machine.',
  );
  const unit = unitText({ user, node: process.execPath, script: process.argv[1] ?? '', config });
  const { print } = context;
  if (only) return print.json ? print.document({ file: unitFile, unit }) : print.block(unit.trimEnd());
  if (process.platform !== 'linux' || (await stat('/run/systemd/system').catch(() => null)) === null)
    throw new CommandError(
      `This machine does not run systemd. See the unit, to take over what fits: ${context.command('install-service --print')}`,
    );
  try {
    await writeFile(unitFile, unit, { mode: 0o644, flag: force ? 'w' : 'wx' });
  } catch (error) {
    const code = errorCode(error);
    if (code === 'EEXIST')
      throw new CommandError(`${unitFile} exists already. Add --force to replace it.`, { cause: error });
    const again = context.command(`install-service --user ${user}${force ? ' --force' : ''}`);
    throw new CommandError(
      `${unitFile} can't be written (${code}). Run it as root: sudo --preserve-env ${again}`,
      { cause: error },
    );
  }
  if (print.json) return print.document({ file: unitFile, unit });
  print.line('Wrote ', ['bold', unitFile], '.');
  const unwritten = unwrittenVariables();
  if (unwritten.length > 0)
    print.line(
      `Set here, and not written: ${unwritten.join(', ')}. Give them to the service by systemctl edit deskbell, with [Service] and EnvironmentFile=FILE, which only root may read: everyone on the machine can read what stands behind Environment=.`,
    );
  print.next('systemctl daemon-reload', 'systemctl enable --now deskbell', 'journalctl -u deskbell -f');
}

export interface UnitFacts {
  readonly user: string;
  /** Absolute path of the Node to run it with. */
  readonly node: string;
  /** Absolute path of the program. */
  readonly script: string;
  readonly config: Config;
}

/** A unit's words: quoted, and with its own two special characters doubled. */
function word(text: string): string {
  if (/[\n\r\0]/.test(text)) throw new UsageError(`${JSON.stringify(text)} can't be written in a unit file.`);
  const plain = text.replaceAll('%', '%%').replaceAll('$', '$$$$');
  return /[\s"'\\;]/.test(plain) ? `"${plain.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"` : plain;
}

const flagsOfUnit = ['host', 'port', 'trustProxy', 'durability'] as const satisfies readonly SettingName[];

/** The variables in force of which the unit says nothing: names, because some hold secrets. */
export function unwrittenVariables(environment?: Environment): readonly string[] {
  const written = new Set(['data', ...flagsOfUnit, 'baseUrl'] as const);
  const said = new Set([...written].map((name) => settings[name].variable));
  return variablesInForce(environment).filter((name) => !said.has(name));
}

/** The whole unit. A port below 1024, of pages or of mails, brings the one right that it needs. */
export function unitText({ user, node, script, config }: UnitFacts): string {
  const flags: [string, string][] = [['data', config.data]];
  for (const name of flagsOfUnit)
    if (String(config[name]) !== settings[name].fallback)
      flags.push([settings[name].flag, String(config[name])]);
  if (config.baseUrl !== null) flags.push([settings.baseUrl.flag, config.baseUrl]);
  const command = [node, script, 'serve', ...flags.flatMap(([flag, value]) => [`--${flag}`, value])]
    .map(word)
    .join(' ');
  const low = [config.port, config.mailListen?.port ?? 0].some((port) => port > 0 && port < 1024);
  return `# Made by: deskbell install-service. Other settings come by a drop-in, secrets in a file of their own:
#   systemctl edit deskbell, then [Service] and Environment= or EnvironmentFile=
[Unit]
Description=Deskbell, customer-support chat
After=network-online.target
Wants=network-online.target

[Service]
Type=exec
User=${user}
ExecStart=${command}
Restart=on-failure
RestartSec=2
# The server ends within 10 seconds by itself.
TimeoutStopSec=15
LimitNOFILE=65536
UMask=0077
ReadWritePaths=${word(config.data)}

# Nothing but its folder and the network.
ProtectSystem=strict
ProtectHome=read-only
PrivateTmp=yes
PrivateDevices=yes
PrivateMounts=yes
ProtectProc=invisible
ProcSubset=pid
ProtectClock=yes
ProtectHostname=yes
ProtectKernelLogs=yes
ProtectKernelModules=yes
ProtectKernelTunables=yes
ProtectControlGroups=yes
NoNewPrivileges=yes
LockPersonality=yes
RestrictNamespaces=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
RemoveIPC=yes
RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX AF_NETLINK
CapabilityBoundingSet=${low ? 'CAP_NET_BIND_SERVICE' : ''}
AmbientCapabilities=${low ? 'CAP_NET_BIND_SERVICE' : ''}
SystemCallArchitectures=native
SystemCallFilter=@system-service
SystemCallFilter=~@privileged @resources
SystemCallErrorNumber=EPERM
# No MemoryDenyWriteExecute: V8 writes the code it runs.

[Install]
WantedBy=multi-user.target
`;
}
