// Owns the widget's words about mail, in all its languages. Beside the panel's words, because the composer needs none of them.
import { languages, type Language } from '../shared/languages.ts';

export interface MailWords {
  /** Behind a message that came by mail. */
  readonly cameByMail: string;
  readonly mailMe: string;
  readonly onItsWay: string;
  readonly refused: string;
}

const words: Readonly<Record<Language, MailWords>> = {
  en: {
    cameByMail: 'by e-mail',
    mailMe: 'Mail me this conversation',
    onItsWay: 'It is on its way to your e-mail address.',
    refused: 'It can’t be mailed: we don’t know your e-mail address, or can’t send to it.',
  },
  ar: {
    cameByMail: 'بالبريد الإلكتروني',
    mailMe: 'أرسلوا لي هذه المحادثة بالبريد',
    onItsWay: 'هي في طريقها إلى بريدك الإلكتروني.',
    refused: 'لا يمكن إرسالها: لا نعرف عنوان بريدك الإلكتروني أو لا يمكننا الإرسال إليه.',
  },
  de: {
    cameByMail: 'per E-Mail',
    mailMe: 'Dieses Gespräch an mich mailen',
    onItsWay: 'Es ist unterwegs an Ihre E-Mail-Adresse.',
    refused:
      'Es lässt sich nicht mailen: Wir kennen Ihre E-Mail-Adresse nicht oder können nichts dorthin senden.',
  },
  es: {
    cameByMail: 'por correo',
    mailMe: 'Enviarme esta conversación por correo',
    onItsWay: 'Va camino de su dirección de correo.',
    refused: 'No se puede enviar: no conocemos su dirección de correo o no podemos enviar nada a ella.',
  },
  fr: {
    cameByMail: 'par e-mail',
    mailMe: 'M’envoyer cette conversation par mail',
    onItsWay: 'Elle est en route vers votre adresse e-mail.',
    refused: 'Envoi impossible : nous ne connaissons pas votre adresse e-mail ou ne pouvons rien y envoyer.',
  },
  it: {
    cameByMail: 'via e-mail',
    mailMe: 'Inviatemi questa conversazione via mail',
    onItsWay: 'È in viaggio verso il suo indirizzo e-mail.',
    refused: 'Non si può inviare: non conosciamo il suo indirizzo e-mail o non possiamo inviarvi nulla.',
  },
  nl: {
    cameByMail: 'per e-mail',
    mailMe: 'Mail mij dit gesprek',
    onItsWay: 'Het is onderweg naar uw e-mailadres.',
    refused: 'Mailen kan niet: we kennen uw e-mailadres niet of kunnen er niets naartoe sturen.',
  },
  pl: {
    cameByMail: 'e-mailem',
    mailMe: 'Wyślij mi tę rozmowę e-mailem',
    onItsWay: 'Jest w drodze na Twój adres e-mail.',
    refused: 'Nie można wysłać: nie znamy Twojego adresu e-mail albo nie możemy na niego wysyłać.',
  },
  pt: {
    cameByMail: 'por e-mail',
    mailMe: 'Enviar-me esta conversa por e-mail',
    onItsWay: 'Vai a caminho do seu endereço de e-mail.',
    refused: 'Não é possível enviar: não conhecemos o seu endereço de e-mail ou não podemos enviar para lá.',
  },
};

/** @param tag the language that the panel speaks */
export function mailWords(tag: string): MailWords {
  const language = languages.find((one) => one === tag.split('-')[0]);
  return words[language ?? 'en'];
}
