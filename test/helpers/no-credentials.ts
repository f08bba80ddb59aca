// What a request shows that comes from nowhere in particular and says nothing of its caller. A caller adds what it has.
import type { Credentials } from '../../src/services/auth/authenticate.ts';

/** A request without any sign of who asks. */
export const noCredentials: Credentials = {
  authorization: [],
  appId: [],
  visitorId: [],
  origin: [],
  fetchSite: undefined,
  safeMethod: true,
  host: undefined,
  cookie: undefined,
  address: '127.0.0.1',
};
