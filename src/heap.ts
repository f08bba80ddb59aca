// What a process that serves tells V8 of its heap.
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';

/** Of the room that V8 leaves between what lived at the last collection and its limit, %. */
const beginAt = 60;
/** From here on it does not wait for a turn of the loop. */
const beginAtOnceAt = 80;
/** From so much room for young objects on it stays as it is, bytes: two halves of 32 MiB, of which one is in use. */
const enoughForYoung = 64 * 1_048_576;
/** At a load of twenty thousand messages a second it takes some seconds to double. */
const usualLookMs = 1_000;

/**
 * For a process that serves: what ends soon hardly collects.
 *
 * Lets V8 begin a collection of the whole heap when most of the room for old objects is taken. By itself it begins when less
 * room is left than the young generation has, which grows to 64 MiB under load: of the 72 MiB that a server of some dozens of
 * megabytes has, eight were enough, and at half load it collected every five seconds. V8's threads take two cores for 60 to
 * 90 ms each time, and answers wait for tens of milliseconds. A heap with more than 160 MiB of room is collected sooner than
 * V8 would, but never before 96 MiB have become old.
 *
 * Keeps the room for young objects from growing any further once there is enough of it. V8 doubles it whenever as much has
 * outlived its collections since the last time, and gives it back only with a collection of the whole heap, of which a server
 * at rest makes none: a load left 128 MiB behind. Twice the room is collected half as often, which is not to be seen in the
 * cost of a message.
 * @param lookMs between two looks at how large it is; each takes some microseconds
 */
export function tuneHeap(lookMs = usualLookMs): void {
  setFlagsFromString(`--incremental-marking-soft-trigger=${beginAt}`);
  setFlagsFromString(`--incremental-marking-hard-trigger=${beginAtOnceAt}`);
  let isEnough = false;
  setInterval(() => {
    const young = getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space');
    const was = isEnough;
    isEnough = (young?.space_size ?? 0) >= enoughForYoung;
    // V8 may have made it smaller in the meantime: then it must be able to grow again.
    if (isEnough !== was) setFlagsFromString(`--semi-space-growth-factor=${isEnough ? 1 : 2}`);
  }, lookMs).unref();
}
