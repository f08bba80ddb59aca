// The text and HTML of mails to visitors: tables, no pictures, no address that is fetched, colours that a dark mail
// program may turn round.
import { escapeHtml } from '../../text/escape-html.ts';
import type { MailWords } from './mail-words.ts';

/** One message as a mail shows it. */
export interface ShownMessage {
  readonly name: string;
  readonly text: string;
  /** HTML that was checked when it was stored; null: the text is all there is. */
  readonly html: string | null;
  readonly files: readonly string[];
  /** When, where it is shown. */
  readonly at?: string | undefined;
}

/** A message as it stands in the two parts of a mail. */
export interface MadeMessage {
  readonly text: string;
  readonly html: string;
}

/** In which language a mail is, and how it words things. */
interface Wording {
  readonly language: string;
  readonly words: MailWords;
}

export interface MailPage extends Wording {
  /** Whether answers come back: the line above which they are written stands on top. */
  readonly answers: boolean;
  /** What the reader has to know of the messages, above them: that some are left out. */
  readonly remarks?: readonly string[] | undefined;
  readonly messages: readonly MadeMessage[];
  readonly signature: string | null;
  /** Why it came; null: the reader asked for it. */
  readonly reason: string | null;
  /** Where the visitor says that no more should come; null: the service does not know its own address. */
  readonly stopUrl: string | null;
}

/** Makes one message out, for both parts: a mail may have hundreds of long ones, between which others are served. */
export function makeMessage(
  { name, text, html, files, at }: ShownMessage,
  { language, words }: Wording,
): MadeMessage {
  const head = at === undefined ? words.wrote(name) : `${name}, ${at}`;
  const foot = files.length === 0 ? null : words.files(files.join(', '));
  const content =
    html === null
      ? `<p style="margin:0">${linesToHtml(text)}</p>`
      : styleHtml(html, rightToLeft.has(language));
  return {
    text: [head, text, ...(foot === null ? [] : [foot])].join('\n\n'),
    html: row(
      `<p style="margin:0 0 4px;${small}">${escapeHtml(head)}</p><div>${content}</div>` +
        (foot === null ? '' : `<p style="margin:4px 0 0;${small}">${escapeHtml(foot)}</p>`),
    ),
  };
}

/** The text part. */
export function mailText(page: MailPage): string {
  const { words, remarks = [], messages, signature, answers, reason, stopUrl } = page;
  const foot = [
    ...(reason === null ? [] : [reason]),
    ...(answers ? [] : [words.notRead]),
    ...(stopUrl === null ? [] : [`${words.stop}: ${stopUrl}`]),
  ];
  return [
    ...(answers ? [`-- ${words.above} --`] : []),
    ...remarks,
    ...messages.map(({ text }) => text),
    ...(signature === null ? [] : [signature]),
    ...(foot.length === 0 ? [] : [`-- \n${foot.join('\n')}`]),
  ]
    .join('\n\n')
    .concat('\n');
}

const rightToLeft = new Set(['ar']);
// Fainter, not grey: no grey can be read on white and on black.
const small = 'font-size:13px;line-height:1.5;opacity:.75';

function row(content: string, style = ''): string {
  return `<tr><td style="padding:0 0 16px;${style}">${content}</td></tr>`;
}

