// Owns: the widget on other people's pages: strict policies, hostile styles and scripts, odd ways to be included;
// and what it leaves alone: storage, cookies, connections before a visitor does something, the page's own things.
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { openBrowserPage, routeLoaded, type BrowserPage } from '../helpers/browser.ts';
import { eventually } from '../helpers/eventually.ts';
import {
  acceptConversation,
  sendReply,
  conversationFile,
  createWidgetFixture,
  holdConversationFile,
  htmlPage,
  newestConversation,
  widgetLocators,
  type WidgetFixture,
} from './fixture.ts';

let stage: WidgetFixture;
const visits: BrowserPage[] = [];
let pages = 0;

beforeAll(async () => {
  stage = await createWidgetFixture();
});

afterEach(async () => {
  for (const one of visits.splice(0)) await one.close();
});

afterAll(() => stage.close());

async function arriveAt(
  body: string,
  headers: Record<string, string> = {},
): Promise<BrowserPage & { readonly w: ReturnType<typeof widgetLocators> }> {
  const one = await openBrowserPage(stage.browser, stage.site.page(`/${pages++}`, body, headers));
  visits.push(one);
  return { ...one, w: widgetLocators(one.page) };
}

function snippet(): string {
  return `<script>window.deskbell = window.deskbell || function () { (deskbell.q = deskbell.q || []).push(arguments); };
deskbell('init', { appId: '${stage.application.id}' });</script><script async src="${stage.app.url}/widget.js"></script>`;
}

/** Opens the panel, writes, and sees it sent. */
async function expectToSend(
  { w }: { readonly w: ReturnType<typeof widgetLocators> },
  text: string,
): Promise<void> {
  await w.open();
  await w.write(text);
  await w.log.getByText('Sent', { exact: true }).waitFor();
  expect(await w.log.locator('.mine .bubble').last().textContent()).toBe(text);
}

describe('before the visitor does anything', () => {
  test('nothing is stored, no visitor is named, nothing is connected; two requests to the launcher, three to the composer', async () => {
    const context = await stage.browser.newContext();
    const page = await context.newPage();
    const requests: string[] = [];
    let sockets = 0;
    page.on('request', (request) => requests.push(request.url()));
    page.on('websocket', () => sockets++);
    await page.goto(stage.site.page('/quiet', htmlPage(stage.tag())));
    const w = widgetLocators(page);
    await w.launcher.waitFor();
    await page.waitForLoadState('networkidle');
    const ours = (): string[] =>
      requests
        .filter((request) => request.startsWith(stage.app.url))
        .map((request) => new URL(request).pathname);
    expect(ours()).toEqual(['/widget.js', '/api/v1/widget/config']);
    expect(
      requests.every((request) => request.startsWith(stage.app.url) || request.startsWith(stage.site.origin)),
    ).toBe(true);
    expect(sockets).toBe(0);
    const kept =
      '[localStorage.length, sessionStorage.length, document.cookie, (await indexedDB.databases()).length, (await caches.keys()).length]';
    const look = (): Promise<unknown> => page.evaluate(`(async () => ${kept})()`);
    expect(await look()).toEqual([0, 0, '', 0, 0]);
    // The third brings the composer; what else is needed comes after it.
    await holdConversationFile(page);
    await w.open();
    await page.keyboard.type('I can write already');
    expect(await w.field.textContent()).toBe('I can write already');
    expect(ours().slice(0, 3)).toEqual([
      '/widget.js',
      '/api/v1/widget/config',
      expect.stringMatching(/^\/panel-\w{8}\.js$/),
    ]);
    expect(ours().slice(3)).toEqual([expect.stringMatching(/^\/conversation-\w{8}\.js$/)]);
    // Looking is not yet writing: still no visitor.
    expect(await look()).toEqual([0, 0, '', 0, 0]);
    expect(await context.cookies()).toEqual([]);
    await context.close();
  });

  test('a message sent before the engine has come is not lost', async () => {
    const { page, w } = await arriveAt(htmlPage(stage.tag()));
    const release = await holdConversationFile(page);
    await w.open();
    await w.write('quick');
    await release();
    await w.log.getByText('Sent', { exact: true }).waitFor();
    expect(await w.log.locator('.mine .bubble').allTextContents()).toEqual(['quick']);
  });

  test('after an upgrade of the server an old launcher still finds the panel', async () => {
    const { page, w } = await arriveAt(htmlPage(stage.tag()));
    await routeLoaded(page, '**/panel-*.js', (route) => route.fulfill({ status: 404 }));
    await expectToSend({ w }, 'hello');
    expect(page.url()).toContain(stage.site.origin);
  });

  test('a file that fails to load is asked for again', async () => {
    const { page, w } = await arriveAt(htmlPage(stage.tag()));
    let refused = 0;
    await routeLoaded(page, `${conversationFile}*`, (route) =>
      refused++ < 2 ? route.abort() : route.continue(),
    );
    await expectToSend({ w }, 'later');
    expect(refused).toBe(3);
  });
});

