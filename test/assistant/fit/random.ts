// Numbers that look random and are the same ones for a seed, so that a fit can be repeated.

/** Numbers from 0 to 1 (a linear congruence). */
export function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

/** A normal number of mean 0 and deviation 1 (Box and Muller). */
export function drawNormal(random: () => number): number {
  return Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
}
