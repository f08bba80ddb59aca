// Owns: the widget's question for name and e-mail address (behavior.contactForm): who is asked and when, what is
// sent and what is not, what is said about mistakes, and each of its faces.
import type { BrowserContextOptions, Locator, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { openBrowserPage, routeLoaded, type BrowserPage } from '../helpers/browser.ts';
import { eventually } from '../helpers/eventually.ts';
import { variants, checkAccessibility } from './accessibility.ts';
import {
  createWidgetFixture,
  htmlPage,
  holdConversationFile,
  newestConversation,
  widgetLocators,
  type WidgetFixture,
} from './fixture.ts';

let stage: WidgetFixture;
const visits: BrowserPage[] = [];

beforeAll(async () => {
  stage = await createWidgetFixture();
  await stage.configure({ 'behavior.greeting': 'Hello! How can we help you today?' });
});

afterEach(async () => {
  for (const one of visits.splice(0)) await one.close();
});

afterAll(() => stage.close());

interface Arrival extends BrowserPage {
  readonly w: ReturnType<typeof widgetLocators>;
  readonly form: Locator;
  readonly name: Locator;
  readonly email: Locator;
  readonly composer: Locator;
  /** Method and path of what the page asked of the service, apart from files and settings. */
  readonly calls: string[];
}

async function arrive(
  mode: 'off' | 'optional' | 'required',
  options: BrowserContextOptions = {},
  body = stage.tag(),
): Promise<Arrival> {
  await stage.configure({ 'behavior.contactForm': mode });
  const one = await openBrowserPage(stage.browser, 'about:blank', options);
  visits.push(one);
  const { page } = one;
  const calls: string[] = [];
  page.on('request', (request) => {
    const { pathname } = new URL(request.url());
    if (pathname.startsWith('/api/v1/') && pathname !== '/api/v1/widget/config')
      calls.push(`${request.method()} ${pathname.slice(7)}`);
  });
  await page.goto(stage.site.page('/', htmlPage(body)));
  const host = page.locator('deskbell-widget');
  const form = host.locator('form');
  return {
    ...one,
    calls,
    w: widgetLocators(page),
    form,
    name: form.locator('#name'),
    email: form.locator('#email'),
    composer: host.locator('.field'),
  };
}

/** Opens the panel and sees the form. */
async function meet({ w, form }: Arrival): Promise<void> {
  await w.launcher.click();
  await form.waitFor();
}

async function focused(page: Page): Promise<unknown> {
  return page.evaluate(
    `(() => { const at = document.querySelector('deskbell-widget').shadowRoot.activeElement; return at === null ? null : at.id || at.className; })()`,
  );
}

async function visitorOf(id: string): Promise<unknown> {
  return (await stage.operator.call('GET', `/conversations/${id}`)).body.conversation.visitor;
}

describe('optional', () => {
  test('skipped: nothing is stored or sent for it, and it does not come again', async () => {
    const one = await arrive('optional');
    const { page, w, form, name, composer, calls } = one;
    await meet(one);
    await name.fill('Never sent');
    expect(await page.evaluate('[localStorage.length, sessionStorage.length, document.cookie]')).toEqual([
      0,
      0,
      '',
    ]);
    expect(calls).toEqual([]);
    await w.button('Skip').click();
    await form.waitFor({ state: 'hidden' });
    expect(await focused(page)).toBe('field');
    expect(await page.evaluate('localStorage.length')).toBe(0);
    expect(calls).toEqual([]);
    await page.keyboard.type('Good evening');
    await page.keyboard.press('Enter');
    await w.log.getByText('Sent', { exact: true }).waitFor();
    expect(calls).not.toContain('PUT /visitor');
    expect(await visitorOf(await newestConversation(stage))).toMatchObject({ name: null, email: null });
    await w.button('All conversations').click();
    await w.button('New conversation').click();
    await composer.waitFor();
    expect(await form.isVisible()).toBe(false);
  });

  test('one answer is enough, and an address must look like one', async () => {
    const one = await arrive('optional');
    const { page, w, form, email } = one;
    await meet(one);
    await email.fill('ann@nowhere');
    await page.keyboard.press('Enter');
    await form.getByText('Please enter an e-mail address').waitFor();
    await email.fill('Ann@Example.com');
    await page.keyboard.press('Enter');
    await form.waitFor({ state: 'hidden' });
    await page.keyboard.type('Only by mail');
    await page.keyboard.press('Enter');
    await w.log.getByText('Sent', { exact: true }).waitFor();
    expect(await visitorOf(await newestConversation(stage))).toMatchObject({
      name: null,
      email: 'ann@example.com',
    });
  });

  test('nothing filled in is the same as skipping', async () => {
    const one = await arrive('optional');
    await meet(one);
    await one.w.button('Continue').click();
    await one.composer.waitFor();
    expect(one.calls).toEqual([]);
  });
});

describe('required', () => {
  test('by keys: no way past it, mistakes are said and tied to their fields, then named before the conversation opens', async () => {
    const one = await arrive('required');
    const { page, w, form, name, email, composer, calls } = one;
    await meet(one);
    await eventually(async () => expect(await focused(page)).toBe('name'));
    expect(await w.button('Skip').count()).toBe(0);
    expect(await composer.isVisible()).toBe(false);
    expect([await name.getAttribute('autocomplete'), await email.getAttribute('autocomplete')]).toEqual([
      'name',
      'email',
    ]);
    await page.keyboard.press('Enter');
    for (const [field, said] of [
      [name, 'Please enter your name.'],
      [email, 'Please enter an e-mail address like ann@example.com.'],
    ] as const) {
      expect(await field.getAttribute('aria-invalid')).toBe('true');
      expect(await form.locator(`#${await field.getAttribute('aria-describedby')}`).textContent()).toBe(said);
    }
    expect(await focused(page)).toBe('name');
    await page.keyboard.type('Ann Example');
    await page.keyboard.press('Enter');
    expect(await focused(page)).toBe('email');
    expect([await name.getAttribute('aria-invalid'), await name.getAttribute('aria-describedby')]).toEqual([
      null,
      null,
    ]);
    await page.keyboard.type('not an address');
    await page.keyboard.press('Enter');
    expect(await email.getAttribute('aria-invalid')).toBe('true');
    expect(calls).toEqual([]);
    await email.fill('ann@example.com');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await composer.waitFor();
    expect(await focused(page)).toBe('field');
    await page.keyboard.type('Where is it?');
    await page.keyboard.press('Enter');
    await w.log.getByText('Sent', { exact: true }).waitFor();
    const acts = calls.filter((call) => call === 'PUT /visitor' || call === 'POST /conversations');
    expect(acts).toEqual(['PUT /visitor', 'POST /conversations']);
    expect(await visitorOf(await newestConversation(stage))).toMatchObject({
      name: 'Ann Example',
      email: 'ann@example.com',
    });
  });

  test('what the service refuses is said, and can be mended', async () => {
    const one = await arrive('required');
    const { page, form, name, email, composer } = one;
    await meet(one);
    await name.fill('Ann');
    await email.fill('ann@exa_mple..com');
    await page.keyboard.press('Enter');
    await form.getByText('Please enter an e-mail address').waitFor();
    expect(await focused(page)).toBe('email');
    await email.fill('ann@example.com');
    await routeLoaded(page, '**/api/v1/visitor', (route) =>
      route.fulfill({
        status: 403,
        headers: { 'access-control-allow-origin': stage.site.origin },
        json: { error: 'forbidden', message: 'no' },
      }),
    );
    await page.keyboard.press('Enter');
    await form.getByRole('alert').getByText('That did not work.').waitFor();
    expect(await name.inputValue()).toBe('Ann');
    expect(await composer.isVisible()).toBe(false);
    await page.unroute('**/api/v1/visitor');
    await page.keyboard.press('Enter');
    await composer.waitFor();
  });

  test('it can be opened and closed with what was typed in it, and another language keeps that too', async () => {
    const one = await arrive('required');
    const { page, w, form, name } = one;
    await meet(one);
    await name.fill('Ann');
    await page.keyboard.press('Escape');
    await w.dialog.waitFor({ state: 'hidden' });
    await meet(one);
    expect(await focused(page)).toBe('name');
    const headings = new Set<string | null>();
    for (const locale of ['ar', 'de', 'es', 'fr', 'it', 'nl', 'pl', 'pt', 'en']) {
      await page.evaluate(`deskbell('setLocale', '${locale}')`);
      await page.locator(`deskbell-widget[lang=${locale}]`).waitFor();
      await form.waitFor();
      await page.keyboard.press('Shift');
      headings.add(await form.locator('h3').textContent());
      expect(await name.inputValue()).toBe('Ann');
    }
    expect(headings.size).toBe(9);
  });
});

describe('what was written before the engine came', () => {
  test('waits for the answers, then goes out in order', async () => {
    const one = await arrive('required');
    const { page, w, form, name, email, composer, calls } = one;
    const release = await holdConversationFile(page);
    await w.open();
    await w.write('first');
    await w.write('second');
    await release();
    await form.waitFor();
    await form.getByText('Your message goes out as soon as you continue.').waitFor();
    expect(await focused(page)).toBe('name');
    expect(calls).toEqual([]);
    await name.fill('Ann');
    await email.fill('ann@example.com');
    await page.keyboard.press('Enter');
    await composer.waitFor();
    await w.log.getByText('Sent', { exact: true }).waitFor();
    await eventually(async () =>
      expect(await w.log.locator('.mine .bubble').allTextContents()).toEqual(['first', 'second']),
    );
    const id = await newestConversation(stage);
    await eventually(async () => {
      const { messages } = (await stage.operator.call('GET', `/conversations/${id}/messages`)).body as {
        messages: { content: string }[];
      };
      expect(messages.map(({ content }) => content)).toEqual(['first', 'second']);
    });
    expect(await visitorOf(id)).toMatchObject({ name: 'Ann' });
    expect(calls.indexOf('PUT /visitor')).toBeLessThan(calls.indexOf('POST /conversations'));
  });

  test('no visitor is interrupted in the middle of a sentence: the form comes when it is sent', async () => {
    const one = await arrive('optional');
    const { page, w, form, composer, calls } = one;
    const release = await holdConversationFile(page);
    await w.open();
    await page.keyboard.type('I was just');
    await release();
    await w.log.waitFor();
    expect(await form.isVisible()).toBe(false);
    await page.keyboard.type(' wondering');
    expect(await composer.textContent()).toBe('I was just wondering');
    await page.keyboard.press('Enter');
    await form.waitFor();
    expect(calls).toEqual([]);
    await w.button('Skip').click();
    await w.log.getByText('I was just wondering').waitFor();
    await w.log.getByText('Sent', { exact: true }).waitFor();
  });
});

describe('who is not asked', () => {
  test('anybody, where it is off', async () => {
    const { w, form } = await arrive('off');
    await w.open();
    await w.log.waitFor();
    expect(await form.isVisible()).toBe(false);
    await w.write('straight away');
    await w.log.getByText('Sent', { exact: true }).waitFor();
  });

  test('whom the page has named', async () => {
    const head = `<script>window.deskbell = window.deskbell || function () { (deskbell.q = deskbell.q || []).push(arguments); };
deskbell('init', { appId: '${stage.application.id}', user: { name: 'Named' } });</script><script async src="${stage.app.url}/widget.js"></script>`;
    const { w, form } = await arrive('required', {}, head);
    await w.open();
    await w.log.waitFor();
    expect(await form.isVisible()).toBe(false);
    await w.write('you know me');
    await w.log.getByText('Sent', { exact: true }).waitFor();
  });

  test('who has answered before, though nothing was written then; and after a reset, everybody', async () => {
    const one = await arrive('required');
    const { page, w, form, name, email, composer } = one;
    await meet(one);
    await name.fill('Ann');
    await email.fill('ann@example.com');
    await page.keyboard.press('Enter');
    await composer.waitFor();
    await page.reload();
    const named = page.waitForResponse(
      (response) => response.url().endsWith('/visitor') && response.request().method() === 'PUT',
    );
    await w.open();
    expect((await (await named).json()).visitor).toMatchObject({ name: 'Ann' });
    await composer.waitFor();
    expect(await form.isVisible()).toBe(false);
    await page.evaluate(`deskbell('reset')`);
    await form.waitFor();
    expect(await name.inputValue()).toBe('');
  });

  test('who has written before without a name, not even while that is being looked up', async () => {
    const one = await arrive('required');
    const { page, w, form, composer } = one;
    await page.evaluate(`deskbell('sendMessage', 'Written by the page')`);
    await routeLoaded(page, '**/api/v1/conversations?*', () => undefined);
    await page.reload();
    await w.launcher.click();
    await w.log.waitFor();
    expect(await composer.isVisible()).toBe(true);
    await page.unroute('**/api/v1/conversations?*');
    await page.reload();
    await w.launcher.click();
    await w.log.getByText('Written by the page').waitFor();
    expect(await form.isVisible()).toBe(false);
  });

  test('but who came back without a name or a conversation is', async () => {
    const one = await arrive('required');
    const { page } = one;
    await page.evaluate(
      `localStorage.setItem('deskbell:${stage.application.id}:visitor', crypto.randomUUID())`,
    );
    await page.reload();
    await meet(one);
    expect(await one.composer.isVisible()).toBe(false);
  });
});

describe.each(variants)('%s', (face, options, attributes) => {
  test('axe finds nothing against the form, with and without mistakes', async () => {
    const one = await arrive('required', options, stage.tag(attributes));
    const { page, form } = one;
    await meet(one);
    expect(await checkAccessibility(page, `contact-${face}-1-empty`)).toEqual([]);
    await form.getByRole('button').first().click();
    await form.locator('#email-error:not(:empty)').waitFor();
    expect(await checkAccessibility(page, `contact-${face}-2-mistakes`)).toEqual([]);
    // Where the screen is too low for all of it, it scrolls.
    await form.getByRole('button').first().scrollIntoViewIfNeeded();
    const box = (await form.getByRole('button').first().boundingBox())!;
    expect(box.y + box.height).toBeLessThanOrEqual(page.viewportSize()!.height);
  });

  test('optional, with a message waiting', async () => {
    const one = await arrive('optional', options, stage.tag(attributes));
    const { page, w, form } = one;
    const release = await holdConversationFile(page);
    await w.open();
    await w.field.click();
    await page.keyboard.type('Hello');
    await page.locator('deskbell-widget .send').click();
    await release();
    await form.waitFor();
    expect(await checkAccessibility(page, `contact-${face}-3-optional`)).toEqual([]);
  });
});