/** The HTML part. */
export function mailHtml(page: MailPage): string {
  const { language, words, remarks = [], messages, signature, answers, reason, stopUrl } = page;
  const isRightToLeft = rightToLeft.has(language);
  const foot = [
    ...(reason === null ? [] : [escapeHtml(reason)]),
    ...(answers ? [] : [escapeHtml(words.notRead)]),
    ...(stopUrl === null
      ? []
      : [`<a href="${escapeHtml(stopUrl)}" style="color:inherit">${escapeHtml(words.stop)}</a>`]),
  ];
  return [
    `<!doctype html><html lang="${language}" dir="${isRightToLeft ? 'rtl' : 'ltr'}"><head>`,
    '<meta charset="utf-8"><meta name="viewport" content="width=device-width">',
    '<meta name="color-scheme" content="light dark"><meta name="supported-color-schemes" content="light dark"></head>',
    '<body style="margin:0;padding:0">',
    // A long address breaks where it must: otherwise a mail is wider than a phone.
    '<table role="presentation" width="100%" cellpadding="0" cellspacing="0" border="0" style="table-layout:fixed">',
    '<tr><td style="padding:24px 16px">',
    '<table role="presentation" width="100%" cellpadding="0" cellspacing="0" border="0" ',
    'style="table-layout:fixed;max-width:600px;overflow-wrap:anywhere;word-break:break-word;font-family:system-ui,-apple-system,Segoe UI,Roboto,Arial,sans-serif;font-size:16px;line-height:1.5">',
    ...(answers ? [row(`-- ${escapeHtml(words.above)} --`, small)] : []),
    ...remarks.map((remark) => row(escapeHtml(remark), small)),
    ...messages.map(({ html }) => html),
    ...(signature === null ? [] : [row(linesToHtml(signature))]),
    ...(foot.length === 0
      ? []
      : [row(foot.join('<br>'), `border-top:1px solid #9ca3af;padding-top:12px;${small}`)]),
    '</table></td></tr></table></body></html>',
  ].join('');
}

/** START stands for the side on which a line begins. */
const styles: Readonly<Record<string, string>> = {
  p: 'margin:0 0 8px',
  ul: 'margin:0 0 8px;padding:0;padding-START:24px',
  ol: 'margin:0 0 8px;padding:0;padding-START:24px',
  pre: 'margin:0 0 8px;padding:8px;border:1px solid #9ca3af;white-space:pre-wrap;font-family:ui-monospace,Menlo,Consolas,monospace;font-size:14px',
  code: 'font-family:ui-monospace,Menlo,Consolas,monospace;font-size:14px',
  blockquote: 'margin:0 0 8px;padding-START:12px;border-START:3px solid #9ca3af',
};

/** Stored HTML with styles on its elements: mail programs read no style sheets. */
function styleHtml(html: string, isRightToLeft: boolean): string {
  const start = isRightToLeft ? 'right' : 'left';
  return html.replace(
    /<(p|ul|ol|pre|code|blockquote)(?=[ >])/g,
    (tag, name: string) => `${tag} style="${(styles[name] ?? '').replaceAll('START', start)}"`,
  );
}

const entities: Readonly<Record<string, string>> = {
  '&amp;': '&',
  '&lt;': '<',
  '&gt;': '>',
  '&quot;': '"',
  '&#39;': "'",
};

/** Stored HTML as text that keeps its lists and says where links lead. It was written here, so its form is known. */
export function storedHtmlToText(html: string): string {
  let number: number | null = null;
  return html
    .replace(/<a [^>]*?href="([^"]*)"[^>]*>(.*?)<\/a>/gs, (_all, href: string, text: string) =>
      text === href || `mailto:${text}` === href ? text : `${text} (${href})`,
    )
    .replace(/<(\/?)(ol|ul|li|p|pre|h[1-6]|br)(?: [^>]*)?>/g, (_tag, end: string, name: string) => {
      if (name === 'ol' || name === 'ul') {
        number = name === 'ol' && end === '' ? 0 : null;
        return end === '' ? '' : '\n';
      }
      if (name === 'li') return end === '' ? (number === null ? '- ' : `${(number += 1)}. `) : '\n';
      return name === 'br' ? '\n' : end === '' ? '' : '\n\n';
    })
    .replace(/<[^>]*>/g, '')
    .replace(/&(?:amp|lt|gt|quot|#39);/g, (entity) => entities[entity] ?? entity)
    .replace(/\n{3,}/g, '\n\n')
    .trim();
}

function linesToHtml(text: string): string {
  return escapeHtml(text).replace(/\r?\n/g, '<br>');
}
