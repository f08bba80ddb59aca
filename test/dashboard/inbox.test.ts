// The dashboard's inbox in a real browser, on the real server with the real widget: two operators and a visitor, by
// pointer and by keyboard alone, on a phone; what it costs; and that hostile texts run nothing. One browser for all.
import { get } from 'node:http';
import { join } from 'node:path';
import type { BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openBrowserPage, routeLoaded } from '../helpers/browser.ts';
import { createMember, createVisitor, memberPassword, type TestMember } from '../helpers/fixtures.ts';
import { axeViolations } from '../helpers/axe.ts';
import { eventually } from '../helpers/eventually.ts';
import { createWidgetFixture, htmlPage, widgetLocators, type WidgetFixture } from '../widget/fixture.ts';

const pictures = process.env['DESKBELL_TEST_PICTURES'];
let stage: WidgetFixture;
let noa: TestMember;

beforeAll(async () => {
  stage = await createWidgetFixture();
  noa = await createMember(stage.app, 'acme', 'admin', 'Noa Stern');
});
afterAll(async () => stage.close());

interface DeskPage {
  readonly page: Page;
  /** Requests to the server by path, in order; without the query. */
  readonly requests: string[];
  /** Reports of the page's policy, errors of scripts. */
  problems(): Promise<readonly string[]>;
  close(): Promise<void>;
}

/** The dashboard in a fresh profile, before signing in. */
async function openDesk(options: BrowserContextOptions = {}): Promise<DeskPage> {
  const { page, problems, close } = await openBrowserPage(stage.browser, 'about:blank', options);
  const requests: string[] = [];
  page.on('request', (request) => {
    const { pathname, origin } = new URL(request.url());
    if (origin === stage.app.url) requests.push(`${request.method()} ${pathname}`);
  });
  const reports: string[] = [];
  await page.exposeFunction('report', (text: string) => void reports.push(text));
  await page.addInitScript(
    `addEventListener('securitypolicyviolation', (event) => report(event.violatedDirective + ' ' + event.blockedURI))`,
  );
  page.on('dialog', (dialog) => {
    reports.push(`dialog ${dialog.message()}`);
    void dialog.dismiss();
  });
  await page.goto(`${stage.app.url}/`);
  return {
    page,
    requests,
    // Asking for the session without one is a 401, and being slower a 409: every browser writes them down.
    problems: async () => {
      await page.evaluate('0');
      return [...reports, ...problems.filter((one) => !/status of (401|409) /.test(one))];
    },
    close,
  };
}

async function signIn(page: Page, member: TestMember): Promise<void> {
  await page.getByLabel('Organization').fill('acme');
  await page.getByLabel('E-mail address').fill(member.email);
  await page.getByLabel('Password').fill(memberPassword);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('listbox', { name: 'Queue' }).waitFor();
}

/** A visitor without a browser. @returns the conversation's id */
async function visitorAsks(name: string, text: string, contentFormat = 'plain'): Promise<string> {
  const visitor = createVisitor(stage.app, stage.application);
  const { body } = await visitor.call('POST', '/conversations', {});
  const { id } = (body.conversation ?? body) as { id: string };
  await visitor.call('PUT', '/visitor', { name });
  const sent = await visitor.call('POST', `/conversations/${id}/messages`, { content: text, contentFormat });
  expect(sent.status).toBe(201);
  return id;
}

/** What strangers write: markup, addresses, handlers, entities, templates, controls; each would set `window.ran`. */
const strangeTexts: readonly string[] = [
  ...[
    'img src=x onerror',
    'svg onload',
    'body onload',
    'details open ontoggle',
    'video src=x onerror',
    'marquee onstart',
  ].map((tag) => `<${tag}="window.ran=1">`),
  ...['script', 'iframe', 'style', 'math', 'template', 'noscript', 'textarea', 'title', 'xmp', 'object'].map(
    (tag) => `<${tag}><img src=x onerror=window.ran=1></${tag}>`,
  ),
  ...[
    'javascript:window.ran=1',
    'JaVaScRiPt:window.ran=1',
    'java\nscript:window.ran=1',
    'data:text/html,<script>1</script>',
    'vbscript:x',
    '//evil.example',
    'file:///etc/passwd',
    'blob:x',
  ].flatMap((url) => [`<a href="${url}">a</a>`, `[link](${url})`, url]),
  ...['"', "'", '`'].map((quote) => `${quote} onmouseover=${quote}window.ran=1`),
  '-->',
  ']]>',
  '</script>',
  '</title></head>',
  '{{constructor.constructor("window.ran=1")()}}',
  '${window.ran=1}',
  '&lt;img src=x onerror=window.ran=1&gt;',
  '&#60;img src=x&#62;',
  '%3Cimg src=x%3E',
  '\\u003cimg src=x\\u003e',
  '![x](x" onerror="window.ran=1)',
  '<https://a" onclick="window.ran=1>',
  '**<b onclick=window.ran=1>x**',
  '`</code><img src=x>`',
  '++<u onclick=window.ran=1>++',
  '\u202e<img src=x>',
  '= + @ -cmd',
];

/** The conversations of the strangers, one for each text. */
const hostile: { readonly id: string; readonly index: number }[] = [];

