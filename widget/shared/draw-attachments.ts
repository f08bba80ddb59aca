// Owns how the files of a message look, in the widget and in the dashboard: pictures in their place, which is kept free
// before they come, everything else as a line to download. Trusts no name and no address.
import { isOver, isPicture, kindOf, sizeText } from '../../src/sdk/shown-files.ts';
import type { SdkAttachment } from '../../src/sdk/types.ts';
import { h, icon } from './dom.ts';
import { safeAddress } from './links.ts';

export interface AttachmentWords {
  open(name: string): string;
  download(name: string): string;
  readonly gone: string;
}

export interface AttachmentOptions {
  readonly words: AttachmentWords;
  /** The language's tag. */
  readonly tag: string;
  /** The size of the place for a picture, in pixels. */
  readonly place: { readonly width: number; readonly height: number };
  /** The service's address: what a link of a service without a public one is relative to. */
  readonly base: string;
  /** What time it is at the service, in ms since the epoch. */
  now?(): number;
  /** Asks for the file's address anew; null: it is not there any more. */
  renew(file: SdkAttachment): Promise<SdkAttachment | null>;
}

const sheetOfPaper = 'M6 3.500h8l4.500 4.500V20.500H6zM13.500 3.500V8.500h5';

/** The files of a message, in their order. */
export function drawAttachments(
  attachments: readonly SdkAttachment[] | undefined,
  options: AttachmentOptions,
): Node[] {
  if (attachments === undefined || attachments.length === 0) return [];
  return [
    h(
      'ul',
      { class: 'attachments', role: 'list' },
      ...attachments.map((file) =>
        h('li', {}, isPicture(file) ? pictureOf(file, options) : lineOf(file, options)),
      ),
    ),
  ];
}

function pictureOf(
  file: SdkAttachment & { readonly width: number; readonly height: number },
  options: AttachmentOptions,
): HTMLElement {
  const { place, words, now = Date.now } = options;
  const share = Math.min(1, place.width / file.width, place.height / file.height);
  const image = h('img', {
    alt: file.name,
    width: Math.max(1, Math.round(file.width * share)),
    height: Math.max(1, Math.round(file.height * share)),
    loading: 'lazy',
    decoding: 'async',
    referrerpolicy: 'no-referrer',
    error: () => void again(),
  });
  const link = anchor(file, options, 'picture', image);
  link.title = words.open(file.name);
  let renewed = false;
  const show = ({ url }: SdkAttachment): void => {
    const address = fileAddress(url, options.base);
    if (address !== null) image.src = address;
    else void again();
  };
  const again = async (): Promise<void> => {
    // Once: what can't be shown with a fresh address can't be shown.
    const fresh = renewed ? null : await options.renew(file);
    renewed = true;
    if (fresh === null) return link.replaceWith(lineOf(file, options, true));
    const address = fileAddress(fresh.url, options.base);
    if (address !== null) link.href = address;
    return show(fresh);
  };
  if (isOver(file.url, now())) void again();
  else show(file);
  return link;
}

/** @param isGone the file can't be had any more */
function lineOf(file: SdkAttachment, options: AttachmentOptions, isGone = false): HTMLElement {
  const { words, tag } = options;
  const about = [kindOf(file), sizeText(file.size, tag)].filter((part) => part !== '').join(' · ');
  const what = h(
    'span',
    { class: 'what' },
    h('b', {}, h('bdi', {}, file.name)),
    h('small', {}, isGone ? words.gone : about),
  );
  if (isGone) return h('span', { class: 'file' }, icon(sheetOfPaper), what);
  const link = anchor(file, options, 'file', icon(sheetOfPaper), what);
  link.download = file.name;
  link.title = words.download(file.name);
  return link;
}

/** A link to a file that asks for a fresh address when it is over. */
function anchor(
  file: SdkAttachment,
  options: AttachmentOptions,
  kind: string,
  ...content: readonly Node[]
): HTMLAnchorElement {
  const { now = Date.now } = options;
  let renewedAt = 0;
  const link = h(
    'a',
    {
      class: kind,
      href: fileAddress(file.url, options.base),
      target: '_blank',
      rel: 'noopener noreferrer',
      click: (event: MouseEvent) => {
        // A clock that is wrong must not ask for ever.
        if (!isOver(link.href, now()) || Date.now() - renewedAt < 60_000) return;
        renewedAt = Date.now();
        event.preventDefault();
        void options.renew(file).then((fresh) => {
          const address = fileAddress(fresh?.url, options.base);
          if (address === null) return link.replaceWith(lineOf(file, options, true));
          link.href = address;
          // The same click once more: this time it leads somewhere.
          return link.click();
        });
      },
    },
    ...content,
  );
  return link;
}

/** An address that a browser may go to: of the web, without a password in it. */
function fileAddress(url: string | undefined, base: string): string | null {
  const address = safeAddress(url, base);
  return address !== null && /^https?:/.test(address) ? address : null;
}
