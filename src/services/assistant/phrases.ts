// The few fixed sentences of the assistant, in the languages of the widget, and by which words a visitor asks for a
// person. Words only: when they are said is decided elsewhere.

import { isStopword } from './knowledge/retrieval/stopwords.ts';
import { terms } from './knowledge/retrieval/terms.ts';

export interface Phrases {
  /** The documents say nothing about it. */
  readonly noAnswer: string;
  /** Said above the titles that may be meant. */
  readonly didYouMean: string;
  /** Said once, when the conversation is left to people. */
  readonly person: string;
  /** The model did not answer. */
  readonly failed: string;
  readonly source: string;
}

const phrases = {
  en: {
    noAnswer: 'I found nothing about that in our documents.',
    didYouMean: 'Did you mean one of these?',
    person: 'A person will answer you here.',
    failed: "I can't answer at the moment.",
    source: 'Source',
  },
  de: {
    noAnswer: 'Dazu habe ich in unseren Unterlagen nichts gefunden.',
    didYouMean: 'Meinten Sie eines davon?',
    person: 'Ein Mensch antwortet Ihnen hier.',
    failed: 'Ich kann gerade nicht antworten.',
    source: 'Quelle',
  },
  fr: {
    noAnswer: "Je n'ai rien trouvé à ce sujet dans nos documents.",
    didYouMean: "Vouliez-vous dire l'un de ceux-ci ?",
    person: 'Une personne va vous répondre ici.',
    failed: 'Je ne peux pas répondre pour le moment.',
    source: 'Source',
  },
  es: {
    noAnswer: 'No he encontrado nada sobre eso en nuestros documentos.',
    didYouMean: '¿Se refiere a alguno de estos temas?',
    person: 'Una persona le responderá aquí.',
    failed: 'No puedo responder en este momento.',
    source: 'Fuente',
  },
  it: {
    noAnswer: 'Non ho trovato nulla al riguardo nei nostri documenti.',
    didYouMean: 'Intendeva uno di questi?',
    person: 'Una persona le risponderà qui.',
    failed: 'Al momento non posso rispondere.',
    source: 'Fonte',
  },
  nl: {
    noAnswer: 'Daarover heb ik niets gevonden in onze documenten.',
    didYouMean: 'Bedoelde u een van deze?',
    person: 'Een medewerker antwoordt u hier.',
    failed: 'Ik kan op dit moment niet antwoorden.',
    source: 'Bron',
  },
  pl: {
    noAnswer: 'Nie znalazłem nic na ten temat w naszych dokumentach.',
    didYouMean: 'Czy chodzi o jeden z tych tematów?',
    person: 'Wkrótce odpowie tutaj człowiek.',
    failed: 'W tej chwili nie mogę odpowiedzieć.',
    source: 'Źródło',
  },
  pt: {
    noAnswer: 'Não encontrei nada sobre isso nos nossos documentos.',
    didYouMean: 'Quis dizer um destes temas?',
    person: 'Uma pessoa responderá aqui.',
    failed: 'Não posso responder neste momento.',
    source: 'Fonte',
  },
  ar: {
    noAnswer: 'لم أجد شيئًا عن ذلك في مستنداتنا.',
    didYouMean: 'هل تقصد أحد هذه المواضيع؟',
    person: 'سيجيبك شخص هنا.',
    failed: 'لا أستطيع الإجابة في الوقت الحالي.',
    source: 'المصدر',
  },
} as const satisfies Readonly<Record<string, Phrases>>;

export type Language = keyof typeof phrases;

