// What members are told, in the nine languages of dashboard and widget: short sentences for pushes and e-mails. Names and
// messages are put in as they are; what shows them takes plain text.

const english = {
  /** One without a name. */
  visitor: 'Visitor',
  /** One who is not there any more. */
  colleague: 'A member of the team',
  waiting: 'A visitor is waiting',
  message: 'New message',
  assigned: '{name} has given you a conversation',
  mention: '{name} mentioned you in a note',
  due: 'The time of a snoozed conversation has come',
  escalated: 'No one has accepted a visitor within {minutes} min',
  unread: '{count} unread messages',
  test: 'Notifications work',
  testBody: 'This is how Deskbell tells you of a message.',
  open: 'Open the conversation:',
  choose: 'Choose what you are told of:',
  mailTest: 'Test mail from {organization}',
  mailTestBody: 'This is what Deskbell sends to see whether mails arrive. Nothing needs to be done.',
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
    visitor: 'زائر',
    colleague: 'أحد أعضاء الفريق',
    waiting: 'هناك زائر ينتظر',
    message: 'رسالة جديدة',
    assigned: 'أسند إليك {name} محادثة',
    mention: 'ذكرك {name} في ملاحظة',
    due: 'حان وقت محادثة مؤجلة',
    escalated: 'لم يقبل أحد زائرًا خلال {minutes} دقيقة',
    unread: 'رسائل غير مقروءة: {count}',
    test: 'الإشعارات تعمل',
    testBody: 'هكذا يخبرك Deskbell برسالة.',
    open: 'افتح المحادثة:',
    choose: 'اختر ما تُبلَّغ به:',
    mailTest: 'رسالة تجريبية من {organization}',
    mailTestBody: 'هذا ما يرسله Deskbell ليُعرف هل تصل الرسائل. لا حاجة إلى فعل شيء.',
    resetSubject: 'كلمة مرور جديدة لـ {organization}',
    resetBody:
      'طُلبت كلمة مرور جديدة لـ {email} لدى {organization}. يعيّن هذا الرابط واحدة، مرة واحدة، خلال ساعة:',
    resetIgnore: 'إن لم تكن أنت من طلبها فلا تفعل شيئًا: تبقى كلمة مرورك كما هي.',
  },
  de: {
    visitor: 'Besucher',
    colleague: 'Ein Teammitglied',
    waiting: 'Ein Besucher wartet',
    message: 'Neue Nachricht',
    assigned: '{name} hat Ihnen ein Gespräch übergeben',
    mention: '{name} hat Sie in einer Notiz erwähnt',
    due: 'Ein zurückgestelltes Gespräch ist wieder dran',
    escalated: 'Niemand hat einen Besucher innerhalb von {minutes} Min. angenommen',
    unread: '{count} ungelesene Nachrichten',
    test: 'Benachrichtigungen funktionieren',
    testBody: 'So meldet Deskbell eine Nachricht.',
    open: 'Gespräch öffnen:',
    choose: 'Wählen, was gemeldet wird:',
    mailTest: 'Testmail von {organization}',
    mailTestBody: 'Das sendet Deskbell, um zu sehen, ob Mails ankommen. Es ist nichts zu tun.',
    resetSubject: 'Ein neues Passwort für {organization}',
    resetBody:
      'Für {email} bei {organization} wurde ein neues Passwort angefordert. Dieser Link setzt eines, einmal, innerhalb einer Stunde:',
    resetIgnore: 'Wenn Sie das nicht waren, tun Sie nichts: Ihr Passwort bleibt.',
  },
  es: {
    visitor: 'Visitante',
    colleague: 'Un miembro del equipo',
    waiting: 'Un visitante está esperando',
    message: 'Mensaje nuevo',
    assigned: '{name} le ha pasado una conversación',
    mention: '{name} le ha mencionado en una nota',
    due: 'Ha llegado la hora de una conversación pospuesta',
    escalated: 'Nadie ha aceptado a un visitante en {minutes} min',
    unread: '{count} mensajes sin leer',
    test: 'Las notificaciones funcionan',
    testBody: 'Así le avisa Deskbell de un mensaje.',
    open: 'Abrir la conversación:',
    choose: 'Elija de qué se le avisa:',
    mailTest: 'Correo de prueba de {organization}',
    mailTestBody: 'Esto es lo que envía Deskbell para ver si llegan los correos. No hay que hacer nada.',
    resetSubject: 'Una contraseña nueva para {organization}',
    resetBody:
      'Se ha pedido una contraseña nueva para {email} en {organization}. Este enlace la establece, una sola vez, durante una hora:',
    resetIgnore: 'Si no ha sido usted, no haga nada: su contraseña no cambia.',
  },
  fr: {
    visitor: 'Visiteur',
    colleague: 'Un membre de l’équipe',
    waiting: 'Un visiteur attend',
    message: 'Nouveau message',
    assigned: '{name} vous a confié une conversation',
    mention: '{name} vous a mentionné dans une note',
    due: 'Une conversation en veille est de retour',
    escalated: 'Personne n’a accepté un visiteur en {minutes} min',
    unread: '{count} messages non lus',
    test: 'Les notifications fonctionnent',
    testBody: 'Voici comment Deskbell vous signale un message.',
    open: 'Ouvrir la conversation :',
    choose: 'Choisir ce qui vous est signalé :',
    mailTest: 'Mail de test de {organization}',
    mailTestBody: 'Deskbell envoie ceci pour voir si les mails arrivent. Il n’y a rien à faire.',
    resetSubject: 'Un nouveau mot de passe pour {organization}',
    resetBody:
      'Un nouveau mot de passe a été demandé pour {email} chez {organization}. Ce lien en définit un, une seule fois, pendant une heure :',
    resetIgnore: 'Si ce n’était pas vous, ne faites rien : votre mot de passe reste le même.',
  },
  it: {
    visitor: 'Visitatore',
    colleague: 'Un membro del team',
    waiting: 'Un visitatore sta aspettando',
    message: 'Nuovo messaggio',
    assigned: '{name} le ha passato una conversazione',
    mention: '{name} l’ha menzionata in una nota',
    due: 'È tornata una conversazione rimandata',
    escalated: 'Nessuno ha accettato un visitatore entro {minutes} min',
    unread: '{count} messaggi non letti',
    test: 'Le notifiche funzionano',
    testBody: 'Così Deskbell la avvisa di un messaggio.',
    open: 'Apra la conversazione:',
    choose: 'Scelga di che cosa essere avvisato:',
    mailTest: 'Mail di prova di {organization}',
    mailTestBody: 'Deskbell invia questo per vedere se le mail arrivano. Non occorre fare nulla.',
    resetSubject: 'Una nuova password per {organization}',
    resetBody:
      'È stata chiesta una nuova password per {email} presso {organization}. Questo link ne imposta una, una sola volta, entro un’ora:',
    resetIgnore: 'Se non è stato lei, non faccia nulla: la sua password resta.',
  },
  nl: {
    visitor: 'Bezoeker',
    colleague: 'Een teamlid',
    waiting: 'Een bezoeker wacht',
    message: 'Nieuw bericht',
    assigned: '{name} heeft u een gesprek gegeven',
    mention: '{name} heeft u in een notitie genoemd',
    due: 'Een uitgesteld gesprek is weer aan de beurt',
    escalated: 'Niemand heeft een bezoeker binnen {minutes} min aangenomen',
    unread: '{count} ongelezen berichten',
    test: 'Meldingen werken',
    testBody: 'Zo meldt Deskbell u een bericht.',
    open: 'Gesprek openen:',
    choose: 'Kies wat u gemeld krijgt:',
    mailTest: 'Testmail van {organization}',
    mailTestBody: 'Dit stuurt Deskbell om te zien of mails aankomen. U hoeft niets te doen.',
    resetSubject: 'Een nieuw wachtwoord voor {organization}',
    resetBody:
      'Voor {email} bij {organization} is een nieuw wachtwoord gevraagd. Deze link stelt er een in, één keer, binnen een uur:',
    resetIgnore: 'Was u dat niet, doe dan niets: uw wachtwoord blijft.',
  },
  pl: {
    visitor: 'Odwiedzający',
    colleague: 'Członek zespołu',
    waiting: 'Odwiedzający czeka',
    message: 'Nowa wiadomość',
    assigned: '{name} przekazuje Ci rozmowę',
    mention: '{name} wspomina o Tobie w notatce',
    due: 'Nadszedł czas odłożonej rozmowy',
    escalated: 'Nikt nie przyjął odwiedzającego w ciągu {minutes} min',
    unread: 'Nieprzeczytane wiadomości: {count}',
    test: 'Powiadomienia działają',
    testBody: 'Tak Deskbell powiadamia o wiadomości.',
    open: 'Otwórz rozmowę:',
    choose: 'Wybierz, o czym Cię powiadamiać:',
    mailTest: 'Mail testowy od {organization}',
    mailTestBody: 'To wysyła Deskbell, aby sprawdzić, czy maile dochodzą. Nic nie trzeba robić.',
    resetSubject: 'Nowe hasło do {organization}',
    resetBody:
      'Poproszono o nowe hasło dla {email} w {organization}. Ten link ustawia je, jeden raz, w ciągu godziny:',
    resetIgnore: 'Jeśli to nie Ty, nic nie rób: Twoje hasło pozostaje.',
  },
  pt: {
    visitor: 'Visitante',
    colleague: 'Um membro da equipa',
    waiting: 'Um visitante está à espera',
    message: 'Nova mensagem',
    assigned: '{name} passou-lhe uma conversa',
    mention: '{name} mencionou-o numa nota',
    due: 'Chegou a hora de uma conversa adiada',
    escalated: 'Ninguém aceitou um visitante em {minutes} min',
    unread: '{count} mensagens por ler',
    test: 'As notificações funcionam',
    testBody: 'É assim que o Deskbell avisa de uma mensagem.',
    open: 'Abrir a conversa:',
    choose: 'Escolher do que é avisado:',
    mailTest: 'E-mail de teste de {organization}',
    mailTestBody: 'É isto que o Deskbell envia para ver se os e-mails chegam. Não é preciso fazer nada.',
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
