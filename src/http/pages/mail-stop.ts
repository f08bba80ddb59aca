// The page behind the link at the end of a mail. Opening it changes nothing, since programs open links too; its buttons
// do, and so does the one request by which a mail program asks for no more mails (RFC 8058).
import type { Context } from 'koa';
import type Koa from 'koa';
import { sizeLimits } from '../../protocol/codes.ts';
import type { Input } from '../../protocol/operations.ts';
import { ServiceError } from '../../services/core/errors.ts';
import { execute } from '../../services/execute.ts';
import type { Service } from '../../services/service.ts';
import { cutShort, dropRest } from '../receive-time.ts';
import { escapeHtml } from '../../text/escape-html.ts';
import { mailStopLanguages, mailStopWords, type MailStopLanguage } from './mail-stop-words.ts';

type Scope = Input<'email.stop'>['scope'];

const path = /^\/mail\/stop\/([a-z2-7.]{43})$/;
const maxBody = 1_024;
const policy =
  "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'";

function page(language: MailStopLanguage, title: string, content: string): string {
  return `<!doctype html>
<html lang="${language}" dir="${language === 'ar' ? 'rtl' : 'ltr'}">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${escapeHtml(title)}</title>
<style>
:root { color-scheme: light dark; }
body { margin: 0; font: 16px/1.5 system-ui, sans-serif; }
main { max-width: 32rem; margin: 0 auto; padding: 3rem 1rem; }
h1 { font-size: 1.4rem; line-height: 1.2; }
form { margin: 1rem 0; }
button { font: inherit; min-height: 2.75rem; padding: .5rem 1rem; cursor: pointer; }
</style>
<main>
<h1>${escapeHtml(title)}</h1>
${content}
</main>
</html>
`;
}

function questionPage(language: MailStopLanguage): string {
  const { question, conversation, address } = mailStopWords[language];
  const choice = (scope: string, label: string): string =>
    `<form method="post"><input type="hidden" name="scope" value="${scope}"><button>${escapeHtml(label)}</button></form>`;
  return page(language, question, `${choice('conversation', conversation)}\n${choice('address', address)}`);
}

function donePage(language: MailStopLanguage, scope: Scope): string {
  const { done, doneConversation, close } = mailStopWords[language];
  return page(language, scope === 'address' ? done : doneConversation, `<p>${escapeHtml(close)}</p>`);
}

/** Serves the page, and ends mails. */
export function serveMailStop(service: Service): Koa.Middleware {
  return async (ctx, next) => {
    const [, token] = path.exec(ctx.path) ?? [];
    const isPost = ctx.method === 'POST';
    if (token === undefined || !['GET', 'HEAD', 'POST'].includes(ctx.method)) {
      await next();
      return;
    }
    const found = ctx.acceptsLanguages(...mailStopLanguages);
    const language = mailStopLanguages.find((one) => one === found) ?? 'en';
    const scope = isPost ? scopeOf(await readForm(ctx)) : 'conversation';
    const isKnown = !isPost || (await stop(service, token, scope));
    ctx.set({
      'Content-Security-Policy': policy,
      'Cache-Control': 'no-store',
      'Content-Language': language,
      'Referrer-Policy': 'no-referrer',
      Vary: 'Accept-Language',
    });
    ctx.type = 'html';
    if (!isKnown) ctx.status = 404;
    ctx.body = !isKnown
      ? page(language, mailStopWords[language].gone, '')
      : isPost
        ? donePage(language, scope)
        : questionPage(language);
  };
}

/** What a form asks to end; a mail program's own request names nothing. */
function scopeOf(form: string): Scope {
  return new URLSearchParams(form).get('scope') === 'address' ? 'address' : 'conversation';
}

/** @returns false: no conversation has such a link */
async function stop(service: Service, token: string, scope: Scope): Promise<boolean> {
  try {
    await execute(
      { service, actor: { kind: 'anonymous' }, address: null, contentLimit: sizeLimits.contentRest },
      'email.stop',
      { token, scope },
    );
    return true;
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'not_found') return false;
    throw error;
  }
}

/**
 * As much of a form as this page's own has.
 * @throws ServiceError bad_request: it has not come whole
 */
async function readForm(ctx: Context): Promise<string> {
  let text = '';
  ctx.res.once('finish', () => dropRest(ctx.req));
  try {
    // The request outlives its body: an answer is still to come.
    for await (const chunk of ctx.req.iterator({ destroyOnReturn: false })) {
      text += String(chunk);
      if (text.length > maxBody) break;
    }
  } catch {
    throw cutShort();
  }
  return text.slice(0, maxBody);
}
