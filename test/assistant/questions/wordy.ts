// Owns: questions as people write them in a chat: greetings, a story, and somewhere in it what they want to know.
// Must not be fitted to what a search happens to find.
import { about } from './question.ts';

const tea = about('teashop');
const bicycles = about('bicycles');
const time = about('timesheets');

export const wordy = [
  tea.answered(
    'wordy',
    'Hello! I ordered a birthday present for my sister in Zurich last week. What does delivery to Switzerland cost?',
    'delivery-abroad.md',
    '17.50 euros',
  ),
  tea.answered(
    'wordy',
    'Good evening, my grandmother gave me one of your cards two years ago and I only found it now in a drawer. How long is a gift card valid?',
    'gift-cards.md',
    'three years',
  ),
  tea.answered(
    'wordy',
    'The parcel came today and the postman must have dropped it. The teapot is broken. What should I do now?',
    'damaged.txt',
    'replacement at once',
  ),
  tea.answered(
    'wordy',
    'Hi there, we are going to spend the weekend in Alsace and would love to visit you. Is the tea room in Colmar open on Sunday?',
    'shops.md',
    'Wednesday to Sunday',
  ),
  tea.answered(
    'wordy',
    'I am going on a long journey next month. Can I pause my subscription? Thanks a lot, Marie',
    'subscription.md',
    'before the 20th',
  ),
  bicycles.answered(
    'wordy',
    'Hey, we rented two of your bikes this morning and are somewhere by the river now. We have a flat tyre. Can somebody help us please?',
    'breakdown.md',
    '45 minutes',
  ),
  bicycles.answered(
    'wordy',
    'Sorry to bother you, the weather looks awful for tomorrow. Can I cancel my booking free of charge?',
    'cancellation.md',
    '24 hours',
  ),
  bicycles.answered(
    'wordy',
    'My husband is quite tall and I am rather small. We have two kids of three and five. What does a trailer cost?',
    'children.md',
    '12 euros a day',
  ),
  bicycles.answered(
    'wordy',
    'Hallo zusammen, ich war gestern bei euch und es hat uns sehr gefallen. Wo bekomme ich eine Rechnung für meine Firma?',
    'de-mieten.md',
    'rechnung@larkwheel.example',
  ),
  time.answered(
    'wordy',
    'Hi team, our nightly job has been failing since Tuesday and my boss is getting nervous. How many requests a minute may a token send?',
    'api-limits.md',
    '120 requests',
  ),
  time.answered(
    'wordy',
    'We are a small charity from Leeds helping refugees. Your tool looks great. Is there a reduced price for non-profits?',
    'plans.md',
    'pay half',
  ),
  time.answered(
    'wordy',
    'I dropped my phone into a lake yesterday and bought a new one. How do I set up two-factor authentication on the new phone?',
    'two-factor.md',
    'recovery code',
  ),
  tea.unanswered(
    'wordy',
    'Hello! I visited you last summer with my choir and we loved the cake. Could you send me the recipe of the cake?',
  ),
  bicycles.unanswered(
    'wordy',
    'Good morning, we are planning a trip with our club in May. Do you also rent out canoes?',
  ),
  time.unanswered(
    'wordy',
    'Hi, I am a student writing a thesis about start-ups. How many customers does Tallybird have?',
  ),
  tea.unanswered(
    'wordy',
    'My neighbour recommended you to me. I am looking for a wedding location. Can one rent the tea room for a wedding?',
  ),
];