// Frequent words that the other languages here do not have, so that two of them tell; and those by which one asks for a person.
const languagePatterns: Readonly<Record<Language, RegExp>> = {
  en: /\b(?:the|what|how|is|my|you|your|with|where|when|can|does|and|would|want)\b/g,
  de: /\b(?:der|die|das|ist|wie|ich|mein|meine|meinen|nicht|kann|und|wo|wann|mit|für|einen|möchte|menschen|mitarbeiter|berater|jemandem|sprechen|reden)\b/g,
  fr: /\b(?:le|les|est|je|mon|ma|mes|vous|comment|où|quand|puis|pour|avec|une|des|voudrais|quel|quelle|veux|parler|quelqu|personne|conseiller)\b/g,
  es: /\b(?:el|los|las|es|cómo|dónde|cuándo|puedo|mi|mis|para|con|una|qué|quiero|quisiera|hay|hablar|alguien|persona|humano|agente)\b/g,
  it: /\b(?:il|gli|come|dove|quando|posso|mio|mia|per|con|una|che|sono|della|vorrei|di|voglio|parlare|persona|qualcuno|operatore)\b/g,
  nl: /\b(?:het|een|hoe|waar|wanneer|ik|mijn|kan|niet|voor|met|jullie|van|wil|graag|praten|spreken|iemand|medewerker|mens)\b/g,
  pl: /(?<!\p{L})(?:jak|gdzie|kiedy|czy|jest|mogę|moje|mój|nie|dla|się|chcę|co|na|rozmawiać|porozmawiać|człowiekiem|konsultantem|kimś)(?!\p{L})/gu,
  pt: /\b(?:os|as|como|onde|quando|posso|meu|minha|para|com|uma|que|não|gostaria|você|é|quero|falar|pessoa|alguém|atendente)\b/g,
  ar: /\p{Script=Arabic}{2,}/gu,
};

const isLanguage = (name: string): name is Language => Object.hasOwn(phrases, name);

/**
 * The sentences in the visitor's language: the one of their text where its words tell, else the application's.
 * @param locale the application's setting
 */
export function getPhrases(locale: string | null, text: string): Phrases {
  return phrases[languageOf(locale, text)];
}

/**
 * The language of a visitor, of those that the widget speaks: the one of their text where its words tell, else the
 * application's.
 */
export function languageOf(locale: string | null, text: string): Language {
  const lower = text.toLowerCase();
  let best: Language | null = null;
  let most = 1;
  for (const language of Object.keys(languagePatterns) as Language[]) {
    const count = lower.match(languagePatterns[language])?.length ?? 0;
    if (count > most) [best, most] = [language, count];
  }
  const own = locale?.split('-')[0]?.toLowerCase() ?? '';
  return best ?? (isLanguage(own) ? own : 'en');
}

const TALK = '(?:talk|speak|chat|write|connect|transfer|get|put me|reach)';
const HUMAN =
  '(?:person|human|agent|operator|representative|someone|somebody|employee|support staff|real people)';
