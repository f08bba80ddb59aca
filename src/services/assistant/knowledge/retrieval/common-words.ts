// Words of general use ("find", "long", "happen"), by language: they say less about what a question asks for than its
// nouns do, and documents put them in other words. They weigh less in judging coverage. Words only, no rule.
import { terms } from './terms.ts';

const list = `
able again ago ahead allow allowed alone along already also although always amount another anybody anyone anything anyway apart around aside ask asked away
back bad because become before began begin behind being believe below beside besides best better between beyond big bit both bought bring bringing brought call
called came care case certain come comes coming consider contain contains could couldn't count cover depend depends did didn't different difference doesn't
don't done down during each early easy either else end enough especially ever every everybody everyone everything exactly example expect explain fact far
fast feel few find finding fine first follow following forget forgot found full further gave generally getting give given go goes going gone good got great
had half happen happened happens hard has hear heard held hold hope inside instead isn't it's keep keeping kept kind knew know known large last late later
least leave left less lets like little live long longer look looking lost lot lots made main make makes making many matter maybe mean means meant might mind
minute moment more most move much need needed needs never new next nice nobody none normal normally nothing now number off offer offered often old once one
ones only open opposite other others otherwise ought ourselves outside over own part particular past people per perhaps person piece place please point
possible prefer problem probably provide purpose put question quick quickly quite rather read ready real really reason receive recommend regarding rest right
run running said same saw say says second see seem seems seen send set several shall she shouldn't show side simple since single slow small someone
somebody something sometimes somewhere soon sort speak start started starting stay still stop stopped stuff such suddenly support supported suppose sure take
taken takes taking talk tell than thing things think though thought three through throughout thus today together told tomorrow took toward tried trouble
true try trying turn turned turns two type under unless until unable up upon usage use used useful using usual usually various via wait waiting wanna wasn't
whatever whenever whether while whole wish won't wonder wondering work working works worry would wrong yesterday yet yourself
condition conditions detail details duration guideline guidelines info information option options period policies policy procedure procedures process rule rules
terms time times window
abholen bedingungen dauer informationen regel regeln regelung regelungen richtlinie richtlinien zeit also alle allem allen alles andere anderen anders bekomme bekommen bekommt besser beste bisschen bleiben bleibt brauche brauchen braucht bringen
bringt dabei dafür damit danach daran darauf darf dass davon dazu denn doch dort eigentlich einfach einmal erst etwas fange findet finde finden fragen früh
funktioniert ganz geben gehen geht genau gern gerne gestern gilt groß gut gute guten habt halten heute hier hilft hinter immer irgendwo jede jeden jeder
jemand jetzt klein kommen kommt konnte lang lange lassen letzte letzten machen macht man manchmal mehr mehrere meisten mitnehmen mögen möchte möglich morgen
müssen nächste nehmen neu neue nichts nie niemand noch nötig nutzen oft passiert probieren richtig sagen schnell schon schlecht sehen selbst später stehen
steht stimmt tun überhaupt viel viele vielleicht vorher wann weg weiter weiß wenig weniger wenn werde wieder wissen wo wohin ziemlich zusammen zurück
包括 比较 必须 别的 不同 不能 出现 从来 大 得到 等 发生 发现 关于 还是 好 后 或者 几个 继续 今天 进行 经常 就是 觉得 开始 看 看到 可能 来 两 没 每 明天 哪些 那里 那么 前 去 全部 然后 容易 如果
什么样 时候 使用 是否 收到 说 所有 特别 提供 停止 同样 完全 完成 现在 相同 想要 小 新 需要 一个 一些 一样 已经 以后 以前 应该 用 有时 怎么办 找 找到 这里 这些 这样 知道 只 支持 种 自己 最 做
いつも いろいろ うち かかる かける しまう すぐ すべて ちょっと つく とき どんな ない なる はじめる ほう ほか ほど まだ みる もう もらう よく られる わかる 一番 今 今日 使う 使える 使用 使い 全部 前 可能 同じ
大きい 始める 後 思う 探す 新しい 方法 明日 時 時間 次 止まる 必要 知る 行く 見る 見つかる 起きる 違う
กว่า ก่อน ขอ เข้า ค่อย เคย ครั้ง ง่าย ช่วย ใช้ ใช่ ดี ด้วย ดู ต่อ ตอน ตอนนี้ ตั้งแต่ ถึง ถูก ทั้งหมด ทุก เท่านั้น นาน นอก น้อย บาง บ้าง แบบ ไป เปลี่ยน ผิด พบ พอ เพราะ เพียง มาก เมื่อ ยัง รู้ เริ่ม เรื่อง แรก
ละ ลอง วันนี้ พรุ่งนี้ ส่วน สิ่ง หลัง หลาย หา เห็น เหมือน ใหม่ อีก เอง เอา
`;

let commonWords: ReadonlySet<string> | undefined;

/** Whether a term is a word of general use, in one of the languages known here. */
export function isCommonWord(term: string): boolean {
  commonWords ??= new Set(terms(list));
  return commonWords.has(term);
}
