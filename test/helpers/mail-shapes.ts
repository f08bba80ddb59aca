// Answers by mail in the shapes that mail programs give them, written for the tests: who wrote them is made up. `quote` is
// what the program puts under (or over) the answer; ADDRESS stands for the reply address.
export interface MailShape {
  readonly name: string;
  /** What the person wrote: what must be left. */
  readonly answer: string;
  /** The text part. */
  readonly text?: string;
  /** The HTML part, where there is no text. */
  readonly html?: string;
  readonly encoding?: 'quoted-printable' | 'base64' | '8bit';
  readonly charset?: 'utf-8' | 'iso-8859-1' | 'utf-16le';
}

const ours = (above: string): string[] => [
  `-- ${above} --`,
  '',
  'Olivia wrote:',
  '',
  'It is on its way.',
  '',
  '-- ',
  'You receive this mail because you wrote to acme.',
];
const quoted = (above: string): string =>
  ours(above)
    .map((line) => `> ${line}`.trimEnd())
    .join('\n');
const en = 'Write your answer above this line';
const de = 'Schreiben Sie Ihre Antwort über diese Zeile';

const gmail = (name: string, answer: string, head: string, above: string): MailShape => ({
  name: `Gmail, ${name}`,
  answer,
  text: `${answer}\n\n${head}\n\n${quoted(above)}`,
});