/** Puts the texts wherever a stranger or a careless colleague can put one. @returns a way to clear up */
async function hostileOrganization(): Promise<() => Promise<void>> {
  expect(strangeTexts.length).toBeGreaterThanOrEqual(60);
  const [first = ''] = strangeTexts;
  for (const [index, text] of strangeTexts.entries()) {
    const visitor = createVisitor(stage.app, stage.application);
    const { body } = await visitor.call('POST', '/conversations', { subject: text.slice(0, 100) });
    const { id } = (body.conversation ?? body) as { id: string };
    await visitor.call('PUT', '/visitor', {
      name: text.slice(0, 60),
      email: `x${index}@evil.example`,
      attributes: { [`<b>${index}`]: text, url: 'javascript:window.ran=1' },
    });
    const leaf = { type: 'text', version: 1, text, format: index % 32 };
    const tree = {
      root: {
        type: 'root',
        version: 1,
        children: [
          {
            type: 'paragraph',
            version: 1,
            children: [{ type: 'link', version: 1, url: text, children: [leaf] }, leaf],
          },
          { type: text, version: 1, tag: text, children: [leaf] },
          { type: 'code', version: 1, language: text, children: [leaf] },
        ],
      },
    };
    const sent = await visitor.call('POST', `/conversations/${id}/messages`, {
      content: `hostile-${index}- ${text}`,
    });
    expect(sent.status).toBe(201);
    const lexical = JSON.stringify(tree);
    await visitor.call('POST', `/conversations/${id}/messages`, {
      content: lexical,
      contentFormat: 'lexical',
    });
    hostile.push({ id, index });
    const name = `hostile ${text.replaceAll(/[^\x20-\x7e]/g, '')}`.slice(0, 40).trim();
    if (index % 12 === 0) {
      await noa.call('PUT', `/conversations/${id}/tags/${encodeURIComponent(name)}`, {});
      await noa.call('POST', '/views', { name: text.slice(0, 50), query: { q: 'x' }, shared: true });
      await noa.call('POST', '/canned-replies', { shortcut: `h${index}`, content: text });
    }
  }
  const rogue = await createMember(stage.app, 'acme', 'operator', first);
  await stage.app.local('knowledge.add', {
    applicationId: stage.application.id,
    source: 'x.md',
    content: `# Things ${first}\n\nThey are sent on Mondays. ${first}`,
  });
  return async () => void (await stage.app.local('members.remove', { memberId: rogue.id }));
}

const row = (page: Page, name: string) => page.getByRole('option', { name });
const composer = (page: Page) => page.locator('[data-field=composer]');
const log = (page: Page) => page.getByRole('log');
/** Whether nothing covers the middle of what is shown of a selector first. */
const isOnTop = (page: Page, selector: string): Promise<boolean> =>
  page.evaluate(`(() => {
    const element = document.querySelector(${JSON.stringify(selector)});
    const { left, top, width, height } = element.getBoundingClientRect();
    return element.contains(document.elementFromPoint(left + width / 2, top + height / 2));
  })()`);

async function look(page: Page, name: string): Promise<void> {
  if (pictures !== undefined) await page.screenshot({ path: join(pictures, `dashboard-${name}.png`) });
}

