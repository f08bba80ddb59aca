// What is asked of facts about the database itself.

/** Before the id of an application whose deletion was begun, in the key of a fact: it is not found any more. */
export const goingApplication = 'deletingApplication_';
/** The same of an organization. */
export const goingOrganization = 'deletingOrganization_';

/** Facts about the database itself, by key. */
export interface MetaRepository {
  /** The value under a key, or undefined. */
  get(key: string): Promise<string | undefined>;
  /** All facts whose keys begin so. */
  startingWith(prefix: string): Promise<{ readonly key: string; readonly value: string }[]>;
  set(key: string, value: string): Promise<number>;
  /** Sets a value in place of another; 0 when the key has another value by now, or none. */
  replace(key: string, expected: string, value: string): Promise<number>;
  /** 0 when there is none. */
  remove(key: string): Promise<number>;
}
