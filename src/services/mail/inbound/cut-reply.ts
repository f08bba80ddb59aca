// What a person wrote in an answer by mail, without what their program quoted below it. Pure functions on text.
import EmailReplyParser from 'email-reply-parser';
import { aboveLines } from '../mail-words.ts';

/** What mail programs write above a quotation, in the languages that the library's table does not reach. */
const quoteHeads: readonly RegExp[] = [
  // Any line that ends in a colon and holds one of our reply addresses.
  /^.{0,300}\+[a-z2-7]{26}\.[a-z2-7]{16}@.{0,200}[:：]?\s*$/im,
  /^[-_–—]{3,} ?(?:original message|ursprüngliche nachricht|originalnachricht|message d'origine|message original|mensaje original|messaggio originale|oorspronkelijk bericht|wiadomość oryginalna|oryginalna wiadomość|mensagem original|الرسالة الأصلية|исходное сообщение|元のメッセージ|원본 메시지|原始邮件|původní zpráva|ursprungligt meddelande|oprindelig meddelelse|alkuperäinen viesti) ?[-_–—]{2,}\s*$/im,
  /^_{20,}\s*$/m,
  // Japanese, Chinese, Korean, Russian, Turkish, Czech, Nordic: "on a day a person wrote:".
  /^\d{4}年\d{1,2}月\d{1,2}日.{0,200}[:：]\s*$/m,
  /^.{0,160}(?:さんは書きました|のメール|写道|寫道)[:：]?\s*$/m,
  /^\d{4}년 \d{1,2}월 \d{1,2}일.{0,200}[:：]\s*$/m,
  /^.{0,200}(?:님이 작성|пишет|писал\(а\)|написал|napsal\(a\)|napsal|skrev|schrieb|schreef|wrote|a écrit|ha scritto|escribió|escreveu|napisał\(a\)|napisał|şunu yazdı|yazdı|kirjoitti|كتب)[^:\n]{0,160} ?[:：]\s*$/im,
  /^(?:On|Am|Le|El|Il|Op|Em|W dniu|Dnia|Den|Dne|Le)\b.{5,160}(?:\n.{0,160})?(?:wrote|schrieb|a écrit|escribió|ha scritto|schreef|escreveu|pisze|napisał\(?a?\)?|skrev|napsal) ?[^:\n]{0,100}[:：]\s*$/im,
  // Outlook's block of headers.
  /^\*?(?:From|Von|De|Da|Van|Od|Fra|Från|Lähettäjä|От|差出人|发件人|보낸 사람|من)\*? ?[:：].{1,200}\n(?:.{0,200}\n){0,2}?\*?(?:Sent|Gesendet|Date|Datum|Envoyé|Enviado(?: el)?|Inviato|Data|Verzonden|Wysłano|Sendt|Skickat|Lähetetty|Дата|Отправлено|送信日時|日時|发送时间|日期|보낸 날짜|تاريخ الإرسال|التاريخ)[^:：\n]{0,20} ?[:：]/im,
];

/** Signatures that telephones add by themselves. */
const deviceLine =
  /^(?:sent from my |sent (?:with|from) (?:proton|yahoo|outlook|mail for windows)|von meinem .{1,40} gesendet|gesendet mit |envoyé (?:de|depuis) mon |enviado desde mi |inviato (?:da|dal) (?:mio )?|verzonden vanaf mijn |wysłane z |enviado do meu |get outlook for |outlook für .{1,20} beziehen|skickat från min |sendt fra min |отправлено с |iphoneから送信|发自我的).{0,80}$/im;

/** The part of an answer that its author wrote. An answer that is nothing but quotation is empty. */
export function cutReply(text: string): string {
  const plain = closeGaps(text.replace(/\r\n?/g, '\n').replace(/[\u200b\ufeff]/g, ''));
  const above = cutAtLine(plain);
  const headed = cutAtHead(above);
  const visible = new EmailReplyParser().parseReply(headed);
  return cutSignature(withoutTrailingQuotes(visible)).trim();
}

/** One empty line in the place of many, with blanks or without: the patterns take their time over long runs of them. */
function closeGaps(text: string): string {
  const lines = text.split('\n');
  const isEmpty = (line: string | undefined): boolean => line?.trim() === '';
  return lines.filter((line, at) => !isEmpty(line) || !isEmpty(lines[at - 1])).join('\n');
}

/** Our own line above which answers are written, however it is quoted: it and what follows is ours. */
function cutAtLine(text: string): string {
  let end = text.length;
  for (const line of aboveLines) {
    const at = text.indexOf(line);
    if (at >= 0 && at < end) end = text.lastIndexOf('\n', at) + 1;
  }
  return text.slice(0, end);
}

function cutAtHead(text: string): string {
  let end = text.length;
  for (const head of quoteHeads) {
    const found = head.exec(text);
    if (found !== null && found.index < end) end = found.index;
  }
  return text.slice(0, end);
}

function withoutTrailingQuotes(text: string): string {
  const lines = text.split('\n');
  while (lines.length > 0 && /^\s*(?:>.*)?$/.test(lines.at(-1) ?? '')) lines.pop();
  return lines.join('\n');
}

function cutSignature(text: string): string {
  const signature = /^-- ?$/m.exec(text);
  const own = signature === null ? text : text.slice(0, signature.index);
  const device = deviceLine.exec(own);
  return device === null || own.slice(device.index + device[0].length).trim() !== ''
    ? own
    : own.slice(0, device.index);
}
