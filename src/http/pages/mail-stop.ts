// The page behind the link at the end of a mail. Opening it changes nothing, since programs open links too; its buttons
// do, and so does the one request by which a mail program asks for no more mails (RFC 8058).
import type { Context } from 'koa';
import type Koa from 'koa';
import { sizeLimits } from '../../protocol/codes.ts';
import { execute } from '../../services/execute.ts';
import type { Service } from '../../services/service.ts';

const path = /^\/mail\/stop\/([a-z2-7.]{43})$/;
const maxBody = 1_024;
const policy =
  "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'";

const page = (content: string): string => `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>Mails</title>
<style>
:root { color-scheme: light dark; }
body { margin: 0; font: 16px/1.5 system-ui, sans-serif; }
main { max-width: 32rem; margin: 0 auto; padding: 3rem 1rem; }
h1 { font-size: 1.4rem; line-height: 1.2; }
form { margin: 1rem 0; }
button { font: inherit; min-height: 2.75rem; padding: .5rem 1rem; cursor: pointer; }
</style>
<main>
${content}
</main>
</html>
`;

const question = page(`<h1>No more mails?</h1>
<form method="post"><input type="hidden" name="scope" value="conversation"><button>No more mails of this conversation</button></form>
<form method="post"><input type="hidden" name="scope" value="address"><button>That wasn't me: no mails to my address at all</button></form>`);

const done = page('<h1>No more mails will come.</h1>\n<p>You can close this page.</p>');

/** Serves the page, and ends mails. */
export function serveMailStop(service: Service): Koa.Middleware {
  return async (ctx, next) => {
    const [, token] = path.exec(ctx.path) ?? [];
    const isPost = ctx.method === 'POST';
    if (token === undefined || !['GET', 'HEAD', 'POST'].includes(ctx.method)) {
      await next();
      return;
    }
    if (isPost) {
      const body = await readForm(ctx);
      const scope = new URLSearchParams(body).get('scope') === 'address' ? 'address' : 'conversation';
      await execute(
        { service, actor: { kind: 'anonymous' }, address: null, contentLimit: sizeLimits.contentRest },
        'email.stop',
        { token, scope },
      );
    }
    ctx.set({
      'Content-Security-Policy': policy,
      'Cache-Control': 'no-store',
      'Referrer-Policy': 'no-referrer',
    });
    ctx.type = 'html';
    ctx.body = isPost ? done : question;
  };
}

/** As much of a form as this page's own has. */
async function readForm(ctx: Context): Promise<string> {
  let text = '';
  for await (const chunk of ctx.req) {
    text += String(chunk);
    if (text.length > maxBody) break;
  }
  return text.slice(0, maxBody);
}
