// Owns: questions with slips of the finger, as people type them on a telephone.
// Must not be fitted to what a search happens to forgive.
import { about } from './question.ts';

const tea = about('teashop');
const bicycles = about('bicycles');
const time = about('timesheets');

export const misspelt = [
  tea.answered('misspelt', 'what does delivary to Switzerland cost', 'delivery-abroad.md', '17.50 euros'),
  tea.answered('misspelt', 'how long is a gfit card valid', 'gift-cards.md', 'three years'),
  tea.answered('misspelt', 'When do leaf points exprie?', 'loyalty.md', '24 months'),
  tea.answered('misspelt', 'forgoten pasword', 'account.html', '30 minutes'),
  tea.answered('misspelt', 'can I pasue the subscripton', 'subscription.md', 'before the 20th'),
  tea.answered('misspelt', 'do you accept amercan expres', 'payment.html', 'not accepted'),
  tea.answered('misspelt', 'wich countrys do you deliver to', 'delivery-abroad.md', 'Norway'),
  bicycles.answered('misspelt', 'minimun age for e-bikes', 'booking.md', '16'),
  bicycles.answered('misspelt', 'how high is the depositt for a cargo bicyle', 'deposit.md', '300 euros'),
  bicycles.answered(
    'misspelt',
    'are helmts for children free',
    'children.md',
    'Helmets for children are free',
  ),
  bicycles.answered('misspelt', 'the batery cannot be taken out', 'e-bike.md', 'red button'),
  bicycles.answered('misspelt', 'vinyard tour how long', 'tours.md', 'five hours'),
  time.answered(
    'misspelt',
    'when is a webhok delivery tried again',
    'webhooks.md',
    '1, 5, 30 and 120 minutes',
  ),
  time.answered('misspelt', 'how many reqests a minute may a token send', 'api-limits.md', '120 requests'),
  time.answered('misspelt', 'can i conect outlook', 'calendar.md', 'Outlook can be connected'),
  time.answered('misspelt', 'where do I find my invocies', 'plans.md', 'Billing → Invoices'),
  tea.unanswered('misspelt', 'do you acept bitcoins'),
  tea.unanswered('misspelt', 'parcking at the tea room in Colmar'),
  bicycles.unanswered('misspelt', 'do you rent tandms'),
  bicycles.unanswered('misspelt', 'do you delivr the bicycle to my hotell'),
  time.unanswered('misspelt', 'is there a drak mode'),
  time.unanswered('misspelt', 'can I pay with a checque'),
];
