// Owns what the console's journeys play on: the built server on a folder and a port of its
// own, members with a sign-in each, visitors, and consoles on real terminals.
import { randomUUID } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { deskbellProcessJson, ensureBuilt, inProcess } from '../helpers/cli.ts';
import { request, type Reply } from '../helpers/client.ts';
import { eventually } from '../helpers/eventually.ts';
import { serve, type ServerProcess } from '../helpers/process.ts';
import { openTerminal, type Terminal, type TerminalOptions } from '../helpers/terminal.ts';

export const password = 'correct horse battery staple';
const organization = 'acme';
/** An admin who looks on and clears up. */
const witness = 'Witness';

export interface Visitor {
  readonly id: string;
  /** Says who they are. */
  identify(identity: {
    readonly name?: string;
    readonly email?: string;
    readonly attributes?: Readonly<Record<string, string>>;
  }): Promise<void>;
  /** Opens a conversation with a first message. @returns its id */
  ask(text: string, subject?: string): Promise<string>;
  write(conversationId: string, text: string): Promise<void>;
  /** Asks the assistant. @returns whether it answered */
  asksAssistant(question: string): Promise<boolean>;
  /** What the visitor sees of a conversation: the texts in order. */
  reads(conversationId: string): Promise<readonly string[]>;
}

export type Open<T extends Terminal> = (args: readonly string[], options: TerminalOptions) => Promise<T>;

export interface ServerFixture {
  readonly folder: string;
  readonly data: string;
  /** The server's address, the same over restarts. */
  readonly url: string;
  aVisitor(name?: string): Promise<Visitor>;
  /** The environment of a member's programs: their own folder of sign-ins. */
  environmentOf(name: string): Record<string, string>;
  /** The member's address to sign in with, and their id. */
  member(name: string): { readonly email: string; readonly id: string };
  /** Keeps a sign-in for a member, without a terminal; at another address of the same server when told. */
  signIn(name: string, at?: string): Promise<void>;
  /** A member's console, already signed in; in tmux where there is one. */
  console(
    name: string,
    size: Pick<TerminalOptions, 'columns' | 'rows'>,
    environment?: Readonly<Record<string, string>>,
  ): Promise<Terminal>;
  /** Any other program on a terminal that the server clears away. */
  open<T extends Terminal>(open: Open<T>, args: readonly string[], options: TerminalOptions): Promise<T>;
  /** How a conversation stands, as the members' side of the server says. */
  status(conversationId: string): Promise<string>;
  /** Whose it is, by id. */
  assignee(conversationId: string): Promise<string | null>;
  /** Everything that a member's programs keep on disk, as one text. */
  readFilesOf(name: string): Promise<string>;
  /** What a member's next console finds: their files without those that are being written. */
  readKeptFilesOf(name: string): Promise<string>;
  /** Ends the server as a loss of power would. */
  killServer(): Promise<void>;
  startServer(): Promise<void>;
  /** Closes the terminals of a test and every conversation, and removes the members' drafts. */
  clear(): Promise<void>;
  /** Ends and removes everything. */
  close(): Promise<void>;
}

const domain = 'shop.example';

interface Member {
  readonly email: string;
  readonly id: string;
}

/** The text of every file in a folder and the folders in it. @param wanted the names of files that are read */
async function textsIn(folder: string, wanted: (file: string) => boolean = () => true): Promise<string> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const texts = entries
    .filter((entry) => entry.isFile() && wanted(entry.name))
    .map((entry) => readFile(join(entry.parentPath, entry.name), 'utf8').catch(() => ''));
  return (await Promise.all(texts)).join('\n');
}

/** Makes the organization, its application and its members, by the command line. */
async function fillFolder(
  data: string,
  names: readonly string[],
): Promise<{ readonly appId: string; readonly members: ReadonlyMap<string, Member> }> {
  const make = async (...args: readonly string[]): Promise<{ id: string; appId: string }> => {
    const { code, stdout, stderr } = await inProcess([...args, '--data', data, '--json'], {
      input: password,
    });
    if (code !== 0) throw new Error(stderr);
    return JSON.parse(stdout) as { id: string; appId: string };
  };
  await make('org', 'create', 'Acme', '--slug', organization);
  await make('org', 'plan', organization, 'enterprise');
  const { appId } = await make('app', 'create', 'Shop', '--org', organization, '--domain', domain);
  const members = new Map<string, Member>();
  for (const name of names) {
    const role = name === witness ? 'admin' : 'operator';
    const email = `${name.toLowerCase()}@acme.example`;
    const person = ['--email', email, '--name', name, '--role', role, '--password-stdin'];
    const { id } = await make('member', 'add', '--org', organization, ...person);
    members.set(name, { email, id });
  }
  return { appId, members };
}

