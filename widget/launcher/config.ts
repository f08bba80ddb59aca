// Owns fetching the application's configuration, as often as it takes. Must not store it.
import type { SdkConfig } from '../../src/sdk/types.ts';

export const maxRetryWaitMs = 30_000;

/**
 * The application's configuration. Asks again while the service can't be reached, waiting 1 s, 2 s … 30 s.
 * @param warn tells the site's owner, once, what may be wrong where nothing is answered
 * @throws Error with the service's own sentence when it refuses the application or this page's origin
 */
export async function fetchConfig(
  {
    appId,
    apiBaseUrl,
    config,
  }: { readonly appId: string; readonly apiBaseUrl: string; readonly config?: SdkConfig },
  signal: AbortSignal,
  warn: (text: string) => void,
): Promise<SdkConfig> {
  if (config !== undefined) return config;
  let isFirst = true;
  for (let waitMs = 1_000; ; waitMs = Math.min(waitMs * 2, maxRetryWaitMs)) {
    const response = await fetch(`${apiBaseUrl}/api/v1/widget/config`, {
      headers: { 'X-App-Id': appId },
      signal,
    }).catch(() => null);
    if (signal.aborted) throw new Error('The widget was destroyed.');
    if (response !== null && response.status < 500 && response.status !== 429) {
      const { application, message } = await bodyOf(response);
      if (response.ok && application !== undefined) return application;
      throw new Error(
        message ?? `${apiBaseUrl} is no Deskbell server (HTTP ${response.status}): look at apiBaseUrl.`,
      );
    }
    // A browser tells nothing of a refusal that is not for this page, and calls it a matter of CORS.
    if (response === null && isFirst)
      warn(
        `no answer from ${apiBaseUrl}. Where it can be reached, it does not know this application for this page: deskbell domain add --app ${appId} ${location.host}`,
      );
    isFirst = false;
    await new Promise((resolve) => setTimeout(resolve, waitMs * (0.5 + Math.random() / 2)));
  }
}

/** An answer's fields; none where it is no JSON, as a web site's own pages are. */
async function bodyOf(
  response: Response,
): Promise<{ readonly application?: SdkConfig; readonly message?: string }> {
  const body: unknown = await response.json().catch(() => null);
  return (body ?? {}) as Awaited<ReturnType<typeof bodyOf>>;
}
