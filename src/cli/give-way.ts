// How a command that reads or checks a lot leaves the processor to a server beside it. Must never be why a command fails.
import { spawnSync } from 'node:child_process';
import { constants, setPriority } from 'node:os';

/**
 * Gives this process the lowest priority, and on Linux the policy for idle time. A low priority alone still takes a
 * core from a server that wakes a thousand times a second: it waits until the slice that runs there is over.
 */
export function giveWay(): void {
  try {
    setPriority(constants.priority.PRIORITY_LOW);
  } catch {
    // Where it may not be set, the work is done all the same.
  }
  // Node can't set a policy. Where there is no such program, or it is refused, the priority is all there is.
  if (process.platform === 'linux')
    spawnSync('chrt', ['-a', '-i', '-p', '0', String(process.pid)], { stdio: 'ignore' });
}
