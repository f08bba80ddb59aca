// Pages with a script of their own (demo, invitation, preview of the widget), under a policy that allows this origin only.
import type Koa from 'koa';

export interface Page {
  readonly type: 'html' | 'css' | 'text/javascript';
  readonly body: string;
  /** Whether its HTML holds its own styles; otherwise they come from a file. */
  readonly inlineStyles?: boolean;
  /** Its policy, where it is another one. */
  readonly policy?: string;
  /** Whether pages of any origin may load it. */
  readonly forAnyOrigin?: boolean;
}

const policyWith = (styles: string): string =>
  `default-src 'none'; script-src 'self'; style-src ${styles}; connect-src 'self'; img-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'`;

/** @param pages by path */
export function servePages(pages: Readonly<Record<string, Page>>): Koa.Middleware {
  return async (ctx, next) => {
    const page = Object.hasOwn(pages, ctx.path) ? pages[ctx.path] : undefined;
    if (page === undefined || (ctx.method !== 'GET' && ctx.method !== 'HEAD')) {
      await next();
      return;
    }
    const styles = page.inlineStyles === true ? "'self' 'unsafe-inline'" : "'self'";
    ctx.set('Content-Security-Policy', page.policy ?? policyWith(styles));
    if (page.forAnyOrigin === true) ctx.set('Cross-Origin-Resource-Policy', 'cross-origin');
    ctx.type = page.type;
    ctx.body = page.body;
  };
}