describe('a shift of two operators', () => {
  test('from the first visitor to signing out', async () => {
    const [one, two] = await Promise.all([openDesk(), openDesk()]);
    await Promise.all([signIn(one.page, stage.operator), signIn(two.page, noa)]);
    const shop = await openBrowserPage(stage.browser, stage.site.page('/shift', htmlPage(stage.tag())));
    const widget = widgetLocators(shop.page);
    await widget.open();
    await widget.write('Where is my parcel?');

    // Both see it arrive without asking, and both want it.
    await Promise.all([one, two].map(({ page }) => row(page, 'Where is my parcel?').click()));
    await Promise.all([one, two].map(({ page }) => page.getByRole('button', { name: 'Accept' }).waitFor()));
    await Promise.all(
      [one, two].map(({ page }) =>
        page.evaluate(`document.querySelector('.conversation-head .main')?.click()`),
      ),
    );
    const verdicts = await Promise.all(
      [one, two].map(async ({ page }) => {
        await page.getByText(/You have this conversation|has this conversation\.$/).waitFor();
        return (await page.locator('.standing').innerText()).startsWith('You');
      }),
    );
    expect(verdicts.filter((won) => won)).toHaveLength(1);
    const [winner, loser] = verdicts[0] === true ? [one, two] : [two, one];
    const loserName = loser === one ? 'Olivia' : 'Noa Stern';
    // The one who was slower is told who has it.
    await loser.page
      .getByText(`${winner === one ? 'Olivia' : 'Noa Stern'} has this conversation.`)
      .first()
      .waitFor();

    // An answer in Markdown arrives as what it means; a note never arrives.
    await composer(winner.page).fill('It is **on its way**:\n\n- today\n- by noon');
    await composer(winner.page).press('Enter');
    await shop.page.locator('deskbell-widget').locator('strong', { hasText: 'on its way' }).waitFor();
    await winner.page.getByRole('button', { name: 'Internal note' }).click();
    await composer(winner.page).fill('The second parcel this week.');
    await composer(winner.page).press('Enter');
    await log(loser.page).getByText('The second parcel this week.').waitFor();
    expect(await log(loser.page).locator('article.note').count()).toBe(1);
    expect(await widget.log.innerText()).not.toContain('second parcel');

    // A draft is there after a reload.
    await composer(winner.page).fill('half a thou');
    await winner.page.reload();
    await eventually(async () => expect(await composer(winner.page).inputValue()).toBe('half a thou'));
    await composer(winner.page).fill('');

    // To the colleague, who resolves it.
    await log(winner.page).press('t');
    await winner.page.getByRole('dialog').getByRole('option', { name: loserName }).click();
    await loser.page.getByText('You have this conversation.').waitFor();
    await loser.page.getByRole('button', { name: 'Resolve' }).click();
    await loser.page.getByRole('dialog').getByRole('button', { name: 'Resolve' }).click();
    await loser.page.getByText('This conversation is closed.').first().waitFor();

    // What was said is found again.
    await loser.page.getByRole('searchbox').fill('parcel');
    await row(loser.page, 'parcel').first().waitFor();
    await loser.page.keyboard.press('Escape');
    await loser.page.getByRole('button', { name: /^Account/ }).click();
    await loser.page.getByRole('menuitem', { name: 'Sign out' }).click();
    await loser.page.getByLabel('Password').waitFor();
    expect(await one.problems()).toEqual([]);
    expect(await two.problems()).toEqual([]);
    await Promise.all([one, two, shop].map(({ close }) => close()));
  });

  test('a draft is not on the device after signing out, and there again after signing in', async () => {
    const id = await visitorAsks('Dana Draft', 'Will you think about it?');
    const { page, problems, close } = await openDesk();
    await signIn(page, noa);
    await row(page, 'Dana Draft').click();
    await page.getByRole('button', { name: 'Internal note' }).click();
    await composer(page).fill('secret thoughts');
    const stored = async (): Promise<string> => JSON.stringify(await page.evaluate('({ ...localStorage })'));
    expect(await stored()).toContain('secret thoughts');
    await page.getByRole('button', { name: /^Account/ }).click();
    await page.getByRole('menuitem', { name: 'Sign out' }).click();
    await page.getByLabel('Password').waitFor();
    expect(await stored()).not.toContain('secret thoughts');
    await signIn(page, noa);
    await row(page, 'Dana Draft').getByText('Draft', { exact: true }).waitFor();
    await row(page, 'Dana Draft').click();
    await eventually(async () => expect(await composer(page).inputValue()).toBe('secret thoughts'));
    // What was meant for colleagues has not become an answer.
    await page.getByRole('button', { name: 'Add note' }).waitFor();
    await eventually(async () =>
      expect((await noa.call('GET', `/conversations/${id}/draft`)).body).toMatchObject({ draft: null }),
    );

    // What can't be saved is told of first, and stays.
    await routeLoaded(page, '**/draft', (route) => route.abort());
    await page.getByRole('button', { name: /^Account/ }).click();
    await page.getByRole('menuitem', { name: 'Sign out' }).click();
    await eventually(async () => expect((await problems()).join()).toContain('dialog 1 draft could not'));
    expect(await stored()).toContain('secret thoughts');
    expect(await composer(page).inputValue()).toBe('secret thoughts');
    await composer(page).fill('');
    await close();
  });

  test('a note that comes back while an answer is begun there is a note, before what was written since', async () => {
    await visitorAsks('Nell Note', 'And then?');
    const { page, close } = await openDesk();
    await signIn(page, noa);
    await row(page, 'Nell Note').click();
    await page.getByRole('button', { name: 'Internal note' }).click();
    await composer(page).fill('What a pain');
    await page.getByRole('button', { name: /^Account/ }).click();
    await page.getByRole('menuitem', { name: 'Sign out' }).click();
    await page.getByLabel('Password').waitFor();
    const { promise: begun, resolve } = Promise.withResolvers<void>();
    await routeLoaded(page, '**/draft', async (route) => {
      await begun;
      await route.continue();
    });
    await signIn(page, noa);
    await row(page, 'Nell Note').click();
    await composer(page).fill('later');
    resolve();
    await eventually(async () => expect(await composer(page).inputValue()).toBe('What a pain\nlater'));
    await page.getByRole('button', { name: 'Add note' }).waitFor();
    await composer(page).fill('');
    await close();
  });

  test('a page asks before it is left with a message that is on its way', async () => {
    await visitorAsks('Wim Way', 'Are you leaving?');
    const { page, problems, close } = await openDesk();
    await signIn(page, noa);
    await row(page, 'Wim Way').click();
    await page.getByRole('button', { name: 'Internal note' }).click();
    await page.context().setOffline(true);
    await composer(page).fill('Not yet');
    await composer(page).press('Enter');
    await log(page).getByText('Not yet').waitFor();
    await page.evaluate('void setTimeout(() => location.reload())');
    await eventually(async () => expect((await problems()).join()).toContain('dialog'));
    expect(await log(page).getByText('Not yet').count()).toBe(1);
    await close();
  });

  test('by keyboard alone', async () => {
    await visitorAsks('Kim Keys', 'Is anyone there?');
    const { page, problems, close } = await openDesk();
    await page.getByLabel('Organization').focus();
    for (const text of ['acme', noa.email, memberPassword]) {
      await page.keyboard.insertText(text);
      await page.keyboard.press('Tab');
    }
    await page.keyboard.press('Enter');
    await row(page, 'Kim Keys').waitFor();
    // Search, open, accept, answer, resolve.
    await page.keyboard.press('/');
    await page.keyboard.type('Kim');
    await eventually(async () => expect(await page.getByRole('option').count()).toBe(1));
    await page.keyboard.press('Enter');
    await log(page).getByText('Is anyone there?').waitFor();
    await page.keyboard.press('a');
    await page.locator('[data-field=composer]:focus').waitFor();
    // Letters that are commands elsewhere are letters here.
    await page.keyboard.type('axrtnq');
    expect(await composer(page).inputValue()).toBe('axrtnq');
    // The keys of formatting are the widget's.
    await page.keyboard.press('Control+a');
    await page.keyboard.press('Control+u');
    expect(await composer(page).inputValue()).toBe('++axrtnq++');
    await page.keyboard.press('Control+u');
    expect(await composer(page).inputValue()).toBe('axrtnq');
    await page.keyboard.press('Enter');
    await log(page).locator('article.own', { hasText: 'axrtnq' }).waitFor();
    await page.keyboard.press('Escape');
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox').waitFor();
    await page.keyboard.type('resolve');
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').getByText('Resolve the conversation with Kim Keys?').waitFor();
    await page.keyboard.press('y');
    await page.getByText('Resolved: Kim Keys.').waitFor();
    // Open it again, write a note, and put it in order.
    const head = page.locator('.conversation-pane');
    await log(page).focus();
    await page.keyboard.press('O');
    await head.getByText('You have this conversation.').waitFor();
    await log(page).focus();
    await page.keyboard.press('N');
    await page.getByRole('button', { name: 'Add note' }).waitFor();
    await page.keyboard.type('Asked before');
    await page.keyboard.press('Enter');
    await log(page).locator('article.note', { hasText: 'Asked before' }).waitFor();
    const choose = async (key: string, text: string): Promise<void> => {
      await log(page).focus();
      await page.keyboard.press(key);
      await page.getByRole('combobox').waitFor();
      await page.keyboard.type(text);
      await page.keyboard.press('Enter');
      await eventually(async () => expect(await page.getByRole('combobox').count()).toBe(0));
    };
    await choose('T', 'by hand');
    await head.locator('.order-marks').getByText('by hand', { exact: true }).waitFor();
    await choose('z', 'tomorrow');
    await head.locator('.order-marks .snoozed').waitFor();
    await log(page).focus();
    await page.keyboard.press('Z');
    await eventually(async () => expect(await head.locator('.order-marks .snoozed').count()).toBe(0));
    await choose('t', 'Olivia');
    await page.getByText('Olivia has this conversation.').first().waitFor();
    // And out again, by the palette.
    await page.keyboard.press('Control+k');
    await page.getByPlaceholder('Which command?').fill('Sign out');
    await page.getByRole('option', { name: 'Sign out' }).waitFor();
    await page.keyboard.press('Enter');
    await page.getByLabel('Password').waitFor();
    expect(await problems()).toEqual([]);
    await close();
  });

  test('where single letters are no commands, none is named', async () => {
    await visitorAsks('Lea Letters', 'Which key?');
    const { page, problems, close } = await openDesk();
    await page.evaluate(`localStorage.setItem('deskbell.letter-keys', 'off')`);
    await signIn(page, noa);
    await page.getByText('The arrow keys walk the queue, Enter opens.').waitFor();
    expect(await page.getByText('? shows all keys').count()).toBe(0);
    await row(page, 'Lea Letters').click();
    await log(page).getByText('Which key?').waitFor();
    const accept = page.getByRole('button', { name: 'Accept' });
    expect(await accept.getAttribute('title')).toBe('Accept');
    const copy = page.getByRole('button', { name: 'Copy message' }).first();
    expect(await copy.getAttribute('title')).toBe('Copy message');
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox').waitFor();
    const named = await page.locator('.palette-list kbd').allTextContents();
    expect(named.filter((key) => /^[!-~]$/.test(key))).toEqual([]);
    expect(await problems()).toEqual([]);
    await close();
  });

  test('beside it stand the visitor’s id, to be copied, and their other conversations once they are there', async () => {
    const id = await visitorAsks('Ines Id', 'Who am I?');
    const { body } = await noa.call('GET', `/conversations/${id}`);
    const { visitor } = (body.conversation ?? body) as { visitor: { id: string } };
    const { page, problems, close } = await openDesk({ viewport: { width: 1600, height: 900 } });
    const held = Promise.withResolvers<void>();
    await routeLoaded(page, /\/conversations\?.*visitorOf/, async (route) => {
      await held.promise;
      await route.continue();
    });
    await page.evaluate(`navigator.clipboard.writeText = async (text) => { window.copied = text; }`);
    await signIn(page, noa);
    await row(page, 'Ines Id').click();
    const pane = page.locator('.visitor-pane');
    await pane.getByText(visitor.id).waitFor();
    await pane.getByRole('button', { name: 'Copy the id' }).click();
    await page.getByText('Copied.').waitFor();
    expect(await page.evaluate('window.copied')).toBe(visitor.id);
    await pane.getByText('Earlier conversations').click();
    await pane.getByText('Loading…').waitFor();
    expect(await pane.getByText('This is the first one.').count()).toBe(0);
    held.resolve();
    await pane.getByText('This is the first one.').waitFor();
    expect(await problems()).toEqual([]);
    await close();
  });

  test('an assistant that is off says so where a text is to be rewritten', async () => {
    await visitorAsks('Otto Off', 'Is it on?');
    const { page, close } = await openDesk();
    await signIn(page, noa);
    await row(page, 'Otto Off').click();
    await composer(page).fill('It is, I think.');
    await routeLoaded(page, /\/ai\/rewrite/, (route) =>
      route.fulfill({ status: 403, json: { error: 'forbidden', message: 'Set ai.mode.' } }),
    );
    await page.getByRole('button', { name: 'Rewrite' }).click();
    await page.getByRole('menuitem', { name: 'Shorter' }).click();
    await page.getByText('The assistant is off for this application: an admin turns it on.').waitFor();
    expect(await composer(page).inputValue()).toBe('It is, I think.');
    await composer(page).fill('');
    await close();
  });

  test('a count is read out as what it counts, and not as exact where it is not', async () => {
    await visitorAsks('Uma Unread', 'Hello?');
    const { page, problems, close } = await openDesk();
    // So many are counted, and no more.
    await page.evaluate(`{
      const read = Response.prototype.text;
      Response.prototype.text = async function () {
        return (await read.call(this)).replaceAll(/"unreadCount":\\d+/g, '"unreadCount":200');
      };
      Response.prototype.json = async function () { return JSON.parse(await this.text()); };
    }`);
    await signIn(page, noa);
    const count = row(page, 'Uma Unread').locator('.count');
    expect(await count.textContent()).toBe('99+');
    expect(await count.getAttribute('aria-label')).toBe('more than 99 unread messages');
    expect(await page.locator('.sidebar .count').getAttribute('aria-label')).toMatch(/ needs? attention$/);
    expect(await problems()).toEqual([]);
    await close();
  });

  test('on a phone, one pane at a time', async () => {
    await visitorAsks('Pia Phone', 'From my phone to yours');
    const { page, problems, close } = await openDesk({
      viewport: { width: 360, height: 640 },
      hasTouch: true,
      isMobile: true,
    });
    await signIn(page, noa);
    await row(page, 'Pia Phone').tap();
    await log(page).getByText('From my phone').waitFor();
    expect(await page.getByRole('listbox', { name: 'Queue' }).count()).toBe(0);
    await page.setViewportSize({ width: 320, height: 640 });
    const cutOff = await page.evaluate<number>(`(() => {
      const name = document.querySelector('.conversation-head h1');
      return name.scrollWidth - name.clientWidth;
    })()`);
    expect(cutOff).toBe(0);
    await page.setViewportSize({ width: 360, height: 640 });
    await composer(page).fill('Hello Pia');
    await page.getByRole('button', { name: 'Send' }).tap();
    await log(page).locator('article.own', { hasText: 'Hello Pia' }).waitFor();
    await look(page, 'phone');
    const wide = () => page.evaluate('document.documentElement.scrollWidth');
    expect(await wide()).toBeLessThanOrEqual(360);
    const head = page.locator('.conversation-pane');
    const act = async (name: string, choice?: string): Promise<void> => {
      await head.getByRole('button', { name: 'More' }).tap();
      // Also below a toast, as one is shown by what was done before.
      await page.getByRole('menuitem', { name }).waitFor();
      expect(await isOnTop(page, '[role=menuitem]')).toBe(true);
      await page.getByRole('menuitem', { name }).tap();
      if (choice === undefined) return;
      await page.getByRole('combobox').fill(choice);
      expect(await wide()).toBeLessThanOrEqual(360);
      await page.getByRole('option', { name: choice }).first().tap();
    };
    await act('Add or take off a tag', 'by thumb');
    await head.locator('.order-marks').getByText('by thumb', { exact: true }).waitFor();
    await act('Snooze', 'Tomorrow');
    await head.locator('.order-marks .snoozed').waitFor();
    await act('End the snooze');
    await eventually(async () => expect(await head.locator('.order-marks .snoozed').count()).toBe(0));
    await head.getByRole('button', { name: 'Resolve' }).tap();
    await page.getByRole('dialog').getByRole('button', { name: 'Resolve', exact: true }).tap();
    // What is done leaves the phone to the queue.
    await page.getByRole('button', { name: /^Closed/ }).tap();
    await row(page, 'Pia Phone').tap();
    await head.getByRole('button', { name: 'Reopen' }).tap();
    await head.getByText('You have this conversation.').waitFor();
    await act('Transfer', 'Olivia');
    await page.getByText('Olivia has this conversation.').first().waitFor();
    await page.goBack();
    await page.getByRole('listbox', { name: 'Queue' }).waitFor();
    await page.getByRole('searchbox').fill('From my phone');
    await row(page, 'Pia Phone').first().waitFor();
    expect(await problems()).toEqual([]);
    await close();
  });

  test('on a phone, what is said of an act covers no row that is reached for', async () => {
    await visitorAsks('Nia Notice', 'Is it done?');
    await visitorAsks('Nils Next', 'And mine?');
    const { page, problems, close } = await openDesk({
      viewport: { width: 390, height: 844 },
      hasTouch: true,
      isMobile: true,
    });
    await signIn(page, noa);
    await row(page, 'Nia Notice').tap();
    await page.getByRole('button', { name: 'Accept' }).tap();
    await page.locator('.conversation-pane').getByRole('button', { name: 'Resolve' }).tap();
    await page.getByRole('dialog').getByRole('button', { name: 'Resolve' }).tap();
    const told = page.locator('.toast', { hasText: 'Resolved: Nia Notice.' });
    await told.waitFor();
    await page.getByRole('listbox', { name: 'Queue' }).waitFor();
    await look(page, 'phone-told');
    const said = await told.boundingBox();
    const first = await row(page, 'Nils Next').boundingBox();
    const bar = await page.locator('.sidebar').boundingBox();
    expect(said?.y).toBeGreaterThan((first?.y ?? Infinity) + (first?.height ?? 0));
    expect((said?.y ?? Infinity) + (said?.height ?? 0)).toBeLessThanOrEqual(bar?.y ?? 0);
    // A row below it is pressed through it.
    expect(await isOnTop(page, '.toast')).toBe(false);
    expect(await problems()).toEqual([]);
    await close();
  });
});

