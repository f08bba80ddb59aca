// Answers of any size: their lists are read as they are taken, so that they are nowhere in memory as a whole.

/** The same value, whose lists may be read part by part, and whose members may be known only when those before them were taken. */
export type InParts<T> = T extends readonly (infer One)[]
  ? readonly One[] | AsyncIterable<InParts<One>>
  : T extends object
    ? { readonly [K in keyof T]: InParts<T[K]> | (() => T[K]) }
    : T;

/** Whether a value is a list that is read as it is taken. */
export function isReadList(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === 'object' && value !== null && Symbol.asyncIterator in value;
}

/** Whether an object has members that are read or asked for as they are taken. */
export function hasParts(value: unknown): value is Readonly<Record<string, unknown>> {
  return (
    typeof value === 'object' &&
    value !== null &&
    Object.values(value).some((member) => isReadList(member) || typeof member === 'function')
  );
}

/** The whole of an answer, for a caller who wants it in memory. Takes each member after those before it. */
export function gathered<T>(parts: InParts<T>): Promise<T>;
export async function gathered(value: unknown): Promise<unknown> {
  if (isReadList(value)) {
    const list: unknown[] = [];
    for await (const one of value) list.push(await gathered(one));
    return list;
  }
  if (!hasParts(value)) return value;
  const whole: Record<string, unknown> = {};
  for (const [name, member] of Object.entries(value)) whole[name] = await gathered(known(member));
  return whole;
}

/** A member's value, where it is known only now. */
export function known(member: unknown): unknown {
  return typeof member === 'function' ? Reflect.apply(member, undefined, []) : member;
}
