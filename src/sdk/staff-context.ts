// What the parts of a member's client share: state, events, and requests under the session's token.
// Must not know rooms, sending or the socket.
import { visitorApiPrefix } from '../protocol/codes.ts';
import { browserEnvironment } from './browser-environment.ts';
import { callSafely, createEmitter } from './emitter.ts';
import { asSdkError, sdkError } from './error.ts';
import { createHttpClient, type HttpClient, type RequestOptions } from './http.ts';
import { createNoteMarks } from './staff-note-marks.ts';
import type { StaffEvents, StaffOptions, StaffState } from './staff-types.ts';
import type { Environment, Undo } from './types.ts';

/** In the place of a token that this page never sees. */
export const inCookie = 'cookie';

export class StaffContext {
  readonly options: StaffOptions;
  readonly env: Environment;
  readonly base: string;
  readonly emitter = createEmitter<StaffEvents>();
  readonly emit = this.emitter.emit_;
  /** Requests as they are; `http` also knows notes and the end of a session. */
  readonly rest: HttpClient;
  readonly http: HttpClient;
  readonly notes: ReturnType<typeof createNoteMarks>;
  /** Empty: no member is signed in. */
  token = '';
  stopped = false;
  /** The service no longer knows the session. */
  onExpired: () => void = () => undefined;
  #state: StaffState = {
    session: null,
    connection: 'idle',
    reconnectAt: null,
    conversations: [],
    rooms: {},
    retryAt: null,
  };
  #listeners: readonly ((state: StaffState) => void)[] = [];

  constructor(options: StaffOptions) {
    this.options = options;
    this.env = { ...browserEnvironment(), ...options.environment };
    this.base = options.baseUrl.replace(/\/+$/, '');
    this.notes = createNoteMarks(options.storage ?? null);
    this.rest = createHttpClient(this.env, `${this.base}${visitorApiPrefix}/staff`, () =>
      this.authorization(),
    );
    this.http = {
      close_: this.rest.close_,
      request_: (method, path, call) => this.#request(method, path, call),
    };
  }

  get state(): StaffState {
    return this.#state;
  }

  set(patch: Partial<StaffState>): void {
    this.#state = { ...this.#state, ...patch };
    for (const listener of this.#listeners) callSafely(listener, this.#state);
  }

  subscribe(listener: (state: StaffState) => void): Undo {
    const own = (next: StaffState): void => listener(next);
    this.#listeners = [...this.#listeners, own];
    return () => {
      this.#listeners = this.#listeners.filter((one) => one !== own);
    };
  }

  /** The member who is signed in; empty: none is. */
  memberId(): string {
    return this.#state.session?.member.id ?? '';
  }

  /** What says who asks; a browser sends its cookie by itself. */
  authorization(): Record<string, string> {
    return this.token === '' || this.token === inCookie ? {} : { Authorization: `Bearer ${this.token}` };
  }

  /** Tells of what failed in the background. */
  report(error: unknown): void {
    if (!this.stopped) this.emit('error', asSdkError(error));
  }

  async #request<T>(method: string, path: string, call: RequestOptions = {}): Promise<T> {
    const key = (call.body as { readonly clientMessageId?: string } | undefined)?.clientMessageId ?? '';
    try {
      return await this.rest.request_<T>(
        method,
        path,
        this.notes.has(key) ? { ...call, body: { ...call.body, internal: true } } : call,
      );
    } catch (error) {
      if (asSdkError(error).status !== 401) throw error;
      if (this.#state.session !== null) this.onExpired();
      // A message is not refused by that: it waits for the next session.
      throw key === '' ? error : sdkError('network', 'Signed out.');
    }
  }
}
