// A mailbox that is read by IMAP over a real socket: one user, one mailbox, and whatever can go wrong between two commands.
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { createSecureContext, createServer as createSecureServer, TLSSocket } from 'node:tls';
import { mailCertificate, mailKey } from './mail-certificate.ts';

interface StoredMail {
  readonly uid: number;
  readonly raw: Buffer;
  readonly flags: Set<string>;
}

export interface MailboxHostOptions {
  readonly user: string;
  readonly password: string;
  /** `starttls`: offered; `imaps`: from the first byte. */
  readonly tls?: 'starttls' | 'imaps';
  /** What it says that it can, besides IMAP4rev1. */
  readonly capabilities?: readonly string[];
  /** What STARTTLS is answered with, before it is followed. */
  readonly clearly?: string;
  /** The number of the first mail. */
  readonly firstUid?: number;
}

export class MailboxHost {
  readonly mails: StoredMail[] = [];
  /** Commands as they came, without what signs in. */
  readonly commands: string[] = [];
  /** Asked before each command is answered: `cut` ends the connection, a text is answered in its place. */
  before: (command: string) => string | null = () => null;
  readonly #options: MailboxHostOptions;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  readonly #idle = new Set<Socket>();
  #uid: number;
  /** Mails that are gone, and not told of yet. */
  #gone: StoredMail[] = [];

  constructor(options: MailboxHostOptions) {
    this.#options = options;
    this.#uid = (options.firstUid ?? 1) - 1;
    const serve = (socket: Socket): void => this.#serve(socket);
    this.#server =
      options.tls === 'imaps'
        ? createSecureServer({ key: mailKey, cert: mailCertificate }, serve)
        : createServer(serve);
  }

