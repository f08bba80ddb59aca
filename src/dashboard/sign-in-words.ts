// The texts of the pages on which a member signs in or chooses a password: one who is signed in does not see them, so they lie beside those pages, in all
// languages.
import { wordsOf, speech, type Language } from './words.ts';

interface SignInWords {
  readonly signInWrong: string;
  readonly organizationHint: string;
  readonly firstMember: string;
  readonly secondFactorSetUp: string;
  readonly secondFactorPage: string;
  readonly passkeyFailed: string;
  readonly code: string;
  readonly recoveryCode: string;
  readonly beginAgain: string;
  readonly passkey: string;
  readonly forgotPassword: string;
  readonly invitation: string;
  readonly choosePassword: string;
  readonly passwordLength: string;
  readonly setPassword: string;
  readonly passwordIsSet: string;
  readonly forgotAbout: string;
  readonly mailLink: string;
  readonly linkOnItsWay: string;
  readonly newPassword: string;
}

const words: Readonly<Record<Language, SignInWords>> = {
  en: {
    signInWrong: 'The organization, the e-mail address or the password is wrong.',
    organizationHint: 'Its short name, as in its address.',
    firstMember: 'No member yet? The owner of the server adds the first one:',
    secondFactorSetUp: 'Your organization demands a second factor. Set one up, then sign in here.',
    secondFactorPage: 'Set up a second factor',
    passkeyFailed: 'No passkey was shown, or it took too long. Try again.',
    code: 'Code of your authenticator, or a recovery code',
    recoveryCode: 'A recovery code',
    beginAgain: 'Begin again with the password',
    passkey: 'Use a passkey',
    forgotPassword: 'Forgot your password?',
    invitation: 'Invitation',
    choosePassword: 'Choose the password with which you will sign in.',
    passwordLength: 'At least {n} characters.',
    setPassword: 'Set password',
    passwordIsSet: 'Your password is set. Sign in with it.',
    forgotAbout: 'Write where you sign in. A link to a new password is mailed to you.',
    mailLink: 'Mail me a link',
    linkOnItsWay:
      'If there is such an account, an e-mail with a link is on its way. It works once, for an hour.',
    newPassword: 'A new password',
  },
  ar: {
    signInWrong: 'المؤسسة أو البريد الإلكتروني أو كلمة المرور غير صحيحة.',
    organizationHint: 'اسمها القصير كما في عنوانها.',
    firstMember: 'لا يوجد عضو بعد؟ يضيف مالك الخادم أول عضو:',
    secondFactorSetUp: 'تطلب مؤسستك عاملًا ثانيًا. أعدّ واحدًا ثم سجّل الدخول هنا.',
    secondFactorPage: 'إعداد عامل ثانٍ',
    passkeyFailed: 'لم يُعرض أي مفتاح مرور أو استغرق الأمر وقتًا طويلًا. حاول مرة أخرى.',
    code: 'رمز تطبيق المصادقة أو رمز استرداد',
    recoveryCode: 'رمز استرداد',
    beginAgain: 'البدء من جديد بكلمة المرور',
    passkey: 'استخدام مفتاح مرور',
    forgotPassword: 'هل نسيت كلمة المرور؟',
    invitation: 'دعوة',
    choosePassword: 'اختر كلمة المرور التي ستسجّل بها الدخول.',
    passwordLength: '{n} أحرف على الأقل.',
    setPassword: 'تعيين كلمة المرور',
    passwordIsSet: 'تم تعيين كلمة المرور. سجّل الدخول بها.',
    forgotAbout: 'اكتب أين تسجّل الدخول. سيُرسل إليك رابط لكلمة مرور جديدة.',
    mailLink: 'أرسل لي رابطًا',
    linkOnItsWay: 'إن وُجد هذا الحساب فالبريد مع الرابط في الطريق. يعمل مرة واحدة، لمدة ساعة.',
    newPassword: 'كلمة مرور جديدة',
  },
  de: {
    signInWrong: 'Organisation, E-Mail-Adresse oder Passwort ist falsch.',
    organizationHint: 'Ihr Kurzname, wie in ihrer Adresse.',
    firstMember: 'Noch kein Mitglied? Wer den Server betreibt, fügt das erste hinzu:',
    secondFactorSetUp:
      'Ihre Organisation verlangt einen zweiten Faktor. Richten Sie einen ein und melden Sie sich dann hier an.',
    secondFactorPage: 'Zweiten Faktor einrichten',
    passkeyFailed:
      'Es wurde kein Passkey gezeigt, oder es hat zu lange gedauert. Versuchen Sie es noch einmal.',
    code: 'Code Ihrer Authenticator-App oder ein Wiederherstellungscode',
    recoveryCode: 'Ein Wiederherstellungscode',
    beginAgain: 'Noch einmal mit dem Passwort beginnen',
    passkey: 'Passkey verwenden',
    forgotPassword: 'Passwort vergessen?',
    invitation: 'Einladung',
    choosePassword: 'Wählen Sie das Passwort, mit dem Sie sich anmelden werden.',
    passwordLength: 'Mindestens {n} Zeichen.',
    setPassword: 'Passwort festlegen',
    passwordIsSet: 'Ihr Passwort ist festgelegt. Melden Sie sich damit an.',
    forgotAbout: 'Schreiben Sie, wo Sie sich anmelden. Ein Link zu einem neuen Passwort kommt per E-Mail.',
    mailLink: 'Link per E-Mail schicken',
    linkOnItsWay:
      'Wenn es dieses Konto gibt, ist eine E-Mail mit einem Link unterwegs. Er gilt einmal, eine Stunde lang.',
    newPassword: 'Ein neues Passwort',
  },
  es: {
    signInWrong: 'La organización, el correo o la contraseña no son correctos.',
    organizationHint: 'Su nombre corto, como en su dirección.',
    firstMember: '¿Aún no hay miembros? Quien administra el servidor añade el primero:',
    secondFactorSetUp: 'Su organización exige un segundo factor. Configure uno y luego inicie sesión aquí.',
    secondFactorPage: 'Configurar un segundo factor',
    passkeyFailed: 'No se mostró ninguna llave de acceso o tardó demasiado. Inténtelo de nuevo.',
    code: 'Código de su autenticador o un código de recuperación',
    recoveryCode: 'Un código de recuperación',
    beginAgain: 'Empezar de nuevo con la contraseña',
    passkey: 'Usar una llave de acceso',
    forgotPassword: '¿Has olvidado la contraseña?',
    invitation: 'Invitación',
    choosePassword: 'Elija la contraseña con la que iniciará sesión.',
    passwordLength: 'Al menos {n} caracteres.',
    setPassword: 'Guardar la contraseña',
    passwordIsSet: 'Su contraseña está guardada. Inicie sesión con ella.',
    forgotAbout: 'Escribe dónde inicias sesión. Te llegará por correo un enlace a una contraseña nueva.',
    mailLink: 'Enviarme un enlace',
    linkOnItsWay:
      'Si existe esa cuenta, va en camino un correo con un enlace. Vale una vez, durante una hora.',
    newPassword: 'Una contraseña nueva',
  },
  fr: {
    signInWrong: 'L’organisation, l’adresse e-mail ou le mot de passe est incorrect.',
    organizationHint: 'Son nom court, comme dans son adresse.',
    firstMember: 'Pas encore de membre ? Le propriétaire du serveur ajoute le premier :',
    secondFactorSetUp:
      'Votre organisation exige un second facteur. Configurez-en un, puis connectez-vous ici.',
    secondFactorPage: 'Configurer un second facteur',
    passkeyFailed: 'Aucune clé d’accès n’a été présentée, ou cela a pris trop de temps. Réessayez.',
    code: 'Code de votre authentificateur, ou un code de secours',
    recoveryCode: 'Un code de secours',
    beginAgain: 'Recommencer avec le mot de passe',
    passkey: 'Utiliser une clé d’accès',
    forgotPassword: 'Mot de passe oublié ?',
    invitation: 'Invitation',
    choosePassword: 'Choisissez le mot de passe avec lequel vous vous connecterez.',
    passwordLength: 'Au moins {n} caractères.',
    setPassword: 'Définir le mot de passe',
    passwordIsSet: 'Votre mot de passe est défini. Connectez-vous avec lui.',
    forgotAbout: 'Écrivez où vous vous connectez. Un lien vers un nouveau mot de passe vous sera envoyé.',
    mailLink: 'M’envoyer un lien',
    linkOnItsWay:
      'Si ce compte existe, un e-mail avec un lien est en route. Il vaut une fois, pendant une heure.',
    newPassword: 'Un nouveau mot de passe',
  },
  it: {
    signInWrong: 'Organizzazione, e-mail o password non corretti.',
    organizationHint: 'Il nome breve, come nel suo indirizzo.',
    firstMember: 'Ancora nessun membro? Chi gestisce il server aggiunge il primo:',
    secondFactorSetUp: 'La sua organizzazione richiede un secondo fattore. Ne configuri uno, poi acceda qui.',
    secondFactorPage: 'Configura un secondo fattore',
    passkeyFailed: 'Nessuna passkey mostrata, o troppo tempo trascorso. Riprovi.',
    code: 'Codice dell’app di autenticazione o un codice di recupero',
    recoveryCode: 'Un codice di recupero',
    beginAgain: 'Ricomincia dalla password',
    passkey: 'Usa una passkey',
    forgotPassword: 'Password dimenticata?',
    invitation: 'Invito',
    choosePassword: 'Scelga la password con cui accederà.',
    passwordLength: 'Almeno {n} caratteri.',
    setPassword: 'Imposta la password',
    passwordIsSet: 'La password è impostata. Acceda con essa.',
    forgotAbout: 'Scrivi dove accedi. Riceverai per e-mail un link a una nuova password.',
    mailLink: 'Inviami un link',
    linkOnItsWay: 'Se l’account esiste, un’e-mail con un link è in arrivo. Vale una volta, per un’ora.',
    newPassword: 'Una nuova password',
  },
  nl: {
    signInWrong: 'De organisatie, het e-mailadres of het wachtwoord klopt niet.',
    organizationHint: 'De korte naam, zoals in het adres.',
    firstMember: 'Nog geen lid? De eigenaar van de server voegt het eerste toe:',
    secondFactorSetUp: 'Uw organisatie vereist een tweede factor. Stel er een in en log daarna hier in.',
    secondFactorPage: 'Tweede factor instellen',
    passkeyFailed: 'Er is geen passkey getoond, of het duurde te lang. Probeer het opnieuw.',
    code: 'Code van uw authenticator, of een herstelcode',
    recoveryCode: 'Een herstelcode',
    beginAgain: 'Opnieuw beginnen met het wachtwoord',
    passkey: 'Een passkey gebruiken',
    forgotPassword: 'Wachtwoord vergeten?',
    invitation: 'Uitnodiging',
    choosePassword: 'Kies het wachtwoord waarmee u zult inloggen.',
    passwordLength: 'Minstens {n} tekens.',
    setPassword: 'Wachtwoord instellen',
    passwordIsSet: 'Uw wachtwoord is ingesteld. Log ermee in.',
    forgotAbout: 'Schrijf waar je inlogt. Een link naar een nieuw wachtwoord komt per e-mail.',
    mailLink: 'Stuur mij een link',
    linkOnItsWay:
      'Als dit account bestaat, is een e-mail met een link onderweg. Hij werkt één keer, een uur lang.',
    newPassword: 'Een nieuw wachtwoord',
  },
  pl: {
    signInWrong: 'Organizacja, adres e-mail lub hasło są nieprawidłowe.',
    organizationHint: 'Jej krótka nazwa, jak w adresie.',
    firstMember: 'Nie ma jeszcze nikogo? Właściciel serwera dodaje pierwszą osobę:',
    secondFactorSetUp: 'Twoja organizacja wymaga drugiego składnika. Ustaw go, a potem zaloguj się tutaj.',
    secondFactorPage: 'Ustaw drugi składnik',
    passkeyFailed: 'Nie pokazano klucza dostępu albo trwało to zbyt długo. Spróbuj ponownie.',
    code: 'Kod z aplikacji uwierzytelniającej lub kod odzyskiwania',
    recoveryCode: 'Kod odzyskiwania',
    beginAgain: 'Zacznij od nowa od hasła',
    passkey: 'Użyj klucza dostępu',
    forgotPassword: 'Nie pamiętasz hasła?',
    invitation: 'Zaproszenie',
    choosePassword: 'Wybierz hasło, którym będziesz się logować.',
    passwordLength: 'Co najmniej {n} znaków.',
    setPassword: 'Ustaw hasło',
    passwordIsSet: 'Hasło zostało ustawione. Zaloguj się nim.',
    forgotAbout: 'Napisz, gdzie się logujesz. Link do nowego hasła przyjdzie e-mailem.',
    mailLink: 'Wyślij mi link',
    linkOnItsWay: 'Jeśli takie konto istnieje, e-mail z linkiem jest w drodze. Działa raz, przez godzinę.',
    newPassword: 'Nowe hasło',
  },
  pt: {
    signInWrong: 'A organização, o e-mail ou a palavra-passe está errada.',
    organizationHint: 'O nome curto, como no endereço.',
    firstMember: 'Ainda não há membros? O dono do servidor adiciona o primeiro:',
    secondFactorSetUp: 'A sua organização exige um segundo fator. Configure um e depois inicie sessão aqui.',
    secondFactorPage: 'Configurar um segundo fator',
    passkeyFailed: 'Não foi mostrada nenhuma chave de acesso, ou demorou demasiado. Tente de novo.',
    code: 'Código do seu autenticador, ou um código de recuperação',
    recoveryCode: 'Um código de recuperação',
    beginAgain: 'Recomeçar com a palavra-passe',
    passkey: 'Usar uma chave de acesso',
    forgotPassword: 'Esqueceu-se da palavra-passe?',
    invitation: 'Convite',
    choosePassword: 'Escolha a palavra-passe com que iniciará sessão.',
    passwordLength: 'Pelo menos {n} caracteres.',
    setPassword: 'Definir palavra-passe',
    passwordIsSet: 'A sua palavra-passe está definida. Inicie sessão com ela.',
    forgotAbout: 'Escreva onde inicia sessão. Receberá por e-mail uma ligação para uma nova palavra-passe.',
    mailLink: 'Enviar-me uma ligação',
    linkOnItsWay:
      'Se a conta existir, um e-mail com uma ligação vai a caminho. Vale uma vez, durante uma hora.',
    newPassword: 'Uma nova palavra-passe',
  },
};

/** A text of these pages, in the language that is spoken. */
export function signInText(key: keyof SignInWords, values?: Readonly<Record<string, number>>): string {
  return wordsOf({ ...words[speech.language] })(key, values);
}
