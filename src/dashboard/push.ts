// Owns this browser's pushes: asking for the permission, subscribing through the service worker, telling the service, and
// taking them back. Asks for nothing before a button was pressed.
import { call } from './api.ts';
import { go, hrefOf } from './router.ts';
import { locale } from './words.ts';

/** A browser as the service knows it. */
export interface Device {
  readonly id: string;
  readonly label: string;
  readonly host: string;
  readonly current: boolean;
  readonly lastSentAt: string | null;
  readonly problem: string | null;
}

export interface PushState {
  readonly publicKey: string;
  readonly devices: readonly Device[];
}

/** Whether this browser could have pushes: `none` without https, or on a phone before the page was installed. */
export function pushSupport(): 'possible' | 'blocked' | 'none' {
  if (!('serviceWorker' in navigator) || !('PushManager' in globalThis) || !('Notification' in globalThis))
    return 'none';
  return Notification.permission === 'denied' ? 'blocked' : 'possible';
}

const bytesOf = (base64url: string): Uint8Array<ArrayBuffer> =>
  Uint8Array.from(atob(base64url.replaceAll('-', '+').replaceAll('_', '/')), (one) => one.charCodeAt(0));

const sameBytes = (one: ArrayBuffer | null, other: Uint8Array): boolean =>
  one !== null && new Uint8Array(one).join() === other.join();

/** Shows a notification; a click leads to its conversation. */
export function showNotification(heading: string, body: string, conversationId: string | undefined): void {
  const shown = new Notification(heading, { body, tag: conversationId ?? heading });
  shown.addEventListener('click', () => {
    focus();
    if (conversationId !== undefined) go(hrefOf('c', conversationId));
    shown.close();
  });
}

/**
 * Has pushes sent to this browser. Only after a click: the browser asks for the permission.
 * @returns false where the permission was not given
 * @throws Error of the browser or of the service
 */
export async function subscribe(): Promise<boolean> {
  if ((await Notification.requestPermission()) !== 'granted') return false;
  await renew(true);
  return true;
}

/**
 * Looks after what was subscribed before: a new key of the service takes a new subscription.
 * @param begin whether to subscribe where nothing is
 */
export async function renew(begin = false): Promise<void> {
  if (pushSupport() !== 'possible' || Notification.permission !== 'granted') return;
  const { pushManager } = await navigator.serviceWorker.ready;
  const known = await pushManager.getSubscription();
  if (known === null && !begin) return;
  const { publicKey, devices } = await call<PushState>('GET', '/push');
  const key = bytesOf(publicKey);
  const isFit = known !== null && sameBytes(known.options.applicationServerKey, key);
  // The service has it, for this session and under this key.
  if (isFit && !begin && devices.some(({ current }) => current)) return;
  if (known !== null && !isFit) await known.unsubscribe();
  const subscription =
    isFit && known !== null
      ? known
      : await pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: key });
  const { endpoint, keys } = subscription.toJSON();
  await call('POST', '/push', { endpoint, keys, label: browserName(), locale: locale.tag });
}

/** Ends what this browser is subscribed to. What the service has of it ends with the session. */
export async function unsubscribe(): Promise<void> {
  if (!('serviceWorker' in navigator) || !('PushManager' in globalThis)) return;
  const registration = await navigator.serviceWorker.getRegistration();
  await (await registration?.pushManager.getSubscription())?.unsubscribe();
}

/** Takes away what calls for attention for a conversation. */
export async function closeNotifications(conversationId: string): Promise<void> {
  if (!('serviceWorker' in navigator)) return;
  const registration = await navigator.serviceWorker.getRegistration();
  for (const shown of (await registration?.getNotifications({ tag: conversationId })) ?? []) shown.close();
}

const browsers = [
  ['Edg/', 'Edge'],
  ['OPR/', 'Opera'],
  ['SamsungBrowser/', 'Samsung Internet'],
  ['Firefox/', 'Firefox'],
  ['Chrome/', 'Chrome'],
  ['Safari/', 'Safari'],
] as const;
const systems = [
  ['Android', 'Android'],
  ['iPhone', 'iPhone'],
  ['iPad', 'iPad'],
  ['Windows', 'Windows'],
  ['Mac OS X', 'Mac'],
  ['Linux', 'Linux'],
] as const;

/** As `Firefox on Linux`, so that people tell their browsers apart. */
function browserName(): string {
  const { userAgent } = navigator;
  const named = (list: readonly (readonly [string, string])[], other: string): string =>
    list.find(([mark]) => userAgent.includes(mark))?.[1] ?? other;
  return `${named(browsers, 'Browser')} · ${named(systems, '?')}`;
}
