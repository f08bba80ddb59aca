// The client of a virus scanner that speaks clamd's protocol: bytes go to it in chunks (INSTREAM), a line comes back.
import { connect, type Socket } from 'node:net';
import type { ScanVerdict, Scanner } from '../services/files/file-store.ts';

/** Where clamd listens: a host and a port, or a Unix socket. */
export type ClamdPlace = { readonly host: string; readonly port: number } | { readonly path: string };

const connectMs = 3_000;
const silentMs = 30_000;
/** For all of one file, however it comes on: clamd itself gives up after as long. */
const maxScanMs = 120_000;
const maxAnswer = 4_096;

/** @param wholeMs how long one file may take, whatever the scanner takes up and says */
export function createClamdScanner(place: ClamdPlace, wholeMs = maxScanMs): Scanner {
  return {
    place: 'path' in place ? place.path : `${place.host}:${place.port}`,
    scan: async (bytes) => readVerdict(await converse(place, wholeMs, (socket) => sendStream(socket, bytes))),
    check: async () => {
      const answer = await converse(place, wholeMs, (socket) => write(socket, Buffer.from('zPING\0')));
      if (answer !== 'PONG') throw new Error(`it answered ${JSON.stringify(answer.slice(0, 80))} to PING`);
    },
  };
}

async function converse(
  place: ClamdPlace,
  wholeMs: number,
  ask: (socket: Socket) => Promise<void>,
): Promise<string> {
  const socket = connect(place);
  const late = setTimeout(
    () => socket.destroy(new Error(`the scanner took longer than ${wholeMs / 1000} s`)),
    wholeMs,
  );
  socket.setTimeout(connectMs, () => socket.destroy(new Error('the scanner does not answer')));
  try {
    await new Promise<void>((resolve, reject) => {
      socket.once('connect', resolve);
      socket.once('error', reject);
    });
    socket.setTimeout(silentMs);
    const answer = readAnswer(socket);
    // It may refuse before it has heard everything: its answer counts then.
    answer.catch(() => undefined);
    const asked = ask(socket).then(() => null);
    const first = await Promise.race([answer, asked]);
    return first ?? (await answer);
  } finally {
    clearTimeout(late);
    socket.destroy();
  }
}

async function sendStream(socket: Socket, bytes: AsyncIterable<Uint8Array>): Promise<void> {
  await write(socket, Buffer.from('zINSTREAM\0'));
  for await (const chunk of bytes) {
    const length = Buffer.alloc(4);
    length.writeUInt32BE(chunk.length);
    await write(socket, length);
    await write(socket, chunk);
  }
  await write(socket, Buffer.alloc(4));
}

function write(socket: Socket, bytes: Uint8Array): Promise<void> {
  return new Promise((resolve, reject) => {
    socket.write(bytes, (error) => {
      if (error === undefined || error === null) resolve();
      else reject(error);
    });
  });
}

function readAnswer(socket: Socket): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = '';
    socket.on('data', (chunk: Buffer) => {
      text += chunk.toString('utf8');
      const end = text.indexOf('\0');
      if (end >= 0) resolve(text.slice(0, end));
      else if (text.length > maxAnswer) reject(new Error('the scanner answered too much'));
    });
    socket.once('error', reject);
    socket.once('close', () => reject(new Error('the scanner hung up')));
  });
}

/** @throws Error for everything that is no verdict, as `INSTREAM size limit exceeded. ERROR` */
function readVerdict(answer: string): ScanVerdict {
  if (answer === 'stream: OK') return { clean: true };
  const [, found] = /^stream: (.+) FOUND$/.exec(answer) ?? [];
  if (found !== undefined) return { clean: false, found: found.replace(/[^\w .:-]/g, '_').slice(0, 100) };
  throw new Error(`the scanner said: ${answer.slice(0, 200)}`);
}
