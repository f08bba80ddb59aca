// What members are told, in the nine languages of dashboard and widget: short sentences for pushes and e-mails. Names and
// messages are put in as they are; what shows them takes plain text.

const english = {
  waiting: 'A visitor is waiting',
  message: 'New message',
  assigned: '{name} has given you a conversation',
  mention: '{name} mentioned you in a note',
  due: 'The time of a snoozed conversation has come',
  escalated: 'A visitor has been waiting for {minutes} min',
  unread: '{count} unread messages',
  test: 'Notifications work',
  testBody: 'This is how Deskbell tells you of a message.',
  open: 'Open the conversation:',
  choose: 'Choose what you are told of:',
  resetSubject: 'A new password for {organization}',
  resetBody:
    'A new password was asked for {email} at {organization}. This link sets one, once, within an hour:',
  resetIgnore: 'If that was not you, do nothing: your password stays.',
} as const;

/** A sentence. */
export type TextKey = keyof typeof english;
type Texts = Readonly<Record<TextKey, string>>;

const texts: Readonly<Record<string, Texts>> = {
  en: english,
  ar: {
    waiting: 'هناك زائر ينتظر',
    message: 'رسالة جديدة',
    assigned: 'أسند إليك {name} محادثة',
    mention: 'ذكرك {name} في ملاحظة',
    due: 'حان وقت محادثة مؤجلة',
    escalated: 'زائر ينتظر منذ {minutes} دقيقة',
    unread: 'رسائل غير مقروءة: {count}',
    test: 'الإشعارات تعمل',
    testBody: 'هكذا يخبرك Deskbell برسالة.',
    open: 'افتح المحادثة:',
    choose: 'اختر ما تُبلَّغ به:',
    resetSubject: 'كلمة مرور جديدة لـ {organization}',
    resetBody:
      'طُلبت كلمة مرور جديدة لـ {email} لدى {organization}. يعيّن هذا الرابط واحدة، مرة واحدة، خلال ساعة:',
    resetIgnore: 'إن لم تكن أنت من طلبها فلا تفعل شيئًا: تبقى كلمة مرورك كما هي.',
  },
  de: {
    waiting: 'Ein Besucher wartet',
    message: 'Neue Nachricht',
    assigned: '{name} hat Ihnen ein Gespräch übergeben',
    mention: '{name} hat Sie in einer Notiz erwähnt',
    due: 'Ein zurückgestelltes Gespräch ist wieder dran',
    escalated: 'Ein Besucher wartet seit {minutes} Min.',
    unread: '{count} ungelesene Nachrichten',
    test: 'Benachrichtigungen funktionieren',
    testBody: 'So meldet Deskbell eine Nachricht.',
    open: 'Gespräch öffnen:',
    choose: 'Wählen, was gemeldet wird:',
    resetSubject: 'Ein neues Passwort für {organization}',
    resetBody:
      'Für {email} bei {organization} wurde ein neues Passwort angefordert. Dieser Link setzt eines, einmal, innerhalb einer Stunde:',
    resetIgnore: 'Wenn Sie das nicht waren, tun Sie nichts: Ihr Passwort bleibt.',
  },
  es: {
    waiting: 'Un visitante está esperando',
    message: 'Mensaje nuevo',
    assigned: '{name} te ha pasado una conversación',
    mention: '{name} te ha mencionado en una nota',
    due: 'Ha llegado la hora de una conversación pospuesta',
    escalated: 'Un visitante lleva {minutes} min esperando',
    unread: '{count} mensajes sin leer',
    test: 'Las notificaciones funcionan',
    testBody: 'Así te avisa Deskbell de un mensaje.',
    open: 'Abrir la conversación:',
    choose: 'Elige de qué se te avisa:',
    resetSubject: 'Una contraseña nueva para {organization}',
    resetBody:
      'Se ha pedido una contraseña nueva para {email} en {organization}. Este enlace la establece, una sola vez, durante una hora:',
    resetIgnore: 'Si no has sido tú, no hagas nada: tu contraseña no cambia.',
  },
  fr: {
    waiting: 'Un visiteur attend',
    message: 'Nouveau message',
    assigned: '{name} vous a confié une conversation',
    mention: '{name} vous a mentionné dans une note',
    due: 'Une conversation mise en attente est de retour',
    escalated: 'Un visiteur attend depuis {minutes} min',
    unread: '{count} messages non lus',
    test: 'Les notifications fonctionnent',
    testBody: 'Voici comment Deskbell vous signale un message.',
    open: 'Ouvrir la conversation :',
    choose: 'Choisir ce qui vous est signalé :',
    resetSubject: 'Un nouveau mot de passe pour {organization}',
    resetBody:
      'Un nouveau mot de passe a été demandé pour {email} chez {organization}. Ce lien en définit un, une seule fois, pendant une heure :',
    resetIgnore: 'Si ce n’était pas vous, ne faites rien : votre mot de passe reste le même.',
  },
  it: {
    waiting: 'Un visitatore sta aspettando',
    message: 'Nuovo messaggio',
    assigned: '{name} ti ha passato una conversazione',
    mention: '{name} ti ha menzionato in una nota',
    due: 'È tornata una conversazione rimandata',
    escalated: 'Un visitatore aspetta da {minutes} min',
    unread: '{count} messaggi non letti',
    test: 'Le notifiche funzionano',
    testBody: 'Così Deskbell ti avvisa di un messaggio.',
    open: 'Apri la conversazione:',
    choose: 'Scegli di che cosa essere avvisato:',
    resetSubject: 'Una nuova password per {organization}',
    resetBody:
      'È stata chiesta una nuova password per {email} presso {organization}. Questo link ne imposta una, una sola volta, entro un’ora:',
    resetIgnore: 'Se non sei stato tu, non fare nulla: la tua password resta.',
  },
  nl: {
    waiting: 'Een bezoeker wacht',
    message: 'Nieuw bericht',
    assigned: '{name} heeft je een gesprek gegeven',
    mention: '{name} heeft je in een notitie genoemd',
    due: 'Een uitgesteld gesprek is weer aan de beurt',
    escalated: 'Een bezoeker wacht al {minutes} min',
    unread: '{count} ongelezen berichten',
    test: 'Meldingen werken',
    testBody: 'Zo meldt Deskbell je een bericht.',
    open: 'Gesprek openen:',
    choose: 'Kies wat je gemeld krijgt:',
    resetSubject: 'Een nieuw wachtwoord voor {organization}',
    resetBody:
      'Voor {email} bij {organization} is een nieuw wachtwoord gevraagd. Deze link stelt er een in, één keer, binnen een uur:',
    resetIgnore: 'Was jij dat niet, doe dan niets: je wachtwoord blijft.',
  },
  pl: {
    waiting: 'Odwiedzający czeka',
    message: 'Nowa wiadomość',
    assigned: '{name} przekazuje Ci rozmowę',
    mention: '{name} wspomina o Tobie w notatce',
    due: 'Nadszedł czas odłożonej rozmowy',
    escalated: 'Odwiedzający czeka od {minutes} min',
    unread: 'Nieprzeczytane wiadomości: {count}',
    test: 'Powiadomienia działają',
    testBody: 'Tak Deskbell powiadamia o wiadomości.',
    open: 'Otwórz rozmowę:',
    choose: 'Wybierz, o czym Cię powiadamiać:',
    resetSubject: 'Nowe hasło do {organization}',
    resetBody:
      'Poproszono o nowe hasło dla {email} w {organization}. Ten link ustawia je, jeden raz, w ciągu godziny:',
    resetIgnore: 'Jeśli to nie Ty, nic nie rób: Twoje hasło pozostaje.',
  },
  pt: {
    waiting: 'Um visitante está à espera',
    message: 'Nova mensagem',
    assigned: '{name} passou-lhe uma conversa',
    mention: '{name} mencionou-o numa nota',
    due: 'Chegou a hora de uma conversa adiada',
    escalated: 'Um visitante espera há {minutes} min',
    unread: '{count} mensagens por ler',
    test: 'As notificações funcionam',
    testBody: 'É assim que o Deskbell avisa de uma mensagem.',
    open: 'Abrir a conversa:',
    choose: 'Escolher do que é avisado:',
    resetSubject: 'Uma nova palavra-passe para {organization}',
    resetBody:
      'Foi pedida uma nova palavra-passe para {email} em {organization}. Esta ligação define uma, uma só vez, durante uma hora:',
    resetIgnore: 'Se não foi você, não faça nada: a sua palavra-passe mantém-se.',
  },
};

/** The languages that there are texts in. */
export const textLanguages: readonly string[] = Object.keys(texts);

/**
 * A sentence in a language.
 * @param locale a language tag, such as `pt-BR`; English where there are no texts in it
 */
export function textIn(
  locale: string | null,
  key: TextKey,
  values: Readonly<Record<string, string | number>> = {},
): string {
  const language = (locale ?? 'en').toLowerCase().split('-', 1)[0] ?? 'en';
  const spoken = Object.hasOwn(texts, language) ? texts[language] : undefined;
  return (spoken ?? english)[key].replace(/\{(\w+)\}/g, (_all, name: string) => String(values[name] ?? ''));
}