export const mailShapes: readonly MailShape[] = [
  gmail(
    'English',
    'Thanks!\n\nWhen does it come?',
    'On Mon, Nov 23, 2026 at 12:00 PM acme <ADDRESS> wrote:',
    en,
  ),
  gmail(
    'English, head in two lines',
    'Yes please.',
    'On Mon, Nov 23, 2026 at 12:00 PM acme\n<ADDRESS> wrote:',
    en,
  ),
  gmail('German', 'Danke, das hilft.', 'Am Mo., 23. Nov. 2026 um 12:00 Uhr schrieb acme <ADDRESS>:', de),
  gmail(
    'French',
    'Merci bien.',
    'Le lun. 23 nov. 2026 à 12:00, acme <ADDRESS> a écrit :',
    'Écrivez votre réponse au-dessus de cette ligne',
  ),
  gmail(
    'Spanish',
    'Gracias.',
    'El lun, 23 nov 2026 a las 12:00, acme (<ADDRESS>) escribió:',
    'Escriba su respuesta encima de esta línea',
  ),
  gmail(
    'Italian',
    'Grazie mille.',
    'Il giorno lun 23 nov 2026 alle ore 12:00 acme <ADDRESS> ha scritto:',
    'Scriva la sua risposta sopra questa riga',
  ),
  gmail(
    'Dutch',
    'Bedankt.',
    'Op ma 23 nov 2026 om 12:00 schreef acme <ADDRESS>:',
    'Schrijf uw antwoord boven deze regel',
  ),
  gmail(
    'Polish',
    'Dziękuję.',
    'pon., 23 lis 2026 o 12:00 acme <ADDRESS> napisał(a):',
    'Napisz odpowiedź powyżej tej linii',
  ),
  gmail(
    'Portuguese',
    'Obrigado.',
    'Em seg., 23 de nov. de 2026 às 12:00, acme <ADDRESS> escreveu:',
    'Escreva a sua resposta acima desta linha',
  ),
  gmail(
    'Arabic',
    'شكرا جزيلا',
    'في الاثنين، 23 نوفمبر 2026 في 12:00 م تمت كتابة ما يلي بواسطة acme <ADDRESS>:',
    'اكتب ردك فوق هذا السطر',
  ),
  gmail('Japanese', 'ありがとうございます。', '2026年11月23日(月) 12:00 acme <ADDRESS>:', en),
  gmail('Chinese', '谢谢。', 'acme <ADDRESS> 于2026年11月23日周一 12:00写道：', en),
  gmail('Korean', '감사합니다.', '2026년 11월 23일 (월) 오후 12:00, acme <ADDRESS>님이 작성:', en),
  gmail('Russian', 'Спасибо.', 'пн, 23 нояб. 2026 г. в 12:00, acme <ADDRESS>:', en),
  gmail('Turkish', 'Teşekkürler.', 'acme <ADDRESS>, 23 Kas 2026 Pzt, 12:00 tarihinde şunu yazdı:', en),
  // Programs that quote without our line in it.
  {
    name: 'Apple Mail, English, only what it answers',
    answer: 'It has come.\nAll is well.',
    text: 'It has come.\nAll is well.\n\n> On 23 Nov 2026, at 12:00, acme <ADDRESS> wrote:\n> \n> It is on its way.\n',
  },
  {
    name: 'Apple Mail, German',
    answer: 'Es ist da.',
    text: 'Es ist da.\n\n> Am 23.11.2026 um 12:00 schrieb acme <ADDRESS>:\n> \n> Es ist unterwegs.\n',
  },
  {
    name: 'iPhone, English',
    answer: 'Got it',
    text: 'Got it\n\nSent from my iPhone\n\n> On 23 Nov 2026, at 12:00, acme <ADDRESS> wrote:\n> \n> ﻿It is on its way.\n',
  },
  {
    name: 'iPhone, German',
    answer: 'Passt',
    text: 'Passt\n\nVon meinem iPhone gesendet\n\n> Am 23.11.2026 um 12:00 schrieb acme <ADDRESS>:\n> \n> Es ist unterwegs.\n',
  },
  {
    name: 'iPhone, French, without a quotation',
    answer: 'Parfait',
    text: 'Parfait\n\nEnvoyé de mon iPhone\n',
  },
  {
    name: 'Outlook, English',
    answer: 'Where is it now?',
    text: `Where is it now?\n\n________________________________\nFrom: acme <ADDRESS>\nSent: Monday, November 23, 2026 12:00 PM\nTo: Rosa <rosa@example.net>\nSubject: New message from acme\n\n${ours(en).join('\n')}`,
  },
  {
    name: 'Outlook, English, without a line',
    answer: 'Where is it now?',
    text: 'Where is it now?\n\nFrom: acme <ADDRESS>\nSent: Monday, November 23, 2026 12:00 PM\nTo: Rosa <rosa@example.net>\nSubject: New message from acme\n\nIt is on its way.',
  },
  {
    name: 'Outlook, German',
    answer: 'Wo ist es jetzt?',
    text: 'Wo ist es jetzt?\n\nVon: acme <ADDRESS>\nGesendet: Montag, 23. November 2026 12:00\nAn: Rosa <rosa@example.net>\nBetreff: Neue Nachricht\n\nEs ist unterwegs.',
  },
  {
    name: 'Outlook, French',
    answer: 'Où est-il ?',
    text: 'Où est-il ?\n\nDe : acme <ADDRESS>\nEnvoyé : lundi 23 novembre 2026 12:00\nÀ : Rosa <rosa@example.net>\nObjet : Nouveau message\n\nIl est en route.',
  },
  {
    name: 'Outlook, Spanish',
    answer: '¿Dónde está?',
    text: '¿Dónde está?\n\nDe: acme <ADDRESS>\nEnviado el: lunes, 23 de noviembre de 2026 12:00\nPara: Rosa <rosa@example.net>\nAsunto: Nuevo mensaje\n\nEstá en camino.',
  },
  {
    name: 'Outlook, old, English',
    answer: 'Thank you',
    text: 'Thank you\n\n-----Original Message-----\nFrom: acme [mailto:ADDRESS]\nSent: Monday, November 23, 2026 12:00 PM\nTo: Rosa\nSubject: hello\n\nIt is on its way.',
  },
  {
    name: 'Outlook, old, German',
    answer: 'Vielen Dank',
    text: 'Vielen Dank\n\n-----Ursprüngliche Nachricht-----\nVon: acme [mailto:ADDRESS]\nGesendet: Montag, 23. November 2026 12:00\nAn: Rosa\nBetreff: Hallo\n\nEs ist unterwegs.',
  },
  {
    name: 'Outlook for iOS',
    answer: 'Fine with me',
    text: 'Fine with me\n\nGet Outlook for iOS<https://aka.ms/o0ukef>\n________________________________\nFrom: acme <ADDRESS>\nSent: Monday, November 23, 2026 12:00:00 PM\nTo: Rosa <rosa@example.net>\nSubject: hello\n\nIt is on its way.',
  },
  {
    name: 'Outlook, Japanese',
    answer: '届きました。',
    text: '届きました。\n\n差出人: acme <ADDRESS>\n送信日時: 2026年11月23日 12:00\n宛先: Rosa <rosa@example.net>\n件名: hello\n\nIt is on its way.',
  },
  {
    name: 'Thunderbird, English, with a signature',
    answer: 'Tomorrow is fine.',
    text: `Tomorrow is fine.\n\nOn 11/23/26 12:00, acme wrote:\n${quoted(en)}\n\n-- \nRosa Ruiz\n+34 600 000 000`,
  },
  {
    name: 'Thunderbird, signature over the quotation',
    answer: 'Tomorrow is fine.',
    text: `Tomorrow is fine.\n\n-- \nRosa Ruiz\n\nOn 11/23/26 12:00, acme wrote:\n${quoted(en)}`,
  },
  {
    name: 'Yahoo',
    answer: 'No, thank you.',
    text: `No, thank you.\n\n    On Monday, November 23, 2026 at 12:00:00 PM GMT+1, acme <ADDRESS> wrote:  \n \n ${ours(en).join('\n ')}`,
  },
  {
    name: 'Proton Mail',
    answer: 'I see.',
    text: `I see.\n\nSent with Proton Mail secure email.\n\nOn Monday, November 23rd, 2026 at 12:00, acme <ADDRESS> wrote:\n\n${quoted(en)}`,
  },
  {
    name: 'Samsung Mail, HTML only',
    answer: 'Yes, at noon.\nThank you!',
    html: `<html><body><div dir="auto">Yes, at noon.</div><div dir="auto">Thank you!</div><div><br></div><div style="font-size:100%"><!-- originalMessage --><div>-------- Original message --------</div><div>From: acme &lt;ADDRESS&gt; </div><div>Date: 23/11/2026  12:00  (GMT+01:00) </div><div>To: rosa@example.net </div><div>Subject: hello </div></div><p>-- ${en} --</p><p>It is on its way.</p></body></html>`,
  },
  {
    name: 'Gmail, HTML only',
    answer: 'Two things:\n- one\n- two',
    html: `<div dir="ltr">Two things:<br><ul><li>one</li><li>two</li></ul></div><br><div class="gmail_quote"><div class="gmail_attr">On Mon, Nov 23, 2026 at 12:00 acme &lt;<a href="mailto:ADDRESS">ADDRESS</a>&gt; wrote:<br></div><blockquote><p>-- ${en} --</p><img src="https://track.example/x.gif">It is on its way.</blockquote></div>`,
  },
  {
    name: 'quoted-printable with umlauts',
    answer:
      'Schöne Grüße aus Köln – das Päckchen ist da, und ich habe eine sehr lange Zeile geschrieben, die umbrochen wird.',
    encoding: 'quoted-printable',
    text: `Schöne Grüße aus Köln – das Päckchen ist da, und ich habe eine sehr lange Zeile geschrieben, die umbrochen wird.\n\nAm 23.11.26 um 12:00 schrieb acme:\n${quoted(de)}`,
  },
  {
    name: 'base64',
    answer: 'Привет, всё хорошо.',
    encoding: 'base64',
    text: `Привет, всё хорошо.\n\n23.11.2026, 12:00, acme <ADDRESS> пишет:\n${quoted(en)}`,
  },
  {
    name: 'Latin-1',
    answer: 'Ça va très bien, merci.',
    charset: 'iso-8859-1',
    encoding: 'quoted-printable',
    text: 'Ça va très bien, merci.\n\nLe 23/11/2026 à 12:00, acme <ADDRESS> a écrit :\n> Il est en route.',
  },
  { name: 'an answer under the quotation', answer: 'Under it.', text: '> It is on its way.\n\nUnder it.' },
  {
    name: 'no quotation, two paragraphs and a colon',
    answer: 'Here is what I need:\n\n1. a box\n2. a label',
    text: 'Here is what I need:\n\n1. a box\n2. a label',
  },
  {
    name: 'Swedish',
    answer: 'Tack så mycket.',
    text: `Tack så mycket.\n\nDen mån 23 nov. 2026 12:00 acme <ADDRESS> skrev:\n\n${quoted(en)}`,
  },
];
