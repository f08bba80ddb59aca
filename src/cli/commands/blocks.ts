// deskbell block …: visitors and addresses that an organization does not want to hear of. Through the server; holds no
// rule.
import { Option, type Command } from 'commander';
import type { Block } from '../../protocol/entities.ts';
import { addCommandGroup, parseDuration } from '../command-builder.ts';
import type { Context, WrapHandler } from '../context.ts';
import { addServerOptions, withRemote, type ServerOptions } from '../remote.ts';

interface TimeOption extends ServerOptions {
  /** Seconds. */
  readonly for?: number;
}

interface VisitorOptions extends TimeOption {
  readonly app?: string;
  readonly test?: boolean;
  readonly address?: boolean;
}

interface NewBlock extends Block {
  readonly warning?: string;
}

export function addBlockCommands(program: Command, act: WrapHandler): void {
  const group = addCommandGroup(program, 'block', 'visitors and addresses that are not let in');
  addServerOptions(
    group
      .command('visitor')
      .description('block a visitor, at once; their widget hides')
      .argument('<VISITOR>', "the visitor's id"),
  )
    .option('--app <ID>', 'the application, where several know this visitor id')
    .option('--test', 'a visitor of test keys')
    .option('--address', 'also the address that they wrote from last, for at most 30 days')
    .addOption(
      new Option('--for <TIME>', 'how long: 24h, 7d (default: until it is lifted)').argParser(parseDuration),
    )
    .action(act<VisitorOptions>(blockVisitor));
  addServerOptions(
    group
      .command('address')
      .description('block an address; only a keyed digest of it is kept')
      .argument('<ADDRESS>', 'IPv4 or IPv6; of IPv6 its /64 counts'),
  )
    .addOption(
      new Option('--for <TIME>', 'how long: 24h, 7d, at most 30d (default: 30d)').argParser(parseDuration),
    )
    .action(act<TimeOption>(blockAddress));
  addServerOptions(group.command('list').description('the blocks in force')).action(act<ServerOptions>(list));
  addServerOptions(
    group.command('lift').description('lift a block').argument('<ID>', "the block's id"),
  ).action(act<ServerOptions>(lift));
}

const timeAfter = (seconds: number | undefined): string | undefined =>
  seconds === undefined ? undefined : new Date(Date.now() + seconds * 1000).toISOString();

async function blockVisitor(
  context: Context,
  { app, test = false, address = false, for: seconds, ...options }: VisitorOptions,
  [visitorId = '']: readonly string[],
): Promise<void> {
  const { block } = await withRemote(context, options, ({ call }) =>
    call<{ block: NewBlock }>('PUT', `/staff/visitors/${encodeURIComponent(visitorId)}/block`, {
      applicationId: app,
      mode: test ? 'test' : 'live',
      address,
      until: timeAfter(seconds),
    }),
  );
  show(context, block);
}

async function blockAddress(
  context: Context,
  { for: seconds, ...options }: TimeOption,
  [address = '']: readonly string[],
): Promise<void> {
  const { block } = await withRemote(context, options, ({ call }) =>
    call<{ block: NewBlock }>('POST', '/staff/blocks', { address, until: timeAfter(seconds) }),
  );
  show(context, block);
}

function show({ print, remoteCommand }: Context, block: NewBlock): void {
  if (print.json) return print.document(block);
  print.line(`Blocked ${block.until === null ? 'until it is lifted' : `until ${block.until}`}.`);
  if (block.warning !== undefined) print.note(`Note: ${block.warning}.`);
  return print.next(remoteCommand(`block lift ${block.id}`));
}

async function list(context: Context, options: ServerOptions): Promise<void> {
  const { blocks } = await withRemote(context, options, ({ call }) =>
    call<{ blocks: readonly Block[] }>('GET', '/staff/blocks'),
  );
  const { print } = context;
  if (print.json) return print.document({ items: blocks });
  return print.table(
    ['ID', 'WHAT', 'WHO', 'UNTIL', 'SINCE'],
    blocks.map(({ id, kind, visitor, until, createdAt }) => [
      id,
      kind,
      visitor === null ? '' : (visitor.name ?? visitor.id),
      until ?? 'lifted',
      createdAt,
    ]),
    'Nothing is blocked.',
  );
}

async function lift(context: Context, options: ServerOptions, [id = '']: readonly string[]): Promise<void> {
  const done = await withRemote(context, options, ({ call }) =>
    call<object>('DELETE', `/staff/blocks/${encodeURIComponent(id)}`),
  );
  if (context.print.json) context.print.document(done);
  else context.print.line('The block is lifted.');
}