describe('order in the queue', () => {
  test('tag, priority, snooze, wake and reopen from the menu; a saved view; one act on all that are marked', async () => {
    const id = await visitorAsks('Ravi', 'The parcel is late.');
    await visitorAsks('Sofia', 'Mine is late, too.');
    await noa.call('POST', '/views', { name: 'Late parcels', query: { tag: ['late'] } });
    const { page, problems, close } = await openDesk({ viewport: { width: 1280, height: 800 } });
    await signIn(page, noa);
    const rows = page.getByRole('option');
    const head = page.locator('.conversation-pane');
    const act = async (name: string): Promise<void> => {
      await head.getByRole('button', { name: 'More' }).click();
      await page.getByRole('menuitem', { name }).click();
    };
    await rows.filter({ hasText: 'Ravi' }).click();
    await act('Add or take off a tag');
    await page.getByRole('combobox').fill('late');
    await page.keyboard.press('Enter');
    await head.locator('.order-marks').getByText('late', { exact: true }).waitFor();
    await act('Set the priority');
    await page.getByRole('combobox').fill('1');
    await head.locator('.order-marks .urgent').waitFor();
    await page.getByRole('navigation', { name: 'Saved views' }).getByText('Late parcels').click();
    await eventually(async () =>
      expect(await rows.allTextContents()).toEqual([expect.stringContaining('Ravi')]),
    );
    // One more is made where it is used: by its words, and by its line.
    await page.getByRole('button', { name: 'More views' }).click();
    await page.getByRole('option', { name: 'New view…' }).click();
    await page.getByRole('combobox').fill('priority:u');
    await page.getByRole('option', { name: 'priority:urgent' }).click();
    await page.keyboard.type('= Burning');
    await page.keyboard.press('Enter');
    await page.getByRole('navigation', { name: 'Saved views' }).getByText('Burning').waitFor();
    await eventually(async () =>
      expect(await rows.allTextContents()).toEqual([expect.stringContaining('Ravi')]),
    );
    await page.getByRole('button', { name: 'End the search' }).click();
    await act('Snooze');
    if (pictures !== undefined) await page.screenshot({ path: join(pictures, 'snooze.png') });
    await page.getByRole('combobox').fill('3');
    await eventually(async () => expect(await rows.filter({ hasText: 'Ravi' }).count()).toBe(0));
    await act('End the snooze');
    await rows.filter({ hasText: 'Ravi' }).waitFor();
    await noa.call('POST', `/conversations/${id}/accept`);
    await noa.call('POST', `/conversations/${id}/resolve`);
    await head.getByRole('button', { name: 'Reopen' }).click();
    await head.getByText('You have this conversation.').waitFor();
    await page.getByRole('button', { name: /^All/ }).click();
    for (const name of ['Ravi', 'Sofia']) await rows.filter({ hasText: name }).locator('.row-mark').click();
    await page.getByText('2 marked').waitFor();
    await page.locator('.marked-bar').getByRole('button', { name: 'More' }).click();
    await page.getByRole('menuitem', { name: 'Set the priority' }).click();
    await page.getByRole('combobox').fill('2');
    await eventually(async () =>
      expect(
        await rows
          .filter({ hasText: /Ravi|Sofia/ })
          .locator('.priority.high')
          .count(),
      ).toBe(2),
    );
    await eventually(async () => expect(await page.locator('.marked-bar').count()).toBe(0));
    if (pictures !== undefined) {
      await rows.filter({ hasText: 'Sofia' }).locator('.row-mark').click();
      await page.screenshot({ path: join(pictures, 'order.png') });
    }
    expect(await axeViolations(page)).toEqual([]);
    expect(await problems()).toEqual([]);
    await close();
  });
});

