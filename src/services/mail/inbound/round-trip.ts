// The mail that `doctor` sends to the server itself: that it came is noted, and nothing else is made of it.
import type { MailOutcome } from './receive-mail.ts';
import type { Service } from '../../service.ts';

/** The key of `meta` that holds the id of the last one that came. */
export const roundTripKey = 'mail_round_trip';

/** Notes that one has come. */
export function noteRoundTrip({ engine: { store } }: Service, id: string): Promise<MailOutcome> {
  return store.write('server:mail-round-trip', async ({ repositories: { meta } }) => {
    await meta.set(roundTripKey, id);
    return { state: 'ignored', why: 'doctor sent it, to see whether it comes' };
  });
}
