// The fixed sentences of mails to visitors, in the languages of the widget. Words only.
import { languageOf, type Language } from '../assistant/phrases.ts';

export interface MailWords {
  /** Stands above everything; an answer ends before it. */
  readonly above: string;
  readonly subject: (team: string) => string;
  readonly wrote: (name: string) => string;
  /** Why the mail came. */
  readonly reason: (team: string) => string;
  /** Where answers reach no one. */
  readonly notRead: string;
  readonly stop: string;
  readonly transcript: (team: string) => string;
  readonly you: string;
  /** One without a name. */
  readonly visitor: string;
  /** To an address that was not proven: the visitor's own messages are not in a transcript. */
  readonly ownLeftOut: string;
  readonly olderLeftOut: (most: number) => string;
  readonly files: (names: string) => string;
  /** Said on the page behind the link. */
  readonly stopped: string;
}

const words: Readonly<Record<Language, MailWords>> = {
  en: {
    above: 'Write your answer above this line',
    subject: (team) => `New message from ${team}`,
    wrote: (name) => `${name} wrote:`,
    reason: (team) =>
      `You receive this mail because you wrote to ${team} and the answer came after you left.`,
    notRead: 'Answers to this mail are not read.',
    stop: "No more mails, or that wasn't me",
    transcript: (team) => `Your conversation with ${team}`,
    you: 'You',
    visitor: 'Visitor',
    ownLeftOut: 'Your own messages are left out: this address has not been verified.',
    olderLeftOut: (most) => `Older messages are left out: the conversation has more than ${most}.`,
    files: (names) => `Files: ${names}`,
    stopped: 'No more mails will come.',
  },
  de: {
    above: 'Schreiben Sie Ihre Antwort über diese Zeile',
    subject: (team) => `Neue Nachricht von ${team}`,
    wrote: (name) => `${name} schrieb:`,
    reason: (team) =>
      `Sie erhalten diese Mail, weil Sie ${team} geschrieben haben und die Antwort kam, als Sie schon gegangen waren.`,
    notRead: 'Antworten auf diese Mail werden nicht gelesen.',
    stop: 'Keine Mails mehr, oder das war ich nicht',
    transcript: (team) => `Ihr Gespräch mit ${team}`,
    you: 'Sie',
    visitor: 'Besucher',
    ownLeftOut: 'Ihre eigenen Nachrichten fehlen hier: Diese Adresse wurde nicht bestätigt.',
    olderLeftOut: (most) => `Ältere Nachrichten fehlen hier: Das Gespräch hat mehr als ${most}.`,
    files: (names) => `Dateien: ${names}`,
    stopped: 'Es kommen keine Mails mehr.',
  },
  fr: {
    above: 'Écrivez votre réponse au-dessus de cette ligne',
    subject: (team) => `Nouveau message de ${team}`,
    wrote: (name) => `${name} a écrit :`,
    reason: (team) =>
      `Vous recevez ce mail parce que vous avez écrit à ${team} et que la réponse est arrivée après votre départ.`,
    notRead: 'Les réponses à ce mail ne sont pas lues.',
    stop: "Plus de mails, ou ce n'était pas moi",
    transcript: (team) => `Votre conversation avec ${team}`,
    you: 'Vous',
    visitor: 'Visiteur',
    ownLeftOut: "Vos propres messages n'y figurent pas : cette adresse n'a pas été vérifiée.",
    olderLeftOut: (most) =>
      `Les messages plus anciens n'y figurent pas : la conversation en compte plus de ${most}.`,
    files: (names) => `Fichiers : ${names}`,
    stopped: 'Vous ne recevrez plus de mails.',
  },
  es: {
    above: 'Escriba su respuesta encima de esta línea',
    subject: (team) => `Nuevo mensaje de ${team}`,
    wrote: (name) => `${name} escribió:`,
    reason: (team) =>
      `Recibe este correo porque escribió a ${team} y la respuesta llegó cuando ya se había ido.`,
    notRead: 'Las respuestas a este correo no se leen.',
    stop: 'No más correos, o no fui yo',
    transcript: (team) => `Su conversación con ${team}`,
    you: 'Usted',
    visitor: 'Visitante',
    ownLeftOut: 'Sus propios mensajes no se incluyen: esta dirección no se ha verificado.',
    olderLeftOut: (most) => `Los mensajes más antiguos no se incluyen: la conversación tiene más de ${most}.`,
    files: (names) => `Archivos: ${names}`,
    stopped: 'No llegarán más correos.',
  },
  it: {
    above: 'Scriva la sua risposta sopra questa riga',
    subject: (team) => `Nuovo messaggio da ${team}`,
    wrote: (name) => `${name} ha scritto:`,
    reason: (team) =>
      `Riceve questa mail perché ha scritto a ${team} e la risposta è arrivata quando era già andato via.`,
    notRead: 'Le risposte a questa mail non vengono lette.',
    stop: 'Basta mail, o non sono stato io',
    transcript: (team) => `La sua conversazione con ${team}`,
    you: 'Lei',
    visitor: 'Visitatore',
    ownLeftOut: 'I suoi messaggi non sono inclusi: questo indirizzo non è stato verificato.',
    olderLeftOut: (most) => `I messaggi più vecchi non sono inclusi: la conversazione ne ha più di ${most}.`,
    files: (names) => `File: ${names}`,
    stopped: 'Non arriveranno altre mail.',
  },
  nl: {
    above: 'Schrijf uw antwoord boven deze regel',
    subject: (team) => `Nieuw bericht van ${team}`,
    wrote: (name) => `${name} schreef:`,
    reason: (team) =>
      `U ontvangt deze mail omdat u ${team} hebt geschreven en het antwoord kwam toen u al weg was.`,
    notRead: 'Antwoorden op deze mail worden niet gelezen.',
    stop: 'Geen mails meer, of dat was ik niet',
    transcript: (team) => `Uw gesprek met ${team}`,
    you: 'U',
    visitor: 'Bezoeker',
    ownLeftOut: 'Uw eigen berichten staan hier niet in: dit adres is niet geverifieerd.',
    olderLeftOut: (most) => `Oudere berichten staan hier niet in: het gesprek heeft er meer dan ${most}.`,
    files: (names) => `Bestanden: ${names}`,
    stopped: 'Er komen geen mails meer.',
  },
  pl: {
    above: 'Napisz odpowiedź powyżej tej linii',
    subject: (team) => `Nowa wiadomość od ${team}`,
    wrote: (name) => `${name}:`,
    reason: (team) =>
      `Ten mail przyszedł, ponieważ rozmowa z ${team} trwała dalej, a odpowiedź nadeszła później.`,
    notRead: 'Odpowiedzi na ten mail nie są czytane.',
    stop: 'Nie chcę więcej maili albo to nie byłem ja',
    transcript: (team) => `Twoja rozmowa z ${team}`,
    you: 'Ty',
    visitor: 'Odwiedzający',
    ownLeftOut: 'Twoje własne wiadomości zostały pominięte: ten adres nie został potwierdzony.',
    olderLeftOut: (most) => `Starsze wiadomości zostały pominięte: rozmowa ma ich więcej niż ${most}.`,
    files: (names) => `Pliki: ${names}`,
    stopped: 'Nie przyjdzie więcej maili.',
  },
  pt: {
    above: 'Escreva a sua resposta acima desta linha',
    subject: (team) => `Nova mensagem de ${team}`,
    wrote: (name) => `${name} escreveu:`,
    reason: (team) => `Recebe este e-mail porque escreveu a ${team} e a resposta chegou depois de ter saído.`,
    notRead: 'As respostas a este e-mail não são lidas.',
    stop: 'Não quero mais e-mails, ou não fui eu',
    transcript: (team) => `A sua conversa com ${team}`,
    you: 'Você',
    visitor: 'Visitante',
    ownLeftOut: 'As suas próprias mensagens não estão incluídas: este endereço não foi verificado.',
    olderLeftOut: (most) => `As mensagens mais antigas não estão incluídas: a conversa tem mais de ${most}.`,
    files: (names) => `Ficheiros: ${names}`,
    stopped: 'Não chegarão mais e-mails.',
  },
  ar: {
    above: 'اكتب ردك فوق هذا السطر',
    subject: (team) => `رسالة جديدة من ${team}`,
    wrote: (name) => `كتب ${name}:`,
    reason: (team) => `وصلتك هذه الرسالة لأنك كتبت إلى ${team} وجاء الرد بعد مغادرتك.`,
    notRead: 'لا تُقرأ الردود على هذه الرسالة.',
    stop: 'لا أريد رسائل أخرى، أو لم أكن أنا',
    transcript: (team) => `محادثتك مع ${team}`,
    you: 'أنت',
    visitor: 'زائر',
    ownLeftOut: 'لا تظهر رسائلك هنا: لم يُتحقق من هذا العنوان.',
    olderLeftOut: (most) => `لا تظهر الرسائل الأقدم هنا: في المحادثة أكثر من ${most}.`,
    files: (names) => `الملفات: ${names}`,
    stopped: 'لن تصلك رسائل أخرى.',
  },
};

/** The words in a visitor's language, and which one it is. @param text what they wrote */
export function mailWords(
  locale: string | null,
  text: string,
): { readonly words: MailWords; readonly language: Language } {
  const language = languageOf(locale, text);
  return { words: words[language], language };
}

/** The line above which answers are written, in every language: where it is quoted, the answer is over. */
export const aboveLines: readonly string[] = Object.values(words).map(({ above }) => above);
