// The only logger: JSON lines on stderr. What may be logged is decided here:
// never a token, a key, a message's text or a whole visitor id.
import { pino, type DestinationStream, type Logger } from 'pino';
import type { LogLevel } from './config.ts';

export type Log = Logger;

/**
 * @param level what is worth a line
 * @param destination where lines go; stderr unless a test listens
 */
export function createLog(level: LogLevel, destination?: DestinationStream): Log {
  return pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      // A second wall: nothing of these is ever handed in.
      redact: {
        paths: ['*.authorization', '*.token', '*.password', '*.content', '*.key', '*.secret', '*.cookie'],
        censor: '***',
      },
    },
    destination ?? pino.destination({ fd: 2, sync: true }),
  );
}
