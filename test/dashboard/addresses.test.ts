// The dashboard behind a proxy and a path prefix, and among pages of strangers that use its cookie: everything works there,
// nothing is done for them. The real server in a real browser.
import { createServer, request as forward, type Server } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { socketPath } from '../../src/protocol/codes.ts';
import { startApp, type TestApp } from '../helpers/app.ts';
import { launchBrowser, openBrowserPage } from '../helpers/browser.ts';
import { eventually } from '../helpers/eventually.ts';
import {
  createConversation,
  createMember,
  createMessage,
  createOrganization,
  createVisitor,
  memberPassword,
  type TestClient,
  type TestMember,
} from '../helpers/fixtures.ts';

const prefix = '/help/desk';
let browser: Browser;
let app: TestApp;
let ann: TestMember;
let mallory: TestMember;
let visitor: TestClient;
let conversation: string;
const servers: Server[] = [];

async function listen(server: Server, host: string): Promise<string> {
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  return `http://${host}:${(server.address() as AddressInfo).port}`;
}

/** A proxy that serves the desk below a path, and nothing beside it. */
function startPrefixProxy(): Promise<string> {
  const target = new URL(app.url);
  const strip = (path: string): string | null =>
    path.startsWith(`${prefix}/`) ? path.slice(prefix.length) : null;
  const server = createServer((asked, answer) => {
    const path = strip(asked.url ?? '');
    if (path === null) return void answer.writeHead(404).end();
    const { hostname, port } = target;
    const onwards = forward(
      { hostname, port, path, method: asked.method, headers: asked.headers },
      (reply) => {
        answer.writeHead(reply.statusCode ?? 502, reply.headers);
        reply.pipe(answer);
      },
    );
    onwards.on('error', () => answer.destroy());
    asked.pipe(onwards);
    return undefined;
  });
  server.on('upgrade', (asked, socket, head) => {
    const onwards = connect(Number(target.port), target.hostname, () => {
      const lines = asked.rawHeaders.flatMap((name, at, all) =>
        at % 2 === 0 ? [`${name}: ${all[at + 1]}`] : [],
      );
      onwards.write(`GET ${strip(asked.url ?? '') ?? '/'} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`);
      onwards.write(head);
      onwards.pipe(socket).pipe(onwards);
    });
    for (const one of [onwards, socket])
      one.on('error', () => [onwards, socket].map((each) => each.destroy()));
  });
  return listen(server, 'localhost');
}

beforeAll(async () => {
  browser = await launchBrowser();
  app = await startApp({ realTime: true });
  const { application } = await createOrganization(app, 'acme');
  ann = await createMember(app, 'acme', 'admin', 'Ann');
  mallory = await createMember(app, 'acme', 'operator', 'Mallory');
  visitor = createVisitor(app, application);
  conversation = await createConversation(visitor, 'Parcel');
  await createMessage(visitor, conversation, 'Where is my parcel?');
});
afterAll(async () => {
  await browser.close();
  for (const server of servers) {
    server.closeAllConnections();
    server.close();
  }
  await app.stop();
});

async function signIn(page: Page, member: TestMember): Promise<void> {
  await page.getByLabel('Organization').fill('acme');
  await page.getByLabel('E-mail address').fill(member.email);
  await page.getByLabel('Password').fill(memberPassword);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('listbox', { name: 'Queue' }).waitFor();
}

describe('behind a path prefix', () => {
  test('sign-in, queue, answers, socket, settings, service worker and the page of the second factor', async () => {
    const origin = await startPrefixProxy();
    const { page, close } = await openBrowserPage(browser, `${origin}${prefix}/`);
    const beside: string[] = [];
    page.on('request', (asked) => {
      const { origin: to, pathname } = new URL(asked.url());
      if (to !== origin || !pathname.startsWith(`${prefix}/`)) beside.push(asked.url());
    });
    await signIn(page, ann);
    await page.getByRole('option').first().click();
    await page.getByRole('log').getByText('Where is my parcel?').waitFor();
    await ann.call('POST', `/conversations/${conversation}/accept`, {});
    await page.locator('[data-field=composer]').fill('On its way');
    await page.keyboard.press('Enter');
    // By the socket alone.
    await createMessage(visitor, conversation, 'Thank you');
    await page.getByRole('log').getByText('Thank you').waitFor();
    await page.getByRole('log').getByText('On its way').waitFor();
    expect(await page.evaluate('navigator.serviceWorker.ready.then(({ scope }) => scope)')).toBe(
      `${origin}${prefix}/`,
    );
    await page.evaluate("location.hash = '#/settings/organization'");
    await page.locator('.settings-section').first().waitFor();
    await page.reload();
    await page.locator('.settings-section').first().waitFor();
    await page.evaluate("location.hash = '#/settings/account'");
    await page.getByRole('link', { name: 'Set up the second factor' }).click();
    await page.getByLabel('E-mail address').fill(ann.email);
    await page.getByLabel('Password').fill(memberPassword);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('heading', { name: 'Passkeys' }).waitFor();
    expect(beside).toEqual([]);
    await ann.call('POST', `/conversations/${conversation}/release`, {});
    await close();
  });
});

