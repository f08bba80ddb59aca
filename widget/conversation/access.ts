// Owns whether the service has turned this page away: its application was deleted, or its domain removed. A browser tells a
// page nothing of such an answer, so that a request alone looks as if the service could not be reached. Asks for nothing.
import { tryOrUndefined } from '../../src/sdk/error.ts';
import type { SdkError } from '../../src/sdk/types.ts';
import type { VisibleHost } from '../launcher/host.ts';

export interface Access {
  /**
   * The connection was closed for good. Only the tab that holds it hears so, and tells the others.
   * @param refusal what a request that was made behind that came to
   */
  end(refusal: Pick<SdkError, 'status'>): void;
  /** The connection is there again. */
  goOn(): void;
  stop(): void;
}

/** @param onChange whether the page is turned away, here or in another of the visitor's tabs */
export function watchAccess({ options }: VisibleHost, onChange: (withdrawn: boolean) => void): Access {
  // Where it is blocked or not there, each tab is told by its own connection.
  const channel = tryOrUndefined(() => new BroadcastChannel(`deskbell:${options.appId}:withdrawn`));
  if (channel !== undefined) channel.onmessage = () => onChange(true);
  return {
    end: ({ status = 0 }) => {
      // A service that is busy or broken has answered: it may say something else later.
      if (status === 429 || status >= 500) return;
      onChange(true);
      channel?.postMessage(0);
    },
    goOn: () => onChange(false),
    stop: () => channel?.close(),
  };
}