const humanRequestPatterns: readonly RegExp[] = [
  new RegExp(`\\b${TALK}\\w*\\b.{0,30}\\b${HUMAN}s?\\b`),
  new RegExp(`^(?:a |an |real |live |please,? )*${HUMAN}s?(?:,? please)?[.! ]*$`),
  /\b(?:real|live|actual) (?:person|human|agent)\b/,
  /(?:menschen|mitarbeiter(?:in)?|person|berater(?:in)?|jemandem).{0,25}(?:sprechen|reden|chatten|schreiben|verbinden|verbunden)/,
  /(?:sprechen|reden|verbinden).{0,25}(?:menschen|mitarbeiter|person|berater|jemandem)/,
  /(?:hablar|chatear|comunicar\w*|contactar).{0,30}(?:persona|humano|agente|operador|alguien|asesor)/,
  /(?:parler|discuter|échanger|contacter).{0,30}(?:personne|humain|agent|conseill|quelqu|opérateur)/,
  /(?:parlare|chattare|comunicare).{0,30}(?:persona|umano|operatore|operatrice|qualcuno)/,
  /(?:praten|spreken|chatten).{0,30}(?:mens|persoon|medewerker|iemand)|(?:mens|persoon|medewerker|iemand).{0,20}(?:praten|spreken|chatten)/,
  /(?:rozmawia|porozmawia|mówić|pogada|połącz).{0,30}(?:człowiek|osob|konsultant|pracownik|kimś)/,
  /(?:falar|conversar).{0,30}(?:pessoa|humano|atendente|agente|alguém)/,
  /(?:التحدث|أتحدث|الكلام|أتكلم|التكلم).{0,30}(?:شخص|موظف|إنسان|بشري|أحد)/,
];
const negationPattern =
  /(?:don'?t|do not|no need to|rather not|without|instead of|ohne|nicht|kein\w*|no quiero|sin|ne veux pas|sans|non voglio|senza|niet|geen|zonder|nie chcę|bez|não quero|sem|لا أريد|بدون)(?: [^ ]+){0,3}$/;
const courtesyPattern =
  /^(?:hi|hello|hey|good (?:morning|afternoon|evening|day)|thanks?|thank you|thx|ok(?:ay)?|great|perfect|super|cool|yes|no|bye|hallo|guten (?:tag|morgen|abend)|moin|danke|vielen dank|bonjour|bonsoir|salut|merci|hola|buen(?:os|as) (?:días|tardes|noches)|gracias|ciao|buon(?:giorno|asera)|grazie|goede(?:morgen|middag|navond)|dag|bedankt|dank je|cześć|dzień dobry|dzięki|dziękuję|olá|oi|bo[ma] (?:dia|tarde|noite)|obrigad[oa]|مرحبا|السلام عليكم|شكرا|شكرًا)(?!\p{L})/u;
const maxCourtesyLength = 40;
/** What else is said with such words: "Hello again", "Vielen herzlichen Dank". A word that is none of these is what it is about. */
const courteousWords = `
again all alright appreciate appreciated awesome bye care cheers cool day evening everybody everyone excellent fast fine folks friend good goodbye great
guys helpful later lot lovely madam morning nice night now perfect quick reply shortly sir so solved soon sure super sweet team thx understood very
weekend welcome wonderful worked works yeah yep
abend alles alle dank danke einen fein geklappt geholfen grüße grüß gott gut guten herzlichen herzlich hilfe hilfreich klar klasse liebe moin morgen
perfekt prima schnelle schön schöne schönen schönes servus super tag toll tschüss verstanden viele vielen wochenende zusammen
accord aide beaucoup bien bonjour bonne bonsoir compris génial infiniment journée marche merci mille parfait revoir salut soirée super
adiós amable ayuda bien buen buena buenas bueno buenos claro días entendido genial hola mil muchas muchísimas noches perfecto saludos tardes todos vale
arrivederci bene benissimo buona buonasera buongiorno capito ciao giornata grazie mille molte perfetto salve serata tante tutti
bedankt dag dank fijn goed goede goedemiddag goedemorgen goedenavond hartelijk hulp middag morgen prima top veel wel ziens
bardzo cześć dobry dobrze dzień dzięki dziękuję hej pomoc rozumiem serdecznie super świetnie widzenia witam wszystkim
ajuda bem boa bom certo dia entendi noite obrigada obrigado oi olá perfeito tarde tchau todos valeu ótimo
السلام الخير النور أهلا تحية جدا جزيلا حسنا شكرا شكرًا صباح طيب عليكم كثيرا لك لكم مرحبا مساء ممتاز وعليكم
`;
let courteous: ReadonlySet<string> | undefined;

/** Whether a message is a greeting, thanks or the like, and asks nothing; also with a name at its end. */
export function isCourtesy(text: string): boolean {
  const line = text.toLowerCase().replaceAll(/\s+/g, ' ').trim();
  if (line.length > maxCourtesyLength || /[?？؟\d]/.test(line)) return false;
  const found = courtesyPattern.exec(line);
  if (found === null) return false;
  const known = (courteous ??= new Set(terms(courteousWords)));
  const others = terms(line.slice(found[0].length)).filter((word) => !known.has(word) && !isStopword(word));
  return others.length === 0 || (others.length === 1 && /\p{Lu}\p{Ll}+[.! ]*$/u.test(text.trim()));
}

/** A longer text asks for something besides, and its answer may be what is wanted. */
const maxRequestLength = 200;

/** Whether a visitor's message asks for a person. */
export function asksForHuman(text: string): boolean {
  const line = text.toLowerCase().replaceAll('’', "'").replaceAll(/\s+/g, ' ').trim();
  if (line.length > maxRequestLength) return false;
  return humanRequestPatterns.some((pattern) => {
    const found = pattern.exec(line);
    return found !== null && !negationPattern.test(line.slice(0, found.index).trim());
  });
}
