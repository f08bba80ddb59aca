// Owns the entry: what may be called when, who hears what, and that nothing is touched
// by importing. Must not need a conversation.
import { spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { SignJWT } from 'jose';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { errorCodes, closeCodes } from '../../src/protocol/codes.ts';
import type * as entity from '../../src/protocol/entities.ts';
import { createEmitter } from '../../src/sdk/emitter.ts';
import { isRetryable, sdkError } from '../../src/sdk/error.ts';
import { getSdkApi, init } from '../../src/sdk/index.ts';
import { finalCloseCodes } from '../../src/sdk/connection.ts';
import type { SdkConfig, SdkErrorCode, SdkMessage, SdkVisitor } from '../../src/sdk/types.ts';
import { startApp, type TestApp } from '../helpers/app.ts';
import { repository } from '../helpers/command.ts';
import { eventually } from '../helpers/eventually.ts';
import { openPage } from '../helpers/sdk-page.ts';
import { createApplication, createOrganization, type TestOrganization } from '../helpers/fixtures.ts';

let app: TestApp;
let acme: TestOrganization;

beforeAll(async () => {
  app = await startApp();
  acme = await createOrganization(app, 'acme');
});

afterAll(() => app.stop());

function options() {
  return {
    appId: acme.application.id,
    apiBaseUrl: app.url,
    environment: {
      fetch: (url: string, request: object & { headers: Record<string, string> }) =>
        fetch(url, { ...request, headers: { ...request.headers, origin: acme.application.origin } }),
    },
  };
}

describe('the entry', () => {
  it('touches no global while it is imported', () => {
    const trap = `
      for (const name of ['window', 'document', 'navigator', 'localStorage', 'sessionStorage', 'WebSocket', 'BroadcastChannel', 'fetch'])
        Object.defineProperty(globalThis, name, { configurable: true, get() { throw new Error(name + ' was touched'); } });
      const { getSdkApi } = await import(${JSON.stringify(join(repository, 'src/sdk/index.ts'))});
      await import(${JSON.stringify(join(repository, 'src/sdk/staff.ts'))});
      process.stdout.write(getSdkApi().getState().connection);`;
    const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', trap], {
      encoding: 'utf8',
    });
    expect({ stdout, stderr }).toEqual({ stdout: 'idle', stderr: '' });
  });

  it('answers at once, queues until ready, runs the calls in their order, and starts anew after destroy', async () => {
    const api = getSdkApi();
    expect(api).toBe(getSdkApi());
    expect(api.getState()).toMatchObject({ ready: false, connection: 'idle', messages: [] });
    const readies: unknown[] = [];
    api.on('ready', (ready) => readies.push(ready));
    const calls = [api.sendMessage('first'), api.sendMessage('second')];
    expect(api.getState().messages).toEqual([]);
    const started = init(options());
    expect(init(options())).toBe(started);
    await expect(init({ ...options(), appId: 'another' })).rejects.toMatchObject({
      code: 'already_initialised',
    });
    expect(await started).toBe(api);
    expect(readies).toEqual([api]);
    api.on('ready', (ready) => readies.push(ready));
    api.once('ready', (ready) => readies.push(ready));
    expect(readies).toEqual([api, api, api]);
    const sent = await Promise.all(calls);
    expect(sent.map(({ content }) => content)).toEqual(['first', 'second']);
    expect(sent[0]?.conversationId).toBe(sent[1]?.conversationId);

    api.destroy();
    api.destroy();
    await expect(api.sendMessage('too late')).rejects.toMatchObject({ code: 'destroyed' });
    const again = init(options());
    expect(getSdkApi()).not.toBe(api);
    expect(await again).toBe(getSdkApi());
    getSdkApi().destroy();
  });

  it('is destroyed while it starts: the promise rejects, and the next init is its own', async () => {
    const first = init(options());
    getSdkApi().destroy();
    const second = init(options());
    await expect(first).rejects.toMatchObject({ code: 'destroyed' });
    await second;
    getSdkApi().destroy();
  });

  it('rejects an application or an origin that the service refuses', async () => {
    const unknown = openPage({
      url: app.url,
      appId: '00000000-0000-4000-8000-000000000000',
      origin: acme.application.origin,
    });
    await expect(unknown.ready).rejects.toMatchObject({ code: 'unauthorized', status: 401 });
    const elsewhere = openPage({
      url: app.url,
      appId: acme.application.id,
      origin: 'https://elsewhere.example',
    });
    await expect(elsewhere.ready).rejects.toMatchObject({ code: 'origin_not_allowed', status: 403 });
  });

  it('is ready without the service, says why, and takes a configuration that the page has', async () => {
    const alone = openPage({
      url: 'http://127.0.0.1:1',
      appId: acme.application.id,
      origin: acme.application.origin,
    });
    await alone.ready;
    expect(alone.received('error')).toMatchObject([{ code: 'network' }]);
    expect(alone.sdk.getState()).toMatchObject({ ready: true, config: null });
    const known = openPage({ url: app.url, appId: acme.application.id, origin: acme.application.origin });
    await known.ready;
    const config = known.sdk.getState().config!;
    const saved = openPage({
      url: app.url,
      appId: acme.application.id,
      origin: acme.application.origin,
      config,
    });
    await saved.ready;
    expect(saved.requests).toEqual([]);
    expect(saved.sdk.getState().config).toBe(config);
    for (const page of [alone, known, saved]) page.sdk.destroy();
  });

  it('opens and closes, shows and hides, once each', () => {
    const page = openPage({ url: app.url, appId: acme.application.id, origin: acme.application.origin });
    const { sdk } = page;
    sdk.open();
    sdk.open();
    expect(sdk.isOpen()).toBe(true);
    sdk.toggle();
    expect(sdk.isOpen()).toBe(false);
    expect([page.received('open').length, page.received('close').length]).toEqual([1, 1]);
    const states: unknown[] = [];
    const undo = sdk.subscribe((state) => states.push(state));
    sdk.hide();
    sdk.hide();
    expect(states).toEqual([sdk.getState()]);
    undo();
    sdk.show();
    expect(states).toHaveLength(1);
    expect(sdk.getState()).toBe(sdk.getState());
    sdk.destroy();
  });

  it('names the visitor, and sends what init was told at the first act only', async () => {
    const page = openPage({
      url: app.url,
      appId: acme.application.id,
      origin: acme.application.origin,
      user: { name: 'Ann', email: 'ann@example.com' },
    });
    await page.ready;
    expect(page.requests).toEqual(['GET /api/v1/widget/config']);
    await page.sdk.sendMessage('hello');
    await eventually(() =>
      expect(page.sdk.getState().visitor).toMatchObject({
        name: 'Ann',
        email: 'ann@example.com',
        verified: false,
        verifiedFields: [],
      }),
    );
    expect(await page.sdk.identify({ name: 'Anna' })).toMatchObject({
      name: 'Anna',
      email: 'ann@example.com',
    });
    page.sdk.destroy();
  });

  it('passes the identity token on before anything that may need it', async () => {
    const portal = await createApplication(app, 'acme', 'portal.acme.example');
    const applicationId = portal.id;
    const { identitySecret } = await app.local('applications.identitySecret', { applicationId });
    await app.local('applications.update', { applicationId, behavior: { identity: 'required' } });
    const visitorId = randomUUID();
    const identityToken = await new SignJWT({ email: 'ann@example.com' })
      .setProtectedHeader({ alg: 'HS256' })
      .setSubject(visitorId)
      .setExpirationTime('5m')
      .sign(new TextEncoder().encode(identitySecret));
    const page = openPage({
      url: app.url,
      appId: portal.id,
      origin: portal.origin,
      visitorId,
      user: { identityToken, name: 'Ann' },
    });
    await page.ready;
    expect(await page.sdk.sendMessage('hello')).toMatchObject({ content: 'hello' });
    expect(page.sdk.getState().visitor).toMatchObject({ name: 'Ann', verifiedFields: ['id', 'email'] });
    expect(page.received('error')).toEqual([]);
    page.sdk.destroy();
    const stranger = openPage({ url: app.url, appId: portal.id, origin: portal.origin });
    await stranger.ready;
    await expect(stranger.sdk.listConversations()).rejects.toMatchObject({ code: 'identity_required' });
    stranger.sdk.destroy();
  });
});

