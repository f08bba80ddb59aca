// Which addresses are pages of a site, and when two addresses are the same page. Pure.

/** What campaigns add to an address without changing the page. */
const trackingParameter = /^(?:utm_\w+|gclid|fbclid|msclkid|mc_[ce]id|_hs(?:enc|mi)|ref_src)$/i;
/** Endings of what is no page; everything else is asked for and judged by its media type. */
const nonPageExtension =
  /\.(?:zip|gz|tgz|bz2|xz|7z|rar|exe|dmg|msi|deb|rpm|apk|iso|jpe?g|png|gif|webp|avif|svg|ico|bmp|mp[34]|m4[av]|webm|ogg|wav|mov|avi|css|m?js|json|xml|rss|atom|woff2?|ttf|otf|eot|doc|xlsx?|pptx?|csv|epub)$/i;
const maxUrlLength = 1_000;

/**
 * An address in the form in which it is compared and kept: no fragment, no tracking parameters, the rest in order.
 * @returns null for what is no web page's address
 */
export function normalizePageUrl(written: string, base?: URL): URL | null {
  const url = URL.parse(written.trim(), base?.href);
  if (
    url === null ||
    (url.protocol !== 'http:' && url.protocol !== 'https:') ||
    url.username !== '' ||
    url.password !== ''
  )
    return null;
  url.hash = '';
  const kept = [...url.searchParams].filter(([name]) => !trackingParameter.test(name));
  if (kept.length !== url.searchParams.size) url.search = new URLSearchParams(kept).toString();
  url.searchParams.sort();
  if (url.search === '?' || url.searchParams.size === 0) url.search = '';
  return url.href.length > maxUrlLength ? null : url;
}

/** Whether an address may be a page of the site. @param below the path that it must begin with */
export function isWithinSite(url: URL, site: URL, below: string): boolean {
  return (
    url.host === site.host &&
    url.protocol === site.protocol &&
    url.pathname.startsWith(below) &&
    !nonPageExtension.test(url.pathname)
  );
}

/** The folder of an address: its path up to the last slash. */
export function parentPath(url: URL): string {
  return url.pathname.slice(0, url.pathname.lastIndexOf('/') + 1);
}