describe('what it costs', () => {
  test('five files, at most 60 kB, to a queue that can be walked and a conversation that can be answered', async () => {
    await visitorAsks('Costa', 'What does it cost?');
    const { page, requests, close } = await openDesk();
    await signIn(page, noa);
    // What a conversation needs comes once the queue is there.
    await eventually(() => expect(requests.some((one) => one.includes('/room-'))).toBe(true));
    const files = (): string[] =>
      requests.filter((one) => /\/assets\/|GET \/$/.test(one)).map((one) => one.replace('GET ', ''));
    // A browser that is short of time reports now and then a file twice that it has at hand; a link that the script can't
    // use would be asked twice each time.
    await eventually(async () => {
      // The page that goes still counts its queue: what it asks is no cost of the next.
      await page.goto('about:blank');
      requests.length = 0;
      await page.goto(`${stage.app.url}/`);
      await page.getByRole('listbox', { name: 'Queue' }).waitFor();
      await eventually(() => expect(files().some((path) => path.includes('/room-'))).toBe(true));
      await page.waitForTimeout(500);
      await row(page, 'Costa').first().click();
      await log(page).getByText('What does it cost?').waitFor();
      await composer(page).fill('An answer');
      await page.locator('.composer .send').waitFor();
      expect(files(), files().join(' ')).toHaveLength(5);
      // What the page's links begin early is what the script takes: each is asked once.
      const asked = requests.slice(0, requests.indexOf('POST /api/v1/staff/ws-token'));
      expect(asked.toSorted()).toEqual([
        'GET /',
        'GET /api/v1/staff/conversations',
        'GET /api/v1/staff/session',
        ...files()
          .filter((path) => path !== '/' && !path.includes('/room-'))
          .map((path) => `GET ${path}`)
          .toSorted(),
      ]);
    });
    // As they are on the line, whatever this browser had at hand.
    const size = async (path: string): Promise<number> => {
      const { promise, resolve } = Promise.withResolvers<number>();
      get(
        `${stage.app.url}${path}`,
        { headers: { 'accept-encoding': 'br', accept: '*/*, text/html' } },
        (answer) => {
          let bytes = 0;
          answer.on('data', (piece: Buffer) => (bytes += piece.length)).on('end', () => resolve(bytes));
        },
      );
      return promise;
    };
    const sizes = await Promise.all(files().map(size));
    const total = sizes.reduce((sum, one) => sum + one, 0);
    const [room = 0] = await Promise.all(
      files()
        .filter((path) => path.includes('/room-'))
        .map(size),
    );
    expect(total).toBeLessThanOrEqual(60_000);
    expect(room).toBeLessThan(8_500);
    await close();
  });
});

