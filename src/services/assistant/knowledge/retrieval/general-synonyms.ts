// Words that mean nearly the same in help texts everywhere, by language: what customers call a thing, and what
// documents call it. An application's own list comes on top. Words only, no rule.
import type { Synonyms } from '../../../../protocol/assistant.ts';

const list = `
price, cost, fee, rate, tariff, expensive, cheap
delivery, shipping, shipment, postage, dispatch
deliver, ship, dispatch
parcel, package
invoice, bill
refund, money back, reimbursement
return, send back, give back, bring back
cancel, cancellation, call off
delete, remove, erase, get rid of
account, profile, login
sign in, log in, login, sign on
sign up, register, registration, create an account
password, passphrase, credentials
pay, payment
voucher, coupon, promo code, discount code
discount, reduction, cheaper, price reduction
gift, present
gift card, gift voucher, gift certificate
buy, purchase
shop, store
opening hours, business hours, open, when do you open, what time
closed, shut
phone, telephone, mobile, cell phone, smartphone
call, phone, telephone
photo, photograph, picture, image
damaged, broken, defective, faulty, cracked
repair, fix, mend
exchange, swap, replace, replacement
warranty, guarantee
lost, missing, disappeared
stolen, theft, thief, robbed
address, street
e-mail, email, mail
newsletter, mailing list
unsubscribe, opt out, stop receiving, stop getting
subscription, subscribe
pause, suspend, put on hold
trial, try for free, test period
limit, maximum, quota, cap
minimum, at least, smallest
change, edit, modify, alter, correct, update
download, export
upload, import
connect, link, integrate, integration
error, failure, fault, bug
does not work, is broken, out of order
help, support, assistance
contact, reach
staff, employee, team member, colleague
owner, administrator
child, kid, toddler, baby
rent, hire, rental, borrow, lend
book, reserve, booking, reservation
appointment, meeting
deposit, security deposit
customs, duties, import tax
tax, VAT
privacy, data protection, GDPR, personal data
keep, save, retain
two-factor, 2FA, two step, second factor, MFA
single sign-on, SSO
switch on, turn on, enable, activate
switch off, turn off, disable, deactivate
expire, expiry, expiration, run out, valid until, valid
late, delay, delayed
track, tracking, follow
abroad, international, foreign country, other countries, overseas
collect, pick up, pickup, fetch
cash, banknotes
credit card, debit card, card
Preis, Kosten, kostet, kosten, Gebühr, teuer
Lieferung, Versand, Zustellung
liefern, versenden, schicken
Paket, Sendung, Päckchen
Rechnung, Quittung, Beleg
Rückgabe, Rücksendung, Retoure, zurückgeben, zurückschicken
Erstattung, Geld zurück, Rückzahlung, erstatten
stornieren, Stornierung, absagen, kündigen, Kündigung
Konto, Benutzerkonto, Profil
anmelden, einloggen, Login, Anmeldung
löschen, entfernen
bezahlen, zahlen, Zahlung, Bezahlung
Gutschein, Rabattcode
Rabatt, Ermäßigung, Nachlass, günstiger
Öffnungszeiten, geöffnet, offen, öffnet
Telefon, Handy, anrufen
kaputt, defekt, beschädigt
verloren, verlieren, Fundsachen, Fundbüro
gestohlen, Diebstahl, geklaut
Kind, Kinder
leihen, mieten, ausleihen, Verleih
buchen, Buchung, reservieren, Reservierung
Adresse, Anschrift
Mitarbeiter, Angestellte, Personal
`;

/** The lines as an application's list has them. */
export const generalSynonyms: Synonyms = list
  .trim()
  .split('\n')
  .map((line) => line.split(', '));
