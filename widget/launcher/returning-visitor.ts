// Owns one question: has this browser written to us before? Reads, never writes.
import type { WidgetOptions } from './host.ts';

/** True when the engine has kept a visitor's id here: then news may be waiting. */
export function isReturningVisitor({ appId, storage = 'local' }: WidgetOptions): boolean {
  if (storage === 'none') return false;
  try {
    const place = typeof storage === 'object' ? storage : window[`${storage}Storage`];
    return place.getItem(`deskbell:${appId}:visitor`) !== null;
  } catch {
    // Blocked by the browser's settings or a sandbox.
    return false;
  }
}