describe('requests', () => {
  test('opening asks once, and live messages for nothing', async () => {
    // Who has saved views asks for their counts from time to time.
    const ida = await createMember(stage.app, 'acme', 'operator', 'Ida');
    const visitor = createVisitor(stage.app, stage.application);
    const { body } = await visitor.call('POST', '/conversations', {});
    const { id } = (body.conversation ?? body) as { id: string };
    const write = async (content: string): Promise<void> => {
      expect((await visitor.call('POST', `/conversations/${id}/messages`, { content })).status).toBe(201);
    };
    await write('the first one');
    const { page, requests, close } = await openDesk({ viewport: { width: 1400, height: 800 } });
    await signIn(page, ida);
    const row = page.getByRole('option', { name: 'the first one' });
    await row.waitFor();
    // Files and counts that the start asks for may come as late as they like.
    const settled = async (quietMs = 1_500): Promise<string[]> => {
      await page.waitForTimeout(quietMs);
      return requests
        .splice(0)
        .filter((one) => one.includes('/conversations'))
        .map((one) => one.replace(id, ':id').replace('/api/v1/staff/conversations', ''));
    };
    // On a busy machine the socket, after which the lists are asked for anew, and what was set off before, may take long.
    await eventually(() => {
      const socket = requests.indexOf('POST /api/v1/staff/ws-token');
      expect(socket).toBeGreaterThan(-1);
      const behind = requests.slice(socket).filter((one) => one === 'GET /api/v1/staff/conversations');
      expect(behind.length).toBeGreaterThan(1);
    });
    // Counts that an event of the start has overtaken are asked for again five seconds later.
    while ((await settled(6_000)).length > 0);
    await row.click();
    await log(page).getByText('the first one').waitFor();
    expect(await settled()).toEqual(['GET /:id/messages']);

    // The mark goes over the socket; the queue knows them from what it hears.
    await write('the second one');
    await write('the third one');
    await log(page).getByText('the third one').waitFor();
    await page.getByRole('option', { name: 'the third one' }).waitFor();
    expect(await settled()).toEqual([]);
    const colleague = await ida.call('GET', `/conversations/${id}`);
    expect(colleague.body).toMatchObject({ conversation: { unreadCount: 0, unread: false } });

    await close();
  });
});

