// Large bodies leave their stretches behind, and the engine of JavaScript, which sees small objects alone, lets them lie
// until there are some sixty megabytes. Here they are counted, and young garbage is collected before they are many: that
// takes about a millisecond, and a body of any size then costs a few megabytes.
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

const mostBytes = 4 * 1_048_576;

let spent = 0;
let collect: ((options: { readonly type: 'minor' }) => void) | null = null;

/** Says that bytes of a body have been written elsewhere, and are not held any more. */
export function noteSpent(bytes: number): void {
  spent += bytes;
  if (spent < mostBytes) return;
  spent = 0;
  collect ??= findCollector();
  collect({ type: 'minor' });
}

/** The engine's own function, which it gives to contexts that are made while it may be asked for. */
function findCollector(): NonNullable<typeof collect> {
  setFlagsFromString('--expose-gc');
  const found: unknown = runInNewContext('gc');
  setFlagsFromString('--no-expose-gc');
  return typeof found === 'function'
    ? (options) => void Reflect.apply(found, undefined, [options])
    : () => undefined;
}