describe('ways to include it', () => {
  test('the snippet: calls from before are replayed in order', async () => {
    const head = `<script>
window.deskbell = window.deskbell || function () { (deskbell.q = deskbell.q || []).push(arguments); };
window.log = [];
deskbell('on', 'ready', function () { log.push('ready'); });
deskbell('on', 'open', function () { log.push('open'); });
deskbell('on', 'close', function () { log.push('close'); });
deskbell('init', { appId: '${stage.application.id}' });
deskbell('open'); deskbell('close'); deskbell('open');
</script><script async src="${stage.app.url}/widget.js"></script>`;
    const { page, w } = await arriveAt(htmlPage('', head));
    await w.field.waitFor();
    await eventually(async () =>
      expect(await page.evaluate('log')).toEqual(expect.arrayContaining(['ready'])),
    );
    expect(((await page.evaluate('log')) as string[]).filter((entry) => entry !== 'ready')).toEqual([
      'open',
      'close',
      'open',
    ]);
    await expect(page.evaluate(`deskbell('getState').then(({ open }) => open)`)).resolves.toBe(true);
    await expect(page.evaluate(`deskbell('nonsense').catch((error) => error.message)`)).resolves.toContain(
      'nonsense',
    );
  });

  test('twice, by both ways, is one widget', async () => {
    const {
      page,
      w,
      problems: complaints,
    } = await arriveAt(htmlPage(`${snippet()}${stage.tag()}${stage.tag()}`));
    await w.launcher.waitFor();
    await page.waitForLoadState('networkidle');
    expect(await page.locator('deskbell-widget').count()).toBe(1);
    expect(complaints).toEqual([]);
    const other = await page.evaluate(
      `deskbell('init', { appId: crypto.randomUUID() }).catch((error) => error.message)`,
    );
    expect(other).toContain('already_initialised');
    expect(await page.locator('deskbell-widget').count()).toBe(1);
  });

  test('in the head, before there is a body', async () => {
    const src = `${stage.app.url}/widget.js`;
    const { w } = await arriveAt(
      `<!doctype html><html><head><title>x</title><script src="${src}" data-app-id="${stage.application.id}"></script></head></html>`,
    );
    await expectToSend({ w }, 'no body');
  });

  test('by import() from a module', async () => {
    const { w } = await arriveAt(
      htmlPage(
        `<script type="module">await import('${stage.app.url}/widget.js'); deskbell('init', { appId: '${stage.application.id}' });</script>`,
      ),
    );
    await expectToSend({ w }, 'module');
  });

  test('by a component that is mounted twice: one widget, which outlives it', async () => {
    const { page, w } = await arriveAt(htmlPage(''));
    const mount = `{
      const script = document.createElement('script');
      script.src = '${stage.app.url}/widget.js';
      script.dataset.appId = '${stage.application.id}';
      document.head.append(script);
    }`;
    await page.evaluate(mount);
    await page.evaluate(mount);
    await expectToSend({ w }, 'from a component');
    await page.evaluate(`for (const script of document.querySelectorAll('script')) script.remove()`);
    await page.evaluate(mount);
    await page.waitForLoadState('networkidle');
    expect(await page.locator('deskbell-widget').count()).toBe(1);
    await page.evaluate(`deskbell('hide')`);
    await w.launcher.waitFor({ state: 'hidden' });
    await page.evaluate(`deskbell('show')`);
    await w.launcher.waitFor();
    await w.log.getByText('from a component').waitFor();
  });

  test('headless: nothing is drawn, everything works', async () => {
    const { page } = await arriveAt(htmlPage(`<script src="${stage.app.url}/widget.js"></script>`));
    await page.evaluate(`deskbell('init', { appId: '${stage.application.id}', headless: true })`);
    const sent = await page.evaluate(
      `deskbell('sendMessage', 'from code').then(({ content, state }) => [content, state])`,
    );
    expect(sent).toEqual(['from code', 'sent']);
    expect(await page.locator('deskbell-widget').count()).toBe(0);
  });

  test('in a frame of the same site, and not in a sandbox', async () => {
    const inner = stage.site.page('/inner', htmlPage(stage.tag()));
    const { page } = await arriveAt(
      htmlPage(`<iframe src="${inner}" width="900" height="700" title="inner"></iframe>`),
    );
    const frame = page.frameLocator('iframe').locator('deskbell-widget');
    await frame.locator('.launcher').click();
    await frame.locator('.field').click();
    await page.keyboard.type('framed');
    await page.keyboard.press('Enter');
    await frame.getByText('Sent', { exact: true }).waitFor();
    // A sandbox without allow-same-origin takes storage away, and the origin with it: then the widget says why and stays away.
    const boxed = await arriveAt(
      htmlPage(`<iframe sandbox="allow-scripts" src="${inner}" title="boxed"></iframe>`),
    );
    await eventually(() => expect(boxed.problems.join('\n')).toMatch(/deskbell|CORS/));
    expect(await boxed.page.frameLocator('iframe').locator('deskbell-widget').count()).toBe(0);
  });

  test('storage that throws: it works as long as the page lasts', async () => {
    const trap = `<script>for (const name of ['localStorage', 'sessionStorage']) Object.defineProperty(window, name, { get() { throw new DOMException('no', 'SecurityError'); } });</script>`;
    const { w, problems: complaints } = await arriveAt(htmlPage(stage.tag(), trap));
    await expectToSend({ w }, 'in memory');
    expect(complaints).toEqual([]);
  });

  test.each([
    ['is not there', 'delete window.BroadcastChannel'],
    [
      'is refused',
      "window.BroadcastChannel = class { constructor() { throw new DOMException('no', 'SecurityError'); } }",
    ],
  ])('where a channel between tabs %s, it works all the same', async (_how, without) => {
    const { w, problems: complaints } = await arriveAt(htmlPage(stage.tag(), `<script>${without}</script>`));
    await expectToSend({ w }, 'alone');
    expect(complaints).toEqual([]);
  });

  test('a page of a site that is not registered gets no launcher, and its owner the reason', async () => {
    await stage.app.local('domains.remove', {
      applicationId: stage.application.id,
      domain: stage.site.domain,
    });
    const { page, problems: complaints } = await arriveAt(htmlPage(stage.tag()));
    await eventually(() => expect(complaints.length).toBeGreaterThan(0));
    expect(await page.locator('deskbell-widget').count()).toBe(0);
    await stage.app.local('domains.add', { applicationId: stage.application.id, domain: stage.site.domain });
  });

  test.each([
    ['no options', '', /init needs the application's id/],
    ['no application', '{}', /init needs the application's id/],
    ['another server', `{ appId: 'x', apiBaseUrl: location.origin }`, /is no Deskbell server \(HTTP 404\)/],
    ['no address', `{ appId: 'x', apiBaseUrl: 'http://' }`, /Invalid URL/],
  ])('what is wrong with a call is said: %s', async (_name, options, said) => {
    const { page } = await arriveAt(htmlPage(`<script src="${stage.app.url}/widget.js"></script>`));
    const told = page.waitForEvent('console', (message) => message.type() === 'warning');
    const refusal = await page.evaluate(`deskbell('init', ${options}).catch((error) => error.message)`);
    expect(refusal).toMatch(said);
    expect((await told).text()).toBe(`deskbell: ${String(refusal)}`);
    // It can be said again, and rightly.
    await page.evaluate(`deskbell('init', { appId: '${stage.application.id}' })`);
    expect(await page.locator('deskbell-widget').count()).toBe(1);
  });

  test('an answer that a browser keeps from the page: its owner hears what it may be, once', async () => {
    const { page } = await arriveAt(htmlPage(`<script src="${stage.app.url}/widget.js"></script>`));
    const told: string[] = [];
    page.on('console', (message) => {
      if (message.type() === 'warning') told.push(message.text());
    });
    let asked = 0;
    page.on('request', (request) => {
      if (request.url().endsWith('/widget/config')) asked++;
    });
    await page.evaluate(`void deskbell('init', { appId: 'x' })`);
    await eventually(() => expect(asked).toBeGreaterThan(1));
    expect(told).toEqual([expect.stringContaining(`deskbell domain add --app x ${stage.site.domain}`)]);
  });

  test('single-page sites: the widget survives the page being swapped around it', async () => {
    const { page, w } = await arriveAt(htmlPage(stage.tag()));
    await expectToSend({ w }, 'before the swap');
    await page.evaluate(
      `history.pushState({}, '', '/elsewhere'); document.body.replaceWith(document.createElement('body'))`,
    );
    await w.log.getByText('before the swap').waitFor();
    await page.evaluate(`document.querySelector('deskbell-widget').remove()`);
    await w.log.getByText('before the swap').waitFor();
    await w.write('after the swap');
    await eventually(async () => expect(await w.log.locator('.mine .bubble').count()).toBe(2));
    expect(await page.evaluate(`document.querySelector('deskbell-widget').matches(':popover-open')`)).toBe(
      true,
    );
  });

  test('back from the cache of pages: what came in between is there', async () => {
    const { page, w } = await arriveAt(htmlPage(stage.tag()));
    await expectToSend({ w }, 'going away');
    const id = await newestConversation(stage);
    await acceptConversation(stage, id);
    // This browser keeps no pages, so it is told what one that does tells a page: gone, and back as it was.
    await page.evaluate(`dispatchEvent(new PageTransitionEvent('pagehide', { persisted: true }))`);
    await sendReply(stage, id, 'while you were away');
    await page.evaluate(`dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }))`);
    await w.log.getByText('while you were away').waitFor();
    await sendReply(stage, id, 'and now live again');
    await w.log.getByText('and now live again').waitFor();
  });

  test('destroy takes everything away, and init brings it back', async () => {
    const { page, w } = await arriveAt(htmlPage(snippet()));
    await expectToSend({ w }, 'first life');
    await page.evaluate(`deskbell('destroy')`);
    expect(await page.locator('deskbell-widget').count()).toBe(0);
    await page.evaluate(
      `deskbell('init', { appId: '${stage.application.id}' }); deskbell('destroy'); deskbell('init', { appId: '${stage.application.id}' })`,
    );
    await w.launcher.waitFor();
    expect(await page.locator('deskbell-widget').count()).toBe(1);
    await w.open();
    await w.log.getByText('first life').waitFor();
  });
});

test('under the strictest policies there is not one violation', async () => {
  const { url } = stage.app;
  const policy = [
    `default-src 'none'`,
    `script-src ${url} 'nonce-test'`,
    `style-src 'none'`,
    `connect-src ${url} ${url.replace('http', 'ws')}`,
    `img-src ${url}`,
    `require-trusted-types-for 'script'`,
    `trusted-types 'none'`,
  ].join('; ');
  const watch = `<script nonce="test">window.violations = []; document.addEventListener('securitypolicyviolation', ({ violatedDirective, blockedURI }) => violations.push(violatedDirective + ' ' + blockedURI));</script>`;
  const {
    page,
    w,
    problems: complaints,
  } = await arriveAt(htmlPage(stage.tag(), watch), {
    'Content-Security-Policy': policy,
    'Cross-Origin-Embedder-Policy': 'require-corp',
    'Cross-Origin-Opener-Policy': 'same-origin',
  });
  await expectToSend({ w }, 'strict');
  const id = await newestConversation(stage);
  await acceptConversation(stage, id);
  await sendReply(stage, id, 'strictly yours');
  await w.log.getByText('strictly yours').waitFor();
  await w.field.click();
  await page.keyboard.press('ControlOrMeta+b');
  await page.keyboard.type('bold');
  await w.button('Numbered list').click();
  await page.keyboard.press('Enter');
  await w.log.locator('.mine strong').waitFor();
  await page.evaluate(`deskbell('setLocale', 'de')`);
  await w.dialog.getByLabel('Nachricht', { exact: true }).waitFor();
  await w.button('Alle Gespräche').click();
  await w.button('Chat schließen').click();
  expect(await page.evaluate('violations')).toEqual([]);
  expect(complaints).toEqual([]);
  // The page is as strict as it says: the trap would have caught something.
  await page.evaluate(
    `document.head.append(Object.assign(document.createElement('style'), { textContent: 'a{}' }))`,
  );
  await eventually(async () => expect(await page.evaluate('violations.length')).toBe(1));
});

describe('hostile pages', () => {
  const cover = '<div style="position:fixed;inset:0;z-index:2147483647;background:#fff"></div>';
  test.each([
    ['static boxes', 'div{position:static;width:100%}*{position:static;float:left}'],
    [
      'everything important',
      '*{display:block!important;position:static!important;width:100%!important;opacity:.1!important;transform:scale(.1)!important}',
    ],
    ['hidden children', 'html>*:not(head,body),body>*{display:none!important}'],
    ['transformed body', 'body{transform:translateX(-50%)}'],
    ['filtered body', 'body{filter:blur(1px)}'],
    ['contained body', 'body{contain:layout}'],
    ['covering layer', '', cover],
    ['transformed root', 'html{transform:scale(.5) translateX(50%)}'],
    ['no pointer', '*{pointer-events:none!important;visibility:hidden!important}'],
  ])('%s: the launcher stays where it belongs and works', async (_name, css, body = '') => {
    const { page, w } = await arriveAt(htmlPage(`${stage.tag()}${body}`, `<style>${css}</style>`));
    await w.launcher.waitFor();
    const { x, y, width, height } = (await w.launcher.boundingBox())!;
    expect([x, y, width, height].map(Math.round)).toEqual([1204, 724, 56, 56]);
    await page.mouse.click(x + 28, y + 28);
    await w.field.waitFor();
    const panel = (await w.dialog.boundingBox())!;
    expect(Math.round(panel.width)).toBe(384);
    expect(Math.round(panel.x + panel.width)).toBe(1260);
    await w.write('despite');
    await w.log.getByText('Sent', { exact: true }).waitFor();
  });

  test("the page's keyboard shortcuts do not hear what is typed", async () => {
    const { page, w } = await arriveAt(
      htmlPage(
        `${stage.tag()}<script>window.heard = []; addEventListener('keydown', ({ key }) => heard.push(key));</script>`,
      ),
    );
    await w.open();
    await page.keyboard.type('search');
    expect(await page.evaluate('heard')).toEqual([]);
  });

  test('the page is left as it was: no style, no global but one, no title', async () => {
    const { page, w } = await arriveAt(
      htmlPage(stage.tag(), '<script>window.before = new Set(Object.getOwnPropertyNames(window));</script>'),
    );
    await expectToSend({ w }, 'clean');
    expect(
      await page.evaluate(
        `Object.getOwnPropertyNames(window).filter((name) => !before.has(name) && name !== 'before')`,
      ),
    ).toEqual(['deskbell']);
    expect(
      await page.evaluate(
        `[document.styleSheets.length, document.adoptedStyleSheets.length, document.documentElement.style.cssText, document.title]`,
      ),
    ).toEqual([0, 0, '', 'A shop']);
  });
});

describe('what others write', () => {
  test('never runs and never becomes markup', async () => {
    const { page, w } = await arriveAt(
      htmlPage(stage.tag(), '<script>window.ran = []; window.alert = (what) => ran.push(what);</script>'),
    );
    let dialogs = 0;
    page.on('dialog', (dialog) => {
      dialogs++;
      void dialog.dismiss();
    });
    await expectToSend({ w }, '<img src=x onerror=alert(1)><script>alert(2)</script>');
    const id = await newestConversation(stage);
    await acceptConversation(stage, id);
    const attacks = [
      '<svg onload=alert(3)>',
      'javascript:alert(4)',
      '"><iframe srcdoc="<script>parent.alert(5)</script>">',
      '{{constructor.constructor("alert(6)")()}}',
    ];
    for (const content of attacks) await sendReply(stage, id, content);
    // As a broken or bought server would send it: past every check but the widget's own.
    const tree = {
      root: {
        type: 'root',
        version: 1,
        children: [
          {
            type: 'paragraph',
            version: 1,
            children: [
              { type: 'link', url: 'javascript:alert(7)', children: [{ type: 'text', text: 'press me' }] },
            ],
          },
          {
            type: 'paragraph',
            version: 1,
            children: [
              { type: 'link', url: ' java\nscript:alert(8)', children: [{ type: 'text', text: 'or me' }] },
            ],
          },
          {
            type: 'paragraph',
            version: 1,
            children: [
              {
                type: 'link',
                url: 'data:text/html,<script>alert(9)</script>',
                children: [{ type: 'text', text: 'or this' }],
              },
            ],
          },
          { type: 'script', text: 'alert(10)', children: [{ type: 'text', text: 'alert(11)' }] },
          {
            type: 'html',
            html: '<img src=x onerror=alert(12)>',
            children: [{ type: 'text', text: '<b onclick=alert(13)>shown as it is</b>', format: 31 }],
          },
          { type: 'heading', tag: 'script', children: [{ type: 'text', text: 'heading' }] },
        ],
      },
    };
    await routeLoaded(page, '**/messages?*', async (route) => {
      const response = await route.fetch();
      const answer = (await response.json()) as { messages: Record<string, unknown>[] };
      for (const message of answer.messages.slice(0, 1))
        Object.assign(message, {
          content: JSON.stringify(tree),
          contentFormat: 'lexical',
          contentHtml: '<script>alert(14)</script>',
          senderName: '<img src=x onerror=alert(15)>',
        });
      await route.fulfill({ response, json: answer });
    });
    await page.reload();
    await w.open();
    await w.log.getByText('shown as it is').waitFor();
    for (const text of ['press me', 'or me', 'or this']) await w.log.getByText(text).click();
    expect(await page.evaluate('ran')).toEqual([]);
    expect(dialogs).toBe(0);
    const tags = await page.evaluate(
      `[...new Set([...document.querySelector('deskbell-widget').shadowRoot.querySelectorAll('.text *')].map(({ localName }) => localName))].sort()`,
    );
    expect(tags).toEqual(['code', 'em', 'p', 's', 'strong', 'u']);
  });
});

test('two hundred lives leave nothing behind', async () => {
  const { page, w } = await arriveAt(htmlPage(snippet()));
  await w.launcher.waitFor();
  const session = await page.context().newCDPSession(page);
  const count = async (): Promise<{ nodes: number; listeners: number }> => {
    for (let round = 0; round < 3; round++) await session.send('HeapProfiler.collectGarbage');
    const { nodes, jsEventListeners } = await session.send('Memory.getDOMCounters');
    return { nodes, listeners: jsEventListeners };
  };
  const live = (times: number): Promise<unknown> =>
    page.evaluate(`(async () => {
      for (let life = 0; life < ${times}; life++) {
        await deskbell('init', { appId: '${stage.application.id}' });
        await deskbell('open');
        await new Promise(requestAnimationFrame);
        await deskbell('close');
        await deskbell('destroy');
      }
    })()`);
  await live(20);
  const before = await count();
  await live(200);
  // Less than one node and one listener for each life. One whole life, a hundred and some nodes, may be held by whatever
  // the browser has under way; of two hundred that leaked there would be twenty thousand.
  await eventually(async () => {
    const after = await count();
    expect(after.nodes - before.nodes).toBeLessThan(200);
    expect(after.listeners - before.listeners).toBeLessThan(100);
  });
  expect(await page.locator('deskbell-widget').count()).toBe(0);
});