  async start(): Promise<this> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return this;
  }

  url({ user, password, tls } = this.#options): string {
    const { port } = this.#server.address() as AddressInfo;
    return `${tls === 'imaps' ? 'imaps' : 'imap'}://${encodeURIComponent(user)}:${encodeURIComponent(password)}@127.0.0.1:${port}`;
  }

  /** A mail comes; who listens is told. */
  deliver(raw: string | Buffer): StoredMail {
    const mail = { uid: (this.#uid += 1), raw: Buffer.from(raw), flags: new Set<string>() };
    this.mails.push(mail);
    for (const socket of this.#idle) socket.write(`* ${this.mails.length} EXISTS\r\n`);
    return mail;
  }

  /** A mail goes: the next answer tells of it, and until then the others keep their places. */
  remove(mail: StoredMail): void {
    this.#gone.push(mail);
  }

  /** Whether its reader waits for something new, or for the next attempt. */
  get isResting(): boolean {
    return this.#sockets.size === 0 || this.commands.at(-1) === 'IDLE';
  }

  /** Every connection ends. */
  hangUp(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  async stop(): Promise<void> {
    this.hangUp();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #serve(socket: Socket, greets = true): void {
    this.#sockets.add(socket);
    socket.on('close', () => {
      this.#sockets.delete(socket);
      this.#idle.delete(socket);
    });
    socket.on('error', () => undefined);
    if (greets) socket.write('* OK ready\r\n');
    let input = '';
    let expects: ((line: string) => void) | null = null;
    const answer = (line: string): void => {
      const [tag = '', ...words] = line.split(' ');
      const command = words.join(' ');
      const name = (words[0] === 'UID' ? `UID ${words[1] ?? ''}` : (words[0] ?? '')).toUpperCase();
      if (name !== 'LOGIN') this.commands.push(command);
      const instead = this.before(command);
      if (instead === 'cut') return void socket.destroy();
      if (instead !== null) return void socket.write(instead.replaceAll('TAG', tag));
      const ok = (untagged = ''): void => {
        const gone = this.#gone.splice(0).map((mail) => {
          const at = this.mails.indexOf(mail);
          this.mails.splice(at, 1);
          return `* ${at + 1} EXPUNGE\r\n`;
        });
        socket.write(`${untagged}${gone.join('')}${tag} OK done\r\n`);
      };
      const { user, password, tls, capabilities = ['IDLE', 'AUTH=PLAIN'] } = this.#options;
      const signIn = (right: boolean): void =>
        right ? ok() : void socket.write(`${tag} NO wrong password ${password}\r\n`);
      const mail = this.mails.find(({ uid }) => uid === Number(words[2]));
      const place = mail === undefined ? 0 : this.mails.indexOf(mail) + 1;
      switch (name) {
        case 'CAPABILITY': {
          const all = [...capabilities, ...(tls === 'starttls' ? ['STARTTLS'] : [])];
          return ok(`* CAPABILITY IMAP4rev1 ${all.join(' ')}\r\n`);
        }
        case 'STARTTLS': {
          socket.write((this.#options.clearly ?? 'TAG OK done\r\n').replaceAll('TAG', tag));
          socket.removeAllListeners('data');
          const context = createSecureContext({ key: mailKey, cert: mailCertificate });
          return this.#serve(new TLSSocket(socket, { isServer: true, secureContext: context }), false);
        }
        case 'LOGIN':
          return signIn(command === `LOGIN "${user}" "${password.replace(/["\\]/g, String.raw`\$&`)}"`);
        case 'AUTHENTICATE':
          socket.write('+ \r\n');
          expects = (given) => signIn(Buffer.from(given, 'base64').toString() === `\0${user}\0${password}`);
          return undefined;
        case 'SELECT':
          return ok(`* ${this.mails.length} EXISTS\r\n* FLAGS (\\Seen)\r\n`);
        case 'UID SEARCH': {
          const [, from = 1, to = this.mails.length] = / (\d+):(\d+)/.exec(command)?.map(Number) ?? [];
          if (from < 1 || to < from - 1 || to > this.mails.length)
            return void socket.write(`${tag} BAD no such mails\r\n`);
          const unseen = this.mails.slice(from - 1, to).filter(({ flags }) => !flags.has(String.raw`\Seen`));
          return ok(`* SEARCH${unseen.map(({ uid }) => ` ${uid}`).join('')}\r\n`);
        }
        case 'UID FETCH': {
          if (mail === undefined) return ok();
          if (command.includes('RFC822.SIZE'))
            return ok(`* ${place} FETCH (UID ${mail.uid} RFC822.SIZE ${mail.raw.length})\r\n`);
          // What is told in between is no answer to it.
          socket.write('* 1 FETCH (FLAGS (\\Seen))\r\n');
          const [, from = '', most = ''] = /BODY\.PEEK\[\]<(\d+)\.(\d+)>/.exec(command) ?? [];
          const stretch = mail.raw.subarray(Number(from), Number(from) + Number(most));
          socket.write(`* ${place} FETCH (UID ${mail.uid} BODY[]<${from}> {${stretch.length}}\r\n`);
          socket.write(stretch);
          return ok(')\r\n');
        }
        case 'NOOP':
        case 'NAMESPACE':
        case 'LIST':
        case 'LSUB':
          return ok();
        case 'LOGOUT':
          ok('* BYE\r\n');
          return void socket.end();
        case 'UID STORE':
          for (const [flag] of command.matchAll(/\\\w+/g)) mail?.flags.add(flag);
          return ok();
        case 'IDLE':
          socket.write('+ idling\r\n');
          this.#idle.add(socket);
          expects = () => {
            this.#idle.delete(socket);
            ok();
          };
          return undefined;
        default:
          return void socket.write(`${tag} BAD unknown\r\n`);
      }
    };
    socket.on('data', (chunk: Buffer) => {
      input += chunk.toString('latin1');
      for (let end = input.indexOf('\r\n'); end >= 0; end = input.indexOf('\r\n')) {
        const line = input.slice(0, end);
        input = input.slice(end + 2);
        const use = expects;
        expects = null;
        (use ?? answer)(line);
      }
    });
  }
}
