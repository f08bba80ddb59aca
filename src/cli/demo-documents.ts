// What the demo's assistant knows: a few pages of help of the made-up tea shop in src/http/pages/demo.ts. Text only.

export const demoDocuments: readonly { readonly source: string; readonly content: string }[] = [
  {
    source: 'delivery.md',
    content: `# Delivery

## How long it takes

We send every order on the day that we get it, if it comes before 14:00. A parcel takes one to two working days within the country, and three to six to the rest of Europe.

## What it costs

Delivery costs 3.90 euros, and nothing from 40 euros on.

## Following a parcel

The mail with which we tell you that a parcel is on its way has a link to follow it.
`,
  },
  {
    source: 'returns.md',
    content: `# Returns

Unopened tins can be returned within 30 days; we pay for the label. Cups and pots too, as long as they have not been used.

## Broken on the way

Send us a photo of what arrived broken, within a week: you get a new one, and need not return the pieces.

## Money back

We pay back within five days after the parcel has reached us, the way in which you paid.
`,
  },
  {
    source: 'teas.md',
    content: `# Our teas

## Caffeine

Slow Meadow and Late Garden hold no caffeine. North Window holds a little, Morning Harbour as much as a cup of coffee.

## How long to steep

- Morning Harbour: four minutes, boiling water.
- North Window: two minutes at 70 degrees.
- Slow Meadow and Late Garden: eight minutes, boiling water.

## Keeping it fresh

Keep the tin closed, dark and dry. Green tea is best within six months, black tea within two years.
`,
  },
];