describe('a page of a stranger on the same machine, to which the browser sends the same cookie', () => {
  test('acts, reads, listens, frames and signs in for no one', async () => {
    // The same site, as browsers count: only the port is another one.
    const strange = await listen(
      createServer((_asked, answer) => answer.setHeader('Content-Type', 'text/html').end('<h1>Win</h1>')),
      '127.0.0.1',
    );
    const { page: desk, close } = await openBrowserPage(browser, `${app.url}/`);
    await signIn(desk, ann);
    const page = await desk.context().newPage();
    await page.goto(strange);
    expect((await desk.context().cookies(app.url)).some(({ httpOnly }) => httpOnly)).toBe(true);
    const api = `${app.url}/api/v1/staff`;
    const accept = `${api}/conversations/${conversation}/accept`;
    const statusNow = async (): Promise<unknown> => {
      const { body } = await ann.call('GET', `/conversations/${conversation}`);
      return (body.conversation as { status: string }).status;
    };
    expect(await statusNow()).toBe('pending');

    // fetch with credentials: what is written is not done, what is read is not told.
    for (const mode of ['cors', 'no-cors'])
      for (const type of ['text/plain', 'application/json'])
        await page.evaluate(
          `fetch('${accept}', { method: 'POST', mode: '${mode}', credentials: 'include', headers: { 'Content-Type': '${type}' }, body: '{}' }).catch(() => undefined)`,
        );
    expect(
      await page.evaluate(
        `fetch('${api}/session', { credentials: 'include' }).then((answer) => answer.text(), () => 'kept back')`,
      ),
    ).toMatch(/kept back|unauthorized/);
    expect(await statusNow()).toBe('pending');

    // A form, in a window of its own.
    for (const encoding of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data']) {
      const form = await desk.context().newPage();
      await form.goto(strange);
      const answered = form.waitForResponse((answer) => answer.url() === accept);
      await form.evaluate(
        `(() => { const form = document.body.appendChild(document.createElement('form')); form.method = 'POST'; form.action = '${accept}'; form.enctype = '${encoding}'; const field = form.appendChild(document.createElement('input')); field.name = '{"x":"'; field.value = '"}'; form.submit(); })()`,
      );
      expect((await answered).status(), encoding).toBeGreaterThanOrEqual(400);
      await form.close();
    }
    expect(await statusNow()).toBe('pending');

    // A WebSocket has no other key than a ticket, and the ticket is not to be had.
    const address = `${app.url.replace('http', 'ws')}${socketPath}`;
    expect(
      await page.evaluate(
        `new Promise((resolve) => { const socket = new WebSocket('${address}'); const heard = []; socket.onmessage = ({ data }) => heard.push(data); socket.onclose = ({ code }) => resolve([code, ...heard.map((one) => JSON.parse(one).type)]); })`,
      ),
    ).toEqual([4401, 'error']);
    expect(
      await page.evaluate(
        `fetch('${api}/ws-token', { method: 'POST', credentials: 'include' }).then((answer) => answer.status, () => 'kept back')`,
      ),
    ).toSatisfy((answer) => answer === 'kept back' || Number(answer) >= 400);

    // Framed by no page.
    await page.evaluate(`document.body.appendChild(document.createElement('iframe')).src = '${app.url}/'`);
    await eventually(() => expect(page.frames()[1]?.url()).toMatch(/^chrome-error:/));

    // Signed in as someone else without a word: then Ann would write as Mallory.
    const login = JSON.stringify({
      organization: 'acme',
      email: mallory.email,
      password: memberPassword,
      cookie: true,
    });
    for (const type of ['text/plain', 'application/json'])
      await page.evaluate(
        `fetch('${api}/session', { method: 'POST', mode: 'no-cors', credentials: 'include', headers: { 'Content-Type': '${type}' }, body: ${JSON.stringify(login)} }).catch(() => undefined)`,
      );
    const [, pair] = /^(.*)\}$/.exec(login) ?? [];
    await page.evaluate(
      `(() => { const form = document.body.appendChild(document.createElement('form')); form.method = 'POST'; form.action = '${api}/session'; form.enctype = 'text/plain'; const field = form.appendChild(document.createElement('input')); field.name = ${JSON.stringify(`${pair},"x":"`)}; field.value = '"}'; form.submit(); })()`,
    );
    await page.waitForURL(`${api}/session`);
    expect(await page.locator('body').innerText()).not.toContain('Mallory');
    expect(
      await desk.evaluate(`fetch('api/v1/staff/session').then((answer) => answer.json())`),
    ).toMatchObject({
      member: { id: ann.id },
    });
    await close();
  });
});
