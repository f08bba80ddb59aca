// Owns: sixty files that are a page, a script or a picture, as one looks at them, in a real browser: opened, embedded
// and loaded as a script by a hostile page, none of them runs.
import { expect, test } from 'vitest';
import { startApp } from '../helpers/app.ts';
import { launchBrowser, startHostSite } from '../helpers/browser.ts';
import { pngPicture, uploadFile } from '../helpers/files.ts';
import { createConversation, createMember, createOrganization, createVisitor } from '../helpers/fixtures.ts';

const heads: readonly [string, Buffer][] = [
  ['', Buffer.alloc(0)],
  ['GIF', Buffer.from('GIF89a/*\x01\x00\x00\x00\x00\x00*/=1;\n', 'latin1')],
  ['PDF', Buffer.from('%PDF-1.7\n')],
  ['PNG', pngPicture(2, 2)],
];

function payloads(run: string): readonly [string, string, Buffer | string][] {
  const page = `<!doctype html><title>x</title><script>${run}</script><img src=x onerror="${run}">`;
  return [
    ['a.html', 'text/html', page],
    ['a.htm', 'text/html; charset=utf-8', `<script>${run}</script>`],
    [
      'a.svg',
      'image/svg+xml',
      `<svg xmlns="http://www.w3.org/2000/svg" onload="${run}"><script>${run}</script></svg>`,
    ],
    ['a.png', 'image/png', page],
    ['a.jpg', 'image/jpeg', `<svg xmlns="http://www.w3.org/2000/svg"><script>${run}</script></svg>`],
    [
      'a.xhtml',
      'application/xhtml+xml',
      `<html xmlns="http://www.w3.org/1999/xhtml"><script>${run}</script></html>`,
    ],
    [
      'a.xml',
      'text/xml',
      `<?xml version="1.0"?><x:script xmlns:x="http://www.w3.org/1999/xhtml">${run}</x:script>`,
    ],
    ['a.mjs', 'text/javascript', run],
    ['a.txt', 'text/plain', page],
    ['a.json', 'application/json', `/**/${run}`],
    ['a.csv', 'text/csv', `${run}//`],
    ['a.mht', 'multipart/related', `MIME-Version: 1.0\r\nContent-Type: text/html\r\n\r\n${page}`],
    ['a.utf16', 'text/html', Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from(page, 'utf16le')])],
    ['a.utf7', 'text/html; charset=utf-7', '+ADw-script+AD4-'.concat(run)],
    ['a.css', 'text/css', `*{background:url("javascript:${run}")}`],
  ];
}

test('none of sixty runs, however a hostile page asks for it', async () => {
  const app = await startApp();
  const site = await startHostSite();
  const browser = await launchBrowser();
  try {
    const { application } = await createOrganization(app, 'acme');
    const visitor = createVisitor(app, application);
    const member = await createMember(app, 'acme');
    const conversation = await createConversation(visitor);
    await member.call('POST', `/conversations/${conversation}/accept`);
    const mark = `${site.origin}/ran`;
    const run = `new Image().src='${mark}?'+self.origin;self.ran=1;self.top.postMessage('ran','*')`;
    const links: string[] = [];
    let refused = 0;
    for (const [name, head] of heads)
      for (const [file, type, body] of payloads(run)) {
        const bytes = Buffer.concat([head, Buffer.from(body)]);
        const answer = await uploadFile(app, visitor, bytes, { name: `${name}${file}`, type });
        if (answer.status !== 201) {
          refused += 1;
          continue;
        }
        const sent = await visitor.call('POST', `/conversations/${conversation}/messages`, {
          content: 'x',
          attachments: [answer.body.file.id],
        });
        links.push(sent.body.message.attachments[0].url as string);
      }
    expect(links.length + refused).toBe(60);
    const context = await browser.newContext();
    const ran: string[] = [];
    context.on('request', (one) => {
      if (one.url().startsWith(mark)) ran.push(one.url());
    });
    const page = await context.newPage();
    // A page that does run shows that the marks would be seen.
    await page.goto(site.page('/control', `<script>${run}</script>`));
    await expect.poll(() => ran.length).toBe(1);
    ran.length = 0;
    const embeds = links.map((link) => {
      const src = link.replaceAll('&', '&amp;');
      return `<iframe src="${src}"></iframe><object data="${src}"></object><embed src="${src}"><img src="${src}">
        <script src="${src}"></script><script type="module" src="${src}"></script><link rel="stylesheet" href="${src}">`;
    });
    await page.goto(site.page('/hostile', `<body>${embeds.join('\n')}</body>`), { waitUntil: 'load' });
    for (const link of links) await page.goto(link).catch(() => undefined);
    expect(ran).toEqual([]);
    // And the pictures among them, GIF and PNG, are shown.
    await page.goto(
      site.page('/picture', links.map((link) => `<img src="${link.replaceAll('&', '&amp;')}">`).join('')),
    );
    const shown = await page.evaluate(
      `Promise.all([...document.images].map((one) => one.decode().then(() => 1, () => 0))).then((all) => all.filter(Boolean).length)`,
    );
    expect(shown).toBe(2 * payloads('').length);
  } finally {
    await browser.close();
    await site.close();
    await app.stop();
  }
});
