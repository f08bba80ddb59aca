// Lists of what was made within one millisecond come in the order in which it was made.
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startApp, type TestApp } from '../helpers/app.ts';
import { createOrganization } from '../helpers/fixtures.ts';

let app: TestApp;

beforeAll(async () => {
  // The clock stands still: everything is made in the same millisecond.
  app = await startApp();
  await createOrganization(app, 'acme');
});
afterAll(() => app.stop());

it('domains of an application come in the order of creation', async () => {
  const domains = Array.from({ length: 12 }, (_, index) => `shop${(index * 7) % 12}.example`);
  const made = await app.local('applications.create', { organization: 'acme', name: 'Shop', domains });
  expect(made.domains).toEqual(domains);
  const { applications } = await app.local('applications.list', { organization: 'acme' });
  expect(applications.find(({ id }) => id === made.id)?.domains).toEqual(domains);
});
