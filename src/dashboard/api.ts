// Owns the client of the signed-in member, and signing in and out. The session is in a cookie that no script can read;
// nothing of it is stored here.
import { signal } from '@preact/signals';
import { createStaffClient, type StaffClient, type StaffSession } from '../sdk/staff.ts';
import { asSdkError } from '../sdk/error.ts';
import { serverAddress } from './router.ts';
import { createOutboxStorage } from './storage.ts';

/** Whether a member is signed in; null: not known yet. */
export const session = signal<StaffSession | null | undefined>(undefined);

let current: StaffClient | null = null;

/** The client of this page. */
export function staffClient(): StaffClient {
  current ??= createStaffClient({
    baseUrl: serverAddress(),
    mode: 'live',
    cookie: true,
    storage: createOutboxStorage(),
  });
  return current;
}

/**
 * A call of the REST API as the signed-in member.
 * @param path below `/staff`, or one that begins with `/admin/`
 * @returns the parsed answer
 * @throws SdkError
 */
export function call<T>(method: string, path: string, body?: object): Promise<T> {
  return staffClient().call<T>(method, path, body);
}

/** The code of what went wrong, such as `not_found`; `network` where the server can't be reached. */
export function errorCode(error: unknown): string {
  return asSdkError(error).code;
}
