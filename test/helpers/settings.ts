// Changes an application's settings by their paths, as `deskbell app config --set` does.
import { patchFromPaths } from '../../src/services/tenants/settings.ts';
import type { TestApp } from './app.ts';

/** @throws ServiceError bad_request for a path that is no setting, or a value that its setting does not take */
export async function setByPath(
  app: Pick<TestApp, 'local'>,
  applicationId: string,
  settings: Readonly<Record<string, unknown>>,
): Promise<void> {
  const current = await app.local('applications.get', { applicationId });
  const changes = Object.entries(settings).map(([path, value]) => ({ path, value }));
  await app.local('applications.update', { applicationId, ...patchFromPaths(current.settings, changes) });
}
