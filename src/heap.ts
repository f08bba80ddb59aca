// When V8 collects the whole heap of a server.
import { setFlagsFromString } from 'node:v8';

/** Of the room that V8 leaves between what lived at the last collection and its limit, %. */
const beginAt = 60;
/** From here on it does not wait for a turn of the loop. */
const beginAtOnceAt = 80;

/**
 * Lets V8 begin a collection of the whole heap when most of the room for old objects is taken. By itself it begins when less
 * room is left than the young generation has, which grows to 64 MiB under load: of the 72 MiB that a server of some dozens of
 * megabytes has, eight were enough, and at half load it collected every five seconds. V8's threads take two cores for 60 to
 * 90 ms each time, and answers wait for tens of milliseconds. A heap with more than 160 MiB of room is collected sooner than
 * V8 would, but never before 96 MiB have become old. For a process that serves: what ends soon hardly collects.
 */
export function collectSeldom(): void {
  setFlagsFromString(`--incremental-marking-soft-trigger=${beginAt}`);
  setFlagsFromString(`--incremental-marking-hard-trigger=${beginAtOnceAt}`);
}
