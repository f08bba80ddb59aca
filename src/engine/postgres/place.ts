// How a database is named to people. Must not need the driver.

/** Where a database is, without who uses it and their password, which may hold an @ as well. */
export function describeDatabase(url: string): string {
  const [, place = ''] = /^\w+:\/\/(?:[^/?#]*@)?([^?#]*)/.exec(url) ?? [];
  const host = /[?&]host=([^&]+)/.exec(url)?.[1];
  return host === undefined ? place : `${decodeURIComponent(host)}${place}`;
}
