// The headers that keep other pages and other protocols out.
import { expect, it } from 'vitest';
import { startApp } from '../helpers/app.ts';

it('the invitation takes styles from its file alone, and https is remembered', async () => {
  const app = await startApp({ flags: { baseUrl: 'https://chat.example' } });
  const { headers } = await fetch(`${app.url}/invitation`);
  expect(headers.get('content-security-policy')).not.toContain('unsafe-inline');
  expect(headers.get('strict-transport-security')).toBe('max-age=31536000');
  expect(headers.get('cross-origin-opener-policy')).toBe('same-origin');
  await app.stop();
});

it('without an https base URL nothing is said of https', async () => {
  const app = await startApp();
  expect((await fetch(`${app.url}/healthz`)).headers.get('strict-transport-security')).toBeNull();
  await app.stop();
});
