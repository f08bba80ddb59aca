// deskbell tags and views: the words and the saved questions by which a team keeps order in its queue. Holds no rule.
import { Option, type Command } from 'commander';
import type { Tag, View } from '../../protocol/queue.ts';
import { addCommandGroup, requireConfirmation } from '../command-builder.ts';
import type { Context, WrapHandler } from '../context.ts';
import { CommandError } from '../errors.ts';
import { addServerOptions, withRemote, type Remote, type ServerOptions } from '../remote.ts';
import { addFilterOptions, filterOf, type FilterOptions } from '../queue-filters.ts';

export function addTagCommands(program: Command, act: WrapHandler): void {
  const group = addCommandGroup(program, 'tags', 'the tags of the organization');
  addServerOptions(group.command('list').description('list the tags')).action(act<ServerOptions>(listTags));
  addServerOptions(
    group.command('create').description('create a tag').argument('<NAME>', 'at most 50 characters'),
  ).action(act<ServerOptions>(createTag));
  addServerOptions(
    group
      .command('rename')
      .description('rename a tag, on every conversation and in every view')
      .argument('<OLD>', 'the tag')
      .argument('<NEW>', 'at most 50 characters'),
  ).action(act<ServerOptions>(renameTag));
  addServerOptions(
    group
      .command('delete')
      .description('delete a tag, and take it off every conversation')
      .argument('<NAME>', 'the tag')
      .option('--yes', 'do it'),
  ).action(act<ServerOptions & { readonly yes?: boolean }>(deleteTag));
}

async function listTags(context: Context, options: ServerOptions): Promise<void> {
  const tags = await withRemote(context, options, allTags);
  const { print } = context;
  if (print.json) return print.document({ items: tags });
  return print.table(
    ['TAG'],
    tags.map(({ name }) => [name]),
    `There are no tags yet. Add one to a conversation: ${context.remoteCommand('tag ID NAME')}`,
  );
}

async function createTag(
  context: Context,
  options: ServerOptions,
  [name = '']: readonly string[],
): Promise<void> {
  const { tag } = await withRemote(context, options, ({ call }) =>
    call<{ tag: Tag }>('POST', '/staff/tags', { name }),
  );
  const { print } = context;
  if (print.json) print.document(tag);
  else print.line(`Created the tag ${tag.name}.`);
}

async function renameTag(
  context: Context,
  options: ServerOptions,
  [old = '', name = '']: readonly string[],
): Promise<void> {
  const { tag } = await withRemote(context, options, async (remote) =>
    remote.call<{ tag: Tag }>('PATCH', `/staff/tags/${await tagId(context, remote, old)}`, { name }),
  );
  const { print } = context;
  if (print.json) print.document(tag);
  else print.line(`The tag is called ${tag.name} now.`);
}

async function deleteTag(
  context: Context,
  options: ServerOptions & { readonly yes?: boolean },
  [name = '']: readonly string[],
): Promise<void> {
  requireConfirmation(options.yes, `the tag ${name} from every conversation`);
  await withRemote(context, options, async (remote) =>
    remote.call('DELETE', `/staff/tags/${await tagId(context, remote, name)}`),
  );
  const { print } = context;
  if (print.json) print.document({ success: true });
  else print.line(`Deleted the tag ${name}.`);
}

async function allTags({ call }: Remote): Promise<readonly Tag[]> {
  return (await call<{ tags: readonly Tag[] }>('GET', '/staff/tags')).tags;
}

async function tagId(context: Context, remote: Remote, name: string): Promise<string> {
  const folded = name.trim().toLowerCase();
  const found = (await allTags(remote)).find((tag) => tag.name.toLowerCase() === folded);
  if (found === undefined)
    throw new CommandError(`There is no tag ${name}. See: ${context.remoteCommand('tags list')}`);
  return found.id;
}

interface SaveOptions extends FilterOptions {
  readonly shared?: boolean;
}

export function addViewCommands(program: Command, act: WrapHandler): void {
  const group = addCommandGroup(program, 'views', 'saved questions to the queue');
  addServerOptions(
    group.command('list').description('list your views and the shared ones, with their counts'),
  ).action(act<ServerOptions>(listViews));
  addFilterOptions(
    addServerOptions(
      group
        .command('save')
        .description('save a view, in place of your own of the same name')
        .argument('<NAME>', 'at most 60 characters')
        .addOption(new Option('--shared', 'for every member of the organization')),
    ),
  ).action(act<SaveOptions & ServerOptions>(saveView));
  addServerOptions(
    group.command('delete').description('delete a view').argument('<NAME>', 'its name or id'),
  ).action(act<ServerOptions>(deleteView));
}

interface CountedView extends View {
  readonly count: number;
}

async function listViews(context: Context, options: ServerOptions): Promise<void> {
  const views = await withRemote(context, options, async (remote): Promise<CountedView[]> => {
    const { counts } = await remote.call<{ counts: readonly { id: string; count: number }[] }>(
      'GET',
      '/staff/views/counts',
    );
    const byId = new Map(counts.map(({ id, count }) => [id, count]));
    return (await allViews(remote)).map((view) => ({ ...view, count: byId.get(view.id) ?? 0 }));
  });
  const { print } = context;
  if (print.json) return print.document({ items: views });
  return print.table(
    ['VIEW', 'COUNT', 'FOR', 'QUESTION'],
    views.map(({ name, count, shared, query }) => [
      name,
      String(count),
      shared ? 'everyone' : 'you',
      Object.entries(query)
        .map(([field, value]) => `${field}=${String(value)}`)
        .join(' ') || 'all',
    ]),
    `There are no views yet. Save one: ${context.remoteCommand('views save Urgent --priority urgent')}`,
  );
}

async function saveView(
  context: Context,
  options: SaveOptions & ServerOptions,
  [name = '']: readonly string[],
): Promise<void> {
  const body = { name, query: filterOf(options), shared: options.shared ?? false };
  const { view } = await withRemote(context, options, async (remote) => {
    const { signIn } = remote;
    const old = (await allViews(remote)).find(
      (one) => one.name === name && one.createdBy === signIn.member.id,
    );
    return old === undefined
      ? remote.call<{ view: View }>('POST', '/staff/views', body)
      : remote.call<{ view: View }>('PATCH', `/staff/views/${old.id}`, body);
  });
  const { print } = context;
  if (print.json) return print.document(view);
  print.line(`Saved the view ${view.name}.`);
  return print.next(context.remoteCommand(`inbox --view ${JSON.stringify(view.name)}`));
}

async function deleteView(
  context: Context,
  options: ServerOptions,
  [name = '']: readonly string[],
): Promise<void> {
  await withRemote(context, options, async (remote) => {
    const view = await findView(context, remote, name);
    await remote.call('DELETE', `/staff/views/${view.id}`);
  });
  const { print } = context;
  if (print.json) print.document({ success: true });
  else print.line(`Deleted the view ${name}.`);
}

async function allViews({ call }: Remote): Promise<readonly View[]> {
  return (await call<{ views: readonly View[] }>('GET', '/staff/views')).views;
}

/** A view by its name or id; of several of the same name the member's own. @throws CommandError */
export async function findView(context: Context, remote: Remote, typed: string): Promise<View> {
  const fitting = (await allViews(remote)).filter((one) => one.name === typed || one.id === typed);
  const found = fitting.find(({ shared }) => !shared) ?? fitting[0];
  if (found === undefined)
    throw new CommandError(`There is no view ${typed}. See: ${context.remoteCommand('views list')}`);
  return found;
}
