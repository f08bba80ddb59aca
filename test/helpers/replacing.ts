// Owns repositories of which a test watches one: with another in its place. Must not know what is watched.
import type { Repositories } from '../../src/engine/repositories.ts';

/** The repositories with another one in the place of one; an engine may make them only when they are asked for. */
export function replacing<N extends keyof Repositories>(
  repositories: Repositories,
  name: N,
  other: Repositories[N],
): Repositories {
  return new Proxy({} as Repositories, {
    get: (_target, key): unknown => (key === name ? other : Reflect.get(repositories, key, repositories)),
  });
}
