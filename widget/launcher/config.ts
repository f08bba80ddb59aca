// Owns fetching the application's configuration, as often as it takes. Must not store it.
import type { SdkConfig } from '../../src/sdk/types.ts';

export const maxRetryWaitMs = 30_000;

/**
 * The application's configuration. Asks again while the service can't be reached, waiting 1 s, 2 s … 30 s.
 * @throws Error with the service's own sentence when it refuses the application or this page's origin
 */
export async function fetchConfig(
  {
    appId,
    apiBaseUrl,
    config,
  }: { readonly appId: string; readonly apiBaseUrl: string; readonly config?: SdkConfig },
  signal: AbortSignal,
): Promise<SdkConfig> {
  if (config !== undefined) return config;
  for (let waitMs = 1_000; ; waitMs = Math.min(waitMs * 2, maxRetryWaitMs)) {
    const response = await fetch(`${apiBaseUrl}/api/v1/widget/config`, {
      headers: { 'X-App-Id': appId },
      signal,
    }).catch(() => null);
    if (signal.aborted) throw new Error('The widget was destroyed.');
    if (response?.ok === true) return ((await response.json()) as { application: SdkConfig }).application;
    if (response !== null && response.status < 500 && response.status !== 429) {
      throw new Error(((await response.json()) as { message: string }).message);
    }
    await new Promise((resolve) => setTimeout(resolve, waitMs * (0.5 + Math.random() / 2)));
  }
}
