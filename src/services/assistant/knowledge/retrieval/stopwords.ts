// Words that carry a question and not its matter ("how do I …"), by language. They weigh
// little in judging whether documents speak about a question. Words only, no rule.
import { terms } from './terms.ts';

const list = `
a an the this that these those it its he she they them their we us our you your i me my mine and or but if so than then as at by for from in into of on
onto to with without within about is are was were be been being am do does did done doing has have had having can could may might shall should will would
must not no yes how what when where which who whom whose why there here any some all also just only very too more most much many please tell know want
need like get got give let make hello hi hey thanks thank help question there's i'd i'm i've can't don't what's possible way ok okay because something anything someone
condition conditions detail details duration guideline guidelines info information option options period policies policy procedure procedures rule rules terms
der die das ein eine einer eines einem einen und oder aber wenn ob als an am auf aus bei beim durch für gegen im in ist sind war waren sein bin hat haben
habe kann können könnte darf muss soll sollte will wollen wird werden wie was wann wo wer wen wem warum welche welcher welches ich du er sie es wir ihr
mir mich mein meine meinen meiner mit nach nicht kein keine noch nur oder ohne sehr so um und uns unser vom von vor zu zum zur man gibt bitte hallo danke
bedingungen dauer informationen regel regeln regelung regelungen richtlinie richtlinien
le la les un une des du de et ou mais si au aux ce cet cette ces il elle ils elles on nous vous je tu me moi mon ma mes votre vos notre nos est sont suis
être avoir avez a ont ai peut puis pouvez faire fait quel quelle quels quelles que qui quoi quand comment où pourquoi combien dans en par pour sur avec sans
ne pas plus très y bonjour merci l'on c'est qu'est-ce s'il plaît
el la los las un una unos unas y o pero si al del de en por para con sin sobre es son soy está están estoy ser estar he ha han hay puedo puede pueden se me
mi mis su sus tu te lo le que qué cual cuál cuando cuándo cómo como donde dónde quién por qué cuánto cuántos yo nosotros ustedes hola gracias favor
il lo gli una uno dei delle degli della dello dell' nel nella con per tra fra su ed è sono sei siamo ho hai ha abbiamo posso può possono come cosa quando
dove chi perché quale quali quanto mio mia miei mie vostro vostra ci si non più ciao grazie
o os as um uma uns umas do da dos das no na nos nas ao aos e ou mas se em por para com sem sobre é são sou está estão ser estar tem têm tenho posso pode
podem meu minha meus minhas seu sua como que quando onde quem porque qual quais quanto não mais olá obrigado
de het een en of maar als aan bij door in is zijn was waren ben heb heeft hebben kan kunnen mag moet wil wordt worden hoe wat wanneer waar wie waarom welke
ik jij je u hij zij ze wij we mijn uw met naar niet geen nog op te tot uit van voor om er dat die dit deze hallo bedankt
i w we z ze na do od po za o u dla przez przy jest są być mam ma mają mogę może można jak co kiedy gdzie kto dlaczego jaki jaka jakie czy nie tak to ten ta
те и в во не что он на я с со как а то все она так его но да ты к у же вы за бы по ее мне было вот от меня еще нет о из ему когда где кто почему какой
какая какие можно могу могут нужно ли мой моя мои ваш ваша ваши это есть для или если до чтобы здравствуйте спасибо
і й та в у на з що як коли де хто чому чи не до від за для це мені мій моя ви ваш
bir ve veya ile için bu şu ne nasıl nerede zaman kim neden mı mi mu mü var yok ben benim siz sizin değil daha çok
och eller att det den en ett som på är av för med till inte hur vad när var vem varför kan jag du vi ni min mitt mina
需要 想要 的 了 吗 呢 吧 啊 是 在 我 你 您 他 她 它 我们 你们 请 请问 怎么 怎样 怎么样 如何 什么 哪里 哪儿 哪 哪个 谁 为什么 多少 多少钱 几 可以 能 能否 会 要 想 有 没有 和 或 与 也 都 就 不 这 那 这个 那个 把 被 给 对 从
到 嗎 請 請問 怎麼 怎麼樣 什麼 為什麼 為何 哪裡 可否 是否 會 沒有 們 這 個 吗 一下 上 里
は が を に で と も の か や へ から まで より ね よ な だ です ます ました ません でした ください 何 どう どの どれ どこ いつ 誰 だれ なぜ どうして どのように いくら いくつ できる できます
でき たい し て た する し ます この その あの これ それ あれ ある いる こと もの 私 あなた い れ られ せ ん ば お ご 方 よう ました ま した なに 教え おし え てください 場合
은 는 이 가 을 를 에 에서 의 와 과 도 로 으로 하고 무엇 무엇을 어떻게 언제 어디 어디서 어디에서 누가 누구 왜 어떤 얼마 얼마나 수 있나요 있습니까 있어요 있는 하나요 합니까 해요 되나요 됩니까 제 저 나 내 우리 및 또는 그 이것 저는 제가 할 것 좀 싶어요
ที่ และ หรือ ใน ของ เป็น อยู่ คือ ได้ ไม่ มี จะ ให้ กับ จาก ไป มา ทำ อย่างไร ยังไง อะไร เมื่อไหร่ เมื่อไร เมื่อใด ที่ไหน ใคร ทำไม ไหม หรือไม่ เท่าไร เท่าไหร่ ฉัน ผม ดิฉัน คุณ เรา ครับ ค่ะ คะ นี้ นั้น การ ความ ต้อง ต้องการ สามารถ ก็ แล้ว ถ้า หาก โดย เพื่อ อย่าง ไร วิธี
នៅ និង ឬ ក្នុង របស់ ជា គឺ បាន មិន ទេ មាន នឹង ឲ្យ អោយ ឱ្យ ជាមួយ ពី ទៅ មក ធ្វើ យ៉ាង ដូចម្តេច ដូចម្ដេច អ្វី ណា ពេល ពេលណា ឯណា នរណា ហេតុអ្វី ប៉ុន្មាន ខ្ញុំ អ្នក យើង នេះ នោះ ការ ត្រូវ អាច តើ ដែល ដើម្បី ប្រសិនបើ សូម របៀប ដោយ
في من إلى على عن مع هل ما ماذا متى أين كيف لماذا من كم أي هذا هذه ذلك التي الذي أن إن لا لم لن كان يكون هو هي أنا نحن أنت لي و أو يمكن يمكنني أريد
של את על עם אל מן לא כן מה מתי איפה איך למה מי כמה איזה זה זאת הוא היא אני אנחנו אתה יש אין או אם כי האם אפשר ניתן
क्या कैसे कब कहाँ कहां कौन क्यों कितना कितने का की के को में से पर और या है हैं हो था थे मैं मेरा मेरी मेरे आप आपका हम यह वह नहीं कर सकता सकते करें लिए एक
`;

let stopwords: ReadonlySet<string> | undefined;

/** Whether a term is one of the words that only carry a question, in any of the languages known here. */
export function isStopword(term: string): boolean {
  stopwords ??= new Set(terms(list));
  return stopwords.has(term);
}
