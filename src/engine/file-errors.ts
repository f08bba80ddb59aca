// What an error of the file system says of itself.

/** The code of a system error (`ENOENT`, `EEXIST`, …), or undefined for any other error. */
export function systemErrorCode(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}

/** What an error says; for the end of a sentence. */
export function errorMessage(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Of a disk that is full, or of what a person may take of it. SQLite has another code for the file that its processes share. */
const noRoomCodes: ReadonlySet<string | undefined> = new Set([
  'ENOSPC',
  'EDQUOT',
  'SQLITE_FULL',
  'SQLITE_IOERR_SHMSIZE',
]);

/** Whether it is an error, of the system or of SQLite, that says there is no room. */
export function isOutOfRoom(error: unknown): boolean {
  return noRoomCodes.has(systemErrorCode(error));
}
