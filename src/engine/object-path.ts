// Where an object lies in a folder of files: two levels of folders by the beginning of its name, so that none has too many.
import { join } from 'node:path';

const objectForm = /^[0-9a-f]{64}$/;

/** True for the name of an object. */
export function isObjectName(name: string): boolean {
  return objectForm.test(name);
}

/** @throws Error for what is no name of an object: it must not lead out of the folder */
export function objectPath(folder: string, object: string): string {
  if (!isObjectName(object)) throw new Error('Not the name of an object.');
  return join(folder, object.slice(0, 2), object.slice(2, 4), object);
}