describe('for everyone', () => {
  const violationsOf = async (page: Page, name: string): Promise<readonly string[]> => {
    await look(page, name);
    return (await axeViolations(page)).map((one) => `${name}: ${one}`);
  };

  test.each([
    ['light', {}],
    ['dark', { colorScheme: 'dark' as const }],
    ['rtl', { locale: 'ar' }],
    ['phone', { viewport: { width: 360, height: 640 }, hasTouch: true, isMobile: true }],
  ])('axe finds nothing: %s', async (name, options) => {
    const found: string[] = [];
    const check = async (at: Page, state: string): Promise<void> => {
      found.push(...(await violationsOf(at, state)));
    };
    const id = await visitorAsks('Ana Accessible', 'Can you read this?');
    const { page, close } = await openDesk(options);
    const password = page.locator('input[type=password]');
    await password.waitFor();
    await check(page, `${name}-sign-in`);
    await page.locator('input[name=organization]').fill('acme');
    await page.locator('input[name=email]').fill(noa.email);
    await password.fill(memberPassword);
    await password.press('Enter');
    await row(page, 'Ana Accessible').first().waitFor();
    await check(page, `${name}-queue`);
    await page.locator('[data-field=search]').fill('zzqq');
    await page.locator('.empty:not(:empty)').waitFor();
    await check(page, `${name}-nothing-found`);
    await page.goto(`${stage.app.url}/#/c/${id}`);
    await log(page).getByText('Can you read this?').waitFor();
    await check(page, `${name}-conversation`);
    await composer(page).focus();
    await page.keyboard.press('Alt+n');
    await composer(page).fill('A note');
    await check(page, `${name}-note`);
    await composer(page).fill('');
    await page.keyboard.press('Alt+n');
    await page.keyboard.press('Control+k');
    await page.locator('dialog[open]').waitFor();
    await check(page, `${name}-palette`);
    await page.keyboard.press('Escape');
    await page.goto(`${stage.app.url}/#/settings/device`);
    await page.locator('select').first().waitFor();
    await check(page, `${name}-settings`);
    expect(found).toEqual([]);
    await close();
  });
});