/** A visitor of the application, with a name when told. */
async function createVisitor(url: string, appId: string, name: string | undefined): Promise<Visitor> {
  const headers = { 'x-app-id': appId, 'x-visitor-id': randomUUID(), origin: `https://${domain}` };
  const call = async (method: string, path: string, body?: unknown) => {
    const reply = await request(url, method, `/api/v1${path}`, headers, body);
    if (reply.status >= 300) throw new Error(`${method} ${path}: ${reply.status} ${reply.text}`);
    return reply.body;
  };
  const write: Visitor['write'] = async (id, content) =>
    void (await call('POST', `/conversations/${id}/messages`, { content }));
  const visitor: Visitor = {
    id: headers['x-visitor-id'],
    identify: async (identity) => void (await call('PUT', '/visitor', identity)),
    ask: async (text, subject) => {
      const { conversation } = await call('POST', '/conversations', subject === undefined ? {} : { subject });
      await write(conversation.id, text);
      return conversation.id as string;
    },
    write,
    asksAssistant: async (question) => (await call('POST', '/ai/answer', { question })).answered as boolean,
    reads: async (id) => {
      const { messages } = await call('GET', `/conversations/${id}/messages?limit=100`);
      return (messages as { content: string; contentFormat: string; contentHtml: string | null }[]).map(
        (one) =>
          one.contentFormat === 'plain' ? one.content : (one.contentHtml ?? '').replaceAll(/<[^>]*>/g, ''),
      );
    },
  };
  if (name !== undefined) await visitor.identify({ name });
  return visitor;
}

/** @param names of the members, all operators */
export async function createServerFixture(names: readonly string[]): Promise<ServerFixture> {
  await ensureBuilt();
  const folder = await mkdtemp(join(tmpdir(), 'deskbell-server-'));
  const data = join(folder, 'data');
  const { appId, members } = await fillFolder(data, [...names, witness]);
  const off = [
    '--limit-visitor',
    'off',
    '--limit-application',
    'off',
    '--limit-address',
    'off',
    '--limit-address-new',
    'off',
    '--limit-address-failed',
    'off',
  ];
  let served: ServerProcess = await serve(data, { flags: off });
  const { url } = served;
  let up = true;
  const startServer = async (): Promise<void> => {
    // Until then another test's server may have been given the port, which it gives back when it ends.
    served = await eventually(() => serve(data, { flags: [...off, '--port', new URL(url).port] }));
    up = true;
  };
  const terminals: Terminal[] = [];

  const environmentOf = (name: string): Record<string, string> => ({
    DESKBELL_CONFIG: join(folder, 'people', name),
    DESKBELL_DATA: join(folder, 'no-data'),
  });
  const draftsOf = (name: string): string => join(folder, 'people', name, 'drafts');
  const member = (name: string): { email: string; id: string } => {
    const found = members.get(name);
    if (found === undefined) throw new Error(`There is no member ${name}.`);
    return found;
  };
  const open: ServerFixture['open'] = async (how, args, options) => {
    const terminal = await how(args, options);
    terminals.push(terminal);
    return terminal;
  };
  const session = await request(
    url,
    'POST',
    '/api/v1/staff/session',
    {},
    { organization, email: member(witness).email, password },
  );
  const staff = async (method: string, path: string): Promise<Reply['body']> => {
    const { body } = await request(url, method, `/api/v1/staff${path}`, {
      authorization: `Bearer ${session.body.token}`,
    });
    return body;
  };
  const closeTerminals = async (): Promise<void> => {
    await Promise.all(terminals.splice(0).map((terminal) => terminal.close()));
  };
  const clear = async (): Promise<void> => {
    await closeTerminals();
    if (!up) await startServer();
    // A draft that a failed test left would be asked about in the next one.
    for (const name of members.keys()) await rm(draftsOf(name), { recursive: true, force: true });
    for (const status of ['pending', 'active']) {
      const { conversations } = await staff('GET', `/conversations?status=${status}&limit=100`);
      for (const { id } of conversations as { id: string }[])
        await staff('POST', `/conversations/${id}/resolve`);
    }
  };
  return {
    folder,
    data,
    url,
    environmentOf,
    member,
    open,
    clear,
    aVisitor: (name) => createVisitor(url, appId, name),
    signIn: async (name, at = url) => {
      const args = [
        'login',
        '--url',
        at,
        '--org',
        organization,
        '--email',
        member(name).email,
        '--password-stdin',
      ];
      await deskbellProcessJson(args, { input: password, env: environmentOf(name) });
    },
    status: async (id) => (await staff('GET', `/conversations/${id}`)).conversation.status as string,
    assignee: async (id) =>
      (await staff('GET', `/conversations/${id}`)).conversation.assignedTo as string | null,
    readFilesOf: (name) => textsIn(join(folder, 'people', name)),
    readKeptFilesOf: (name) => textsIn(join(folder, 'people', name), (file) => !file.endsWith('.tmp')),
    console: (name, size, environment = {}) =>
      open(openTerminal, ['console'], { ...size, environment: { ...environmentOf(name), ...environment } }),
    killServer: async () => {
      await served.kill();
      up = false;
    },
    startServer,
    close: async () => {
      await closeTerminals();
      if (up) await served.kill();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
