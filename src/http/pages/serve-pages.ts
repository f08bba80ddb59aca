// Pages with a script of their own (demo, invitation), under a policy that allows this origin only.
import type Koa from 'koa';

export interface Page {
  readonly type: 'html' | 'css' | 'text/javascript';
  readonly body: string;
}

const policy =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; connect-src 'self'; img-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'";

/** @param pages by path */
export function servePages(pages: Readonly<Record<string, Page>>): Koa.Middleware {
  return async (ctx, next) => {
    const page = Object.hasOwn(pages, ctx.path) ? pages[ctx.path] : undefined;
    if (page === undefined || (ctx.method !== 'GET' && ctx.method !== 'HEAD')) {
      await next();
      return;
    }
    ctx.set('Content-Security-Policy', policy);
    ctx.type = page.type;
    ctx.body = page.body;
  };
}
