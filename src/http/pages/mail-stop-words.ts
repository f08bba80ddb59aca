// The words of the page that ends mails, in the languages of the widget. Words only.

export const mailStopLanguages = ['en', 'ar', 'de', 'es', 'fr', 'it', 'nl', 'pl', 'pt'] as const;
export type MailStopLanguage = (typeof mailStopLanguages)[number];

export interface MailStopWords {
  readonly question: string;
  readonly conversation: string;
  readonly address: string;
  /** After the end of all mails to an address. */
  readonly done: string;
  readonly doneConversation: string;
  readonly close: string;
  readonly gone: string;
}

export const mailStopWords: Readonly<Record<MailStopLanguage, MailStopWords>> = {
  en: {
    question: 'No more mails?',
    conversation: 'No more mails of this conversation',
    address: "That wasn't me: no mails to my address at all",
    done: 'No more mails will come.',
    doneConversation: 'No more mails of this conversation will come.',
    close: 'You can close this page.',
    gone: 'This link is not valid any more.',
  },
  ar: {
    question: 'لا مزيد من الرسائل؟',
    conversation: 'لا مزيد من رسائل هذه المحادثة',
    address: 'لم أكن أنا: لا رسائل إلى عنواني إطلاقًا',
    done: 'لن تصلك رسائل أخرى.',
    doneConversation: 'لن تصلك رسائل أخرى من هذه المحادثة.',
    close: 'يمكنك إغلاق هذه الصفحة.',
    gone: 'لم يعد هذا الرابط صالحًا.',
  },
  de: {
    question: 'Keine Mails mehr?',
    conversation: 'Keine Mails mehr zu diesem Gespräch',
    address: 'Das war ich nicht: gar keine Mails an meine Adresse',
    done: 'Es kommen keine Mails mehr.',
    doneConversation: 'Zu diesem Gespräch kommen keine Mails mehr.',
    close: 'Sie können diese Seite schließen.',
    gone: 'Dieser Link gilt nicht mehr.',
  },
  es: {
    question: '¿No más correos?',
    conversation: 'No más correos de esta conversación',
    address: 'No fui yo: ningún correo a mi dirección',
    done: 'No llegarán más correos.',
    doneConversation: 'No llegarán más correos de esta conversación.',
    close: 'Puede cerrar esta página.',
    gone: 'Este enlace ya no es válido.',
  },
  fr: {
    question: 'Plus de mails ?',
    conversation: 'Plus de mails de cette conversation',
    address: "Ce n'était pas moi : aucun mail à mon adresse",
    done: 'Vous ne recevrez plus de mails.',
    doneConversation: 'Vous ne recevrez plus de mails de cette conversation.',
    close: 'Vous pouvez fermer cette page.',
    gone: "Ce lien n'est plus valable.",
  },
  it: {
    question: 'Basta mail?',
    conversation: 'Basta mail di questa conversazione',
    address: 'Non sono stato io: nessuna mail al mio indirizzo',
    done: 'Non arriveranno altre mail.',
    doneConversation: 'Non arriveranno altre mail di questa conversazione.',
    close: 'Può chiudere questa pagina.',
    gone: 'Questo link non è più valido.',
  },
  nl: {
    question: 'Geen mails meer?',
    conversation: 'Geen mails meer van dit gesprek',
    address: 'Dat was ik niet: helemaal geen mails naar mijn adres',
    done: 'Er komen geen mails meer.',
    doneConversation: 'Er komen geen mails meer van dit gesprek.',
    close: 'U kunt deze pagina sluiten.',
    gone: 'Deze link is niet meer geldig.',
  },
  pl: {
    question: 'Nie przysyłać więcej maili?',
    conversation: 'Żadnych maili z tej rozmowy',
    address: 'To nie byłem ja: żadnych maili na mój adres',
    done: 'Nie przyjdzie więcej maili.',
    doneConversation: 'Nie przyjdzie więcej maili z tej rozmowy.',
    close: 'Można zamknąć tę stronę.',
    gone: 'Ten link nie jest już ważny.',
  },
  pt: {
    question: 'Não quer mais e-mails?',
    conversation: 'Não quero mais e-mails desta conversa',
    address: 'Não fui eu: nenhum e-mail para o meu endereço',
    done: 'Não chegarão mais e-mails.',
    doneConversation: 'Não chegarão mais e-mails desta conversa.',
    close: 'Pode fechar esta página.',
    gone: 'Esta ligação já não é válida.',
  },
};