describe('events', () => {
  it('a handler that throws stops no other, undo undoes its own, once is once', () => {
    const thrown = vi.fn<(error: unknown) => void>();
    vi.stubGlobal('queueMicrotask', (run: () => void) => {
      try {
        run();
      } catch (error) {
        thrown(error);
      }
    });
    const emitter = createEmitter<{ ping: number }>();
    const heard: string[] = [];
    const push = (value: number): void => void heard.push(`twice ${value}`);
    emitter.on('ping', () => {
      throw new Error('mine');
    });
    emitter.once('ping', (value) => heard.push(`once ${value}`));
    const undo = emitter.on('ping', push);
    emitter.on('ping', push);
    emitter.emit_('ping', 1);
    undo();
    undo();
    emitter.emit_('ping', 2);
    emitter.off('ping', push);
    emitter.emit_('ping', 3);
    vi.unstubAllGlobals();
    expect(heard).toEqual(['once 1', 'twice 1', 'twice 1', 'twice 2']);
    expect(thrown).toHaveBeenCalledTimes(3);
  });
});

describe('what the SDK knows of the protocol without importing it', () => {
  it('is what the protocol says', () => {
    const final = Object.values(closeCodes)
      .filter(({ reconnect }) => !reconnect)
      .map(({ code }) => code);
    expect(new Set(finalCloseCodes)).toEqual(new Set<number>(final));
    for (const [code, { status, retry }] of Object.entries(errorCodes))
      expect([code, isRetryable(sdkError(code as SdkErrorCode, '', status))]).toEqual([code, retry]);
    expect(isRetryable(sdkError('network'))).toBe(true);
  });

  it('has the same shapes: this does not compile otherwise', () => {
    const config = (value: entity.WidgetConfig): SdkConfig => value;
    const visitor = (value: entity.Visitor): SdkVisitor => value;
    const message = (
      value: Pick<SdkMessage, keyof SdkMessage & keyof entity.Message>,
    ): Omit<entity.Message, 'type' | 'internal'> => value;
    expect([config, visitor, message]).toHaveLength(3);
  });
});