// Last: it fills the queue.
describe('hostile texts', () => {
  test('60 of them, wherever a stranger can put one, run nothing and become no element', async () => {
    const clear = await hostileOrganization();
    const { page, problems, close } = await openDesk({ viewport: { width: 1440, height: 900 } });
    await signIn(page, noa);
    const ran = (): Promise<unknown> => page.evaluate('window.ran');
    const seen: string[] = [];
    /** Everything on the page at this moment is text: no element, address or listener came out of it. */
    const check = async (place: string): Promise<void> => {
      seen.push(place);
      const found = await page.evaluate<string[]>(`
        [...document.querySelectorAll('body *:not(iframe[sandbox="allow-scripts"][src="widget-preview"])')].flatMap((element) => [
          ...(['IMG', 'SCRIPT', 'IFRAME', 'OBJECT', 'EMBED', 'BASE', 'STYLE', 'LINK', 'META', 'MATH', 'AUDIO', 'VIDEO'].includes(element.tagName) ? [element.tagName] : []),
          ...[...element.attributes].filter(({ name, value }) => /^on/.test(name) || /^(href|src|srcset|srcdoc|action|formaction|xlink:href|data|poster|background)$/.test(name) && /^\\s*(javascript|data|vbscript|file|blob):/i.test(value)).map(({ name, value }) => element.tagName + ' ' + name + '=' + value),
          ...(element.namespaceURI.endsWith('svg') && !element.closest('svg.icon, svg.bars') ? ['svg'] : []),
        ])`);
      expect(found, place).toEqual([]);
      expect(await ran(), place).toBeUndefined();
    };
    await page.getByRole('button', { name: /^All/ }).click();
    await page.getByRole('option').first().waitFor();
    // Every row of the queue, as it is scrolled through, and every room.
    for (const { id, index } of hostile) {
      await page.evaluate(`location.hash = '#/c/${id}'`);
      await log(page).getByText(`hostile-${index}-`).first().waitFor();
      if (index % 10 === 0) await check(`room, visitor and queue ${index}`);
    }
    // Links of strangers lead to the web, to mail and telephones, or are none.
    const links = await page.evaluate<string[]>(
      `[...document.querySelectorAll('.inbox a[href]')].map(({ href }) => href)`,
    );
    expect(links.filter((href) => !/^(https?:|mailto:|tel:)/.test(href))).toEqual([]);
    await check('the last room');
    await noa.call('POST', `/conversations/${hostile.at(-1)?.id ?? ''}/accept`, {});
    await page.getByText('You have this conversation.').waitFor();
    for (const [key, place] of [
      ['T', 'tags'],
      ['V', 'views'],
      ['t', 'colleagues'],
      ['Control+k', 'palette'],
    ] as const) {
      await log(page).press(key);
      await page.locator('dialog[open]').waitFor();
      await check(place);
      await page.keyboard.press('Escape');
    }
    await page.getByRole('searchbox').fill('hostile');
    await eventually(async () => expect(await page.getByRole('option').count()).toBeGreaterThan(5));
    await check('search');
    await page.keyboard.press('Escape');
    await composer(page).fill('/');
    await page.getByRole('listbox', { name: 'Canned replies' }).waitFor();
    await check('canned replies');
    await composer(page).fill(strangeTexts.join(' '));
    await page.getByRole('button', { name: 'Preview' }).click();
    await page.getByRole('region', { name: 'Preview' }).waitFor();
    await check('preview');
    await composer(page).fill('');
    // A toast and a notification of a stranger's words.
    await page.evaluate(`location.hash = '#/c/${hostile[1]?.id ?? ''}'`);
    await log(page).press('T');
    await page.getByRole('combobox').fill('hostile');
    await page.keyboard.press('Enter');
    await page.locator('.toast').first().waitFor();
    await check('toast');
    for (const section of [
      'canned',
      'people',
      'statistics',
      'applications',
      `applications/${stage.application.id}`,
      'knowledge',
      'members',
      'webhooks',
      'organization',
      'audit',
    ]) {
      await page.evaluate(`location.hash = '#/settings/${section}'`);
      await page.locator('.settings-section').first().waitFor();
      await eventually(async () => expect(await page.locator('.settings .loading').count()).toBe(0));
      await check(`settings: ${section}`);
    }
    expect(seen).toHaveLength(25);
    expect(await problems()).toEqual([]);
    await close();
    await clear();
  });
});
