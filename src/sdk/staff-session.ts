// A member's session in this client: begun with a password, a token or a cookie, ended here or by the service.
// Must not know rooms or frames.
import type { Connection } from './connection.ts';
import { closeOutbox } from './outbox.ts';
import { loadEntries, type OutboxCore } from './outbox-entries.ts';
import { inCookie, type StaffContext } from './staff-context.ts';
import type { StaffClient, StaffSession } from './staff-types.ts';

export class StaffSessionKeeper {
  readonly #context: StaffContext;
  readonly #link: Connection;
  readonly #sending: OutboxCore;
  #lastMember = '';

  /** @param link runs as long as there is a session @param sending keeps each member's unsent messages apart */
  constructor(context: StaffContext, link: Connection, sending: OutboxCore) {
    this.#context = context;
    this.#link = link;
    this.#sending = sending;
    context.onExpired = () => this.#end();
  }

  /** @throws SdkError unauthorized */
  async signIn(
    credentials: Parameters<StaffClient['signIn']>[0],
  ): Promise<StaffSession & { readonly token: string }> {
    const { options, rest } = this.#context;
    const { token = inCookie } = await rest.request_<{ token?: string }>('POST', '/session', {
      body: options.cookie === true ? { ...credentials, cookie: true } : credentials,
      retries_: 0,
    });
    return { ...(await this.#begin(token)), token: token === inCookie ? '' : token };
  }

  /** Goes on with a token that was kept, or with the cookie; @throws SdkError unauthorized */
  resume(known: string): Promise<StaffSession> {
    return this.#begin(known === '' && this.#context.options.cookie === true ? inCookie : known);
  }

  async signOut(): Promise<void> {
    await this.#context.http.request_('DELETE', '/session');
    if (this.#context.state.session !== null) this.#end();
  }

  async #begin(token: string): Promise<StaffSession> {
    const context = this.#context;
    if (context.state.session !== null && token !== context.token) {
      // Perhaps another member: nothing of the one before may go out in their name.
      this.#link.stop_();
      context.set({ session: null });
    }
    context.token = token;
    try {
      const { expiresAt, member, organization } = await context.http.request_<StaffSession>(
        'GET',
        '/session',
      );
      const session = { expiresAt, member, organization };
      context.set({ session });
      this.#takeOver();
      this.#link.start_();
      return session;
    } catch (error) {
      context.token = '';
      throw error;
    }
  }

  /** A member signed in: what they had not sent yet goes on; what another member had not sent stays theirs. */
  #takeOver(): void {
    const member = this.#context.memberId();
    if (this.#lastMember === member) return;
    if (this.#lastMember !== '') closeOutbox(this.#sending);
    this.#lastMember = member;
    this.#context.notes.load();
    loadEntries(this.#sending);
  }

  #end(): void {
    this.#link.stop_();
    this.#context.token = '';
    this.#context.set({ session: null, conversations: [], rooms: {} });
    this.#context.emit('signed-out', {});
  }
}
