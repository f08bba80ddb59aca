// The SDK's entry: init and getSdkApi, which share one instance until it is destroyed.
// Must not touch anything while imported.
import { createInstance, type Instance } from './instance.ts';
import type { InitOptions, SdkApi } from './types.ts';

export type * from './types.ts';

let instance: Instance | null = null;

/**
 * Starts the SDK. Again with the same appId: the same promise.
 * @returns resolves when ready; rejects when the service refuses the application or the page's origin, or when another appId runs already
 */
export function init(options: InitOptions): Promise<SdkApi> {
  return current().init(options);
}

/** The API, at once and always: before `init` its calls wait. */
export function getSdkApi(): SdkApi {
  return current().api;
}

function current(): Instance {
  instance ??= createInstance(() => {
    instance = null;
  });
  return instance;
}
