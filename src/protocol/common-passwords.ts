// The passwords that are tried first: from the lists of the most frequent ones in published leaks, those of at least
// eight characters. A digit or a mark at the end does not make them another.

const words = `
  password passw0rd p@ssword p@ssw0rd password1 password12 password123 passwort passwort1 motdepasse contraseña
  12345678 123456789 1234567890 123123123 87654321 987654321 0987654321 11111111 00000000 88888888 66666666 99999999
  11223344 12341234 12344321 112233445566 147258369 159357456 789456123 1qaz2wsx 1q2w3e4r 1q2w3e4r5t q1w2e3r4 1qazxsw2
  zaq12wsx zaq1zaq1 qwertyui qwertyuiop qwerty12 qwerty123 qwerty1234 qwertz123 qwertzui azerty123 asdfghjk asdfghjkl
  asdfasdf zxcvbnm1 zxcvbnm123 qazwsxedc abcd1234 abcdefgh abcdefg1 abc12345 abcabc123 a1b2c3d4 a1234567 aa123456
  asd12345 asdf1234 qwer1234 pass1234 test1234 temp1234 user1234 admin123 admin1234 administrator welcome1 welcome123
  changeme changeme1 letmein1 letmein123 iloveyou iloveyou1 princess sunshine football baseball basketball superman
  batman123 spiderman pokemon1 starwars computer internet michelle jennifer jessica1 samantha danielle victoria
  elizabeth alexander christopher benjamin nicholas jonathan charlie1 whatever trustno1 dragon123 monkey123 shadow123
  master123 midnight mercedes porsche1 corvette ferrari1 liverpool arsenal1 chelsea1 manchester barcelona realmadrid
  chocolate butterfly snowball diamonds security secret123 samsung1 facebook linkedin1 lovelove loveyou1 babygirl
  blink182 mustang1 maverick hellokitty nintendo playstation minecraft metallica slipknot1 rockstar cocacola
  december november september february summer2024 summer2025 summer2026 winter2024 winter2025 winter2026 spring2025
  spring2026 autumn2025 autumn2026 deskbell support1 support123 helpdesk helpdesk1 operator operator1
`;

const common = new Set(words.trim().split(/\s+/).map(simplify));

/** Lower case, without the marks and digits that are added at the end to please a rule. */
function simplify(password: string): string {
  const lower = password.normalize('NFC').toLowerCase();
  const bare = lower.replace(/(?<![\d!?.*#$@_-])[\d!?.*#$@_-]+$/u, '');
  // A password of digits alone would become nothing.
  return bare.length < 5 ? lower : bare;
}

/** Whether a password is among those that are tried first, or one character over and over. */
export function isCommonPassword(password: string): boolean {
  return common.has(simplify(password)) || /^(.)\1*$/u.test(password);
}
