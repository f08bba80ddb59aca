// Attacks retrieval: every script finds its words, nothing typed is syntax, what one
// tenant has never shows or counts in another, and vectors only ever add.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Embeddings } from '../../src/services/assistant/language-model.ts';
import { embedMissing, findNearestRows } from '../../src/services/assistant/knowledge/vectors.ts';
import {
  thresholds,
  retrieve,
  type Retrieved,
} from '../../src/services/assistant/knowledge/retrieval/retrieval.ts';
import type { Service } from '../../src/services/service.ts';
import { startApp, type TestApp } from '../helpers/app.ts';
import { rowsOf } from '../helpers/database.ts';
import { eventually } from '../helpers/eventually.ts';
import { createApplication, createOrganization, type TestOrganization } from '../helpers/fixtures.ts';

let app: TestApp;
let names = 0;

beforeAll(async () => {
  app = await startApp();
});
afterAll(() => app.stop());

const fresh = (): Promise<TestOrganization> => createOrganization(app, `org-${(names += 1)}`);

async function add(applicationId: string, source: string, content: string): Promise<void> {
  await app.local('knowledge.add', { applicationId, source, content, url: `https://docs.example/${source}` });
}

const find = (applicationId: string, question: string, most = 5): Promise<Retrieved> =>
  retrieve(app.service, applicationId, question, most);

describe('words', () => {
  let id: string;
  beforeAll(async () => {
    id = (await fresh()).application.id;
    const documents = {
      english:
        '# Orders\n\n## Cancelling an order\n\nOrders can be cancelled until they are shipped. Open the order and press Cancel.\n\n## Invoices\n\nInvoices are sent by e-mail as PDF.',
      german:
        '# Lieferung\n\nDie Lieferung nach Österreich dauert fünf Werktage. Rechnungen liegen der Sendung bei.',
      chinese: '# 退款政策\n\n我们在收到退货后的十四天内退款。\n\n## 取消订单\n\n发货之前可以取消订单。',
      japanese: '# パスワード\n\nパスワードを忘れた場合は、ログイン画面から再設定できます。',
      thai: '# การคืนเงิน\n\nเราคืนเงินภายในสิบสี่วันหลังจากได้รับสินค้า',
      khmer: '# ការសងប្រាក់\n\nយើងសងប្រាក់វិញក្នុងរយៈពេលដប់បួនថ្ងៃ។',
      korean: '# 환불\n\n상품을 받은 후 14일 이내에 환불해 드립니다. 배송비는 고객이 부담합니다.',
      russian: '# Возврат\n\nВозврат товара возможен в течение четырнадцати дней.',
      arabic: '# الاسترجاع\n\nيمكن استرجاع المنتج خلال أربعة عشر يوما من الاستلام.',
      hindi: '# वापसी\n\nआप चौदह दिनों के भीतर उत्पाद वापस कर सकते हैं।',
    };
    for (const [source, content] of Object.entries(documents)) await add(id, source, content);
  });

  it.each([
    ['How can I cancel my order?', 'english'],
    ['CANCELLATION of orders', 'english'],
    ['cancelled orders', 'english'],
    ['Wie lange dauert die Lieferung nach Osterreich?', 'german'],
    ['Rechnung', 'german'],
    ['如何取消订单？', 'chinese'],
    ['退款需要多少天？', 'chinese'],
    ['パスワードを忘れました', 'japanese'],
    ['คืนเงินภายในกี่วัน', 'thai'],
    ['សងប្រាក់វិញក្នុងរយៈពេលប៉ុន្មានថ្ងៃ', 'khmer'],
    ['환불은 며칠 이내에 되나요?', 'korean'],
    ['배송비를', 'korean'],
    ['배송비', 'korean'],
    ['Как вернуть деньги, возврата товаров', 'russian'],
    ['استرجاع المنتج', 'arabic'],
    ['उत्पाद वापस', 'hindi'],
  ])('finds %s', async (question, source) => {
    const { passages } = await find(id, question);
    expect(passages[0]?.url?.replace(/#.*/, '')).toBe(`https://docs.example/${source}`);
    expect(passages[0]?.coverage).toBeGreaterThan(0.3);
  });

  it('answers heading, anchor, coverage and scores, best first', async () => {
    const { passages, coverage, confidence } = await find(id, 'How do I cancel an order?');
    expect(passages[0]).toMatchObject({
      title: 'Orders',
      heading: 'Cancelling an order',
      url: 'https://docs.example/english#cancelling-an-order',
      text: 'Orders can be cancelled until they are shipped. Open the order and press Cancel.',
    });
    expect(confidence.answer).toBeGreaterThan(thresholds.answer);
    expect(coverage).toBeGreaterThan(0.7);
    expect(coverage).toBeLessThanOrEqual(1);
    expect(passages.map(({ score }) => score)).toEqual(
      passages.map(({ score }) => score).toSorted((a, b) => b - a),
    );
  });

  it('puts a question about something else below the threshold', async () => {
    for (const question of [
      'Do you sell gift cards for bicycles?',
      'Who won the football match?',
      '你们卖自行车吗？',
      'quantum chromodynamics',
    ])
      expect((await find(id, question)).confidence.answer, question).toBeLessThan(thresholds.answer);
  });

  it('finds nothing by words that only carry a question', async () => {
    for (const question of ['How can I do that?', 'what is it', 'the', '怎么', '???', '   ', '🙂', '"" ()'])
      expect(await find(id, question), question).toMatchObject({ passages: [], coverage: 0 });
  });

  it('takes nothing typed for syntax', async () => {
    for (const question of [
      "what's an invoice?",
      'invoice "pdf',
      'invoice AND (',
      'NOT invoice',
      'invoice*',
      '-invoice',
      'invoice NEAR(pdf, 1)',
      'heading:invoice',
      '{heading words} : invoice',
      '^invoice',
      'invoice + pdf',
      "invoice'); drop table knowledge_passages; --",
      'invoice \u0000 pdf',
      'c++ invoice',
      '\ud800 invoice',
    ])
      expect((await find(id, question)).passages[0]?.text, question).toContain('Invoices are sent');
    // Operators are words like others: OR must not widen, NOT must not exclude.
    expect((await find(id, 'invoices NOT invoices')).passages[0]?.text).toContain('Invoices are sent');
  });

  it('reads only so many words of a long question', async () => {
    const long = `invoice pdf ${Array.from({ length: 5_000 }, (_, n) => `word${n}`).join(' ')}`;
    const { passages } = await find(id, long);
    expect(passages[0]?.text).toContain('Invoices are sent');
  });

  it('sees through invisible characters in a question', async () => {
    expect((await find(id, 'in\u200bvoi\u00adces \u{e0041}\u202epdf')).coverage).toBe(
      (await find(id, 'invoices pdf')).coverage,
    );
  });
});

describe('synonyms', () => {
  it('widen a question, of one application only', async () => {
    const acme = await fresh();
    const second = await createApplication(app, acme.slug, 'second.example');
    for (const { id } of [acme.application, second])
      await add(id, 'a', '# Wombats\n\nA capybara takes fourteen days.');
    const question = 'How do I get my fluffy beast?';
    expect((await find(acme.application.id, question)).passages).toEqual([]);
    await app.local('knowledge.setSynonyms', {
      applicationId: acme.application.id,
      synonyms: [['capybara', 'fluffy beast', 'water pig']],
    });
    const { passages, coverage } = await find(acme.application.id, question);
    expect(passages[0]?.text).toContain('capybara');
    expect(coverage).toBeGreaterThan(0.7);
    expect(coverage).toBeLessThan(1);
    expect((await find(second.id, question)).passages).toEqual([]);
    // A phrase is meant whole: neither of its words alone.
    expect((await find(acme.application.id, 'fluffy')).passages).toEqual([]);
    await app.local('knowledge.setSynonyms', { applicationId: acme.application.id, synonyms: [] });
    expect((await find(acme.application.id, question)).passages).toEqual([]);
  });

  it('that are broken in the database widen nothing', async () => {
    const { application } = await fresh();
    await add(application.id, 'a', 'A reimbursement takes fourteen days.');
    await rowsOf(app, `insert into knowledge_synonyms values ('${application.id}', '{"not": ["a list"')`);
    expect((await find(application.id, 'reimbursement')).passages).toHaveLength(1);
  });
});

describe('tenants', () => {
  it('never see each other, with the same words and the same source', async () => {
    const [acme, other] = [await fresh(), await fresh()];
    const second = await createApplication(app, acme.slug, 'third.example');
    const places = [acme.application.id, other.application.id, second.id];
    for (const [index, id] of places.entries())
      await add(id, 'refunds', `# Refunds\n\nThe refund policy is CANARY-${index}.`);
    for (const [index, id] of places.entries()) {
      for (const question of [
        'refund policy',
        'canary',
        `CANARY-${(index + 1) % 3}`,
        'refund OR policy',
        'heading:refunds',
        '1xrefund 2xrefund 3xrefund',
        'x',
      ]) {
        const { passages } = await find(id, question, 50);
        for (const { text } of passages) expect(text, question).toContain(`CANARY-${index}`);
      }
      expect((await find(id, 'refund policy', 50)).passages).toHaveLength(1);
    }
  });

  it('do not count in each other: coverage and score stay the same to the digit', async () => {
    const [acme, other] = [await fresh(), await fresh()];
    const { id } = acme.application;
    for (let n = 0; n < 8; n += 1)
      await add(
        id,
        `d${n}`,
        `# Topic ${n}\n\nThe zebra number ${n} eats ${n % 2 === 0 ? 'grass' : 'hay'} in the evening.`,
      );
    const questions = ['zebra', 'which zebra eats hay', 'evening unicorn', 'topic 3'];
    const before = await Promise.all(questions.map((question) => find(id, question)));
    for (let n = 0; n < 40; n += 1)
      await add(
        other.application.id,
        `d${n}`,
        `# Unicorn hay ${n}\n\nunicorn zebra hay grass topic evening `.repeat(20),
      );
    expect(await Promise.all(questions.map((question) => find(id, question)))).toEqual(before);
  });

  it('are held apart even where the index itself is wrong', async () => {
    const [acme, other] = [await fresh(), await fresh()];
    await add(acme.application.id, 'a', 'The refund policy of acme.');
    await add(other.application.id, 'a', 'The refund policy of CANARY.');
    // As if the two shared a number.
    const number = Number(
      (
        await rowsOf(
          app,
          `select number from knowledge_scopes where application_id = '${other.application.id}'`,
        )
      )[0]?.['number'],
    );
    await rowsOf(app, `delete from knowledge_scopes where application_id = '${other.application.id}'`);
    await rowsOf(
      app,
      `update knowledge_scopes set number = ${number} where application_id = '${acme.application.id}'`,
    );
    expect(JSON.stringify(await find(acme.application.id, 'refund policy'))).not.toContain('CANARY');
  });

  it('have nothing where there is nothing', async () => {
    expect(await find((await fresh()).application.id, 'refund')).toEqual({
      passages: [],
      coverage: 0,
      confidence: { answer: 0, choices: 0 },
    });
    expect(await find('no application', 'refund')).toEqual({
      passages: [],
      coverage: 0,
      confidence: { answer: 0, choices: 0 },
    });
  });
});

describe('many passages', () => {
  it('are found by their rare words, even where the others are everywhere', async () => {
    const { application } = await fresh();
    const sections = Array.from(
      { length: 600 },
      (_, n) => `## Part ${n}\n\nThe machine needs oil and water, and part code${n} too.`,
    );
    await add(application.id, 'manual', `# Manual\n\n${sections.join('\n\n')}`);
    expect(
      (await find(application.id, 'Which oil does the machine code417 need?')).passages[0]?.heading,
    ).toBe('Part 417');
    expect((await find(application.id, 'machine oil')).passages).toHaveLength(5);
  });

  it('do not bury one with the words of the question under general synonyms of them', async () => {
    const { application } = await fresh();
    const alike = Array.from(
      { length: 200 },
      (_, n) => `## Fee, rate and price ${n}\n\nThe fee is a rate, the rate is a price, and the price a fee.`,
    );
    const right = `## Abroad\n\n${'Whatever lies in a box goes by the next ship. '.repeat(12)}Its cost is that of a stamp.`;
    await add(application.id, 'manual', `# Manual\n\n${[...alike, right, ...alike].join('\n\n')}`);
    const { passages } = await find(application.id, 'what is the cost of it', 200);
    expect(passages.map(({ heading }) => heading)).toContain('Abroad');
  });

  it('do not bury one that speaks of all that is asked under many that repeat a part of it', async () => {
    const { application } = await fresh();
    // Longer than they are and no denser in any word, it comes after all of them in the index's own order.
    const alike = Array.from(
      { length: 70 },
      (_, n) => `## Part ${n}\n\nharvester filter harvester filter harvester filter harvester filter.`,
    );
    const others = Array.from({ length: 200 }, (_, n) => `## Sheet ${n}\n\nA boat in winter.`);
    const story =
      'Whatever lies in a box goes by the next ship, and whatever does not goes by the one after. ';
    const right = `## Afloat\n\n${story.repeat(3)}The harvester boat needs its filter.`;
    await add(application.id, 'manual', `# Manual\n\n${[...alike, ...others, right].join('\n\n')}`);
    const { passages } = await find(application.id, 'harvester boat filter', 200);
    expect(passages.map(({ heading }) => heading)).toContain('Afloat');
  });

  it('are looked up in turns, so that no question holds the others up', async () => {
    const { application } = await fresh();
    await add(application.id, 'manual', '# Manual\n\nThe machine needs oil.');
    let turns = 0;
    let isAsking = true;
    const count = (): void => {
      turns += 1;
      if (isAsking) setImmediate(count);
    };
    setImmediate(count);
    const words = Array.from({ length: 30 }, (_, n) => `word${n}`).join(' ');
    await find(application.id, `oil ${words}`);
    isAsking = false;
    // The application, its words by eight, headings, texts, vectors, kept questions.
    expect(turns).toBeGreaterThanOrEqual(8);
  });
});

describe('vectors', () => {
  /** Meaning by the first letter of each word: enough to be near without a word in common. */
  const vectorOf = (text: string): Float32Array => {
    const vector = new Float32Array(26);
    for (const [letter] of text.toLowerCase().matchAll(/\b[a-z]/g)) vector[letter.charCodeAt(0) - 97]! += 1;
    return vector;
  };
  let asked: string[][] = [];
  let answer: (texts: readonly string[], signal: AbortSignal) => Promise<readonly Float32Array[]>;
  let service: Service;
  let acme: TestOrganization;
  const never = new AbortController().signal;

  beforeEach(async () => {
    asked = [];
    answer = async (texts) => texts.map(vectorOf);
    const embeddings: Embeddings = {
      name: `letters-${(names += 1)}`,
      embed: (texts, { signal }) => {
        asked.push([...texts]);
        return answer(texts, signal);
      },
    };
    service = {
      ...app.service,
      model: { name: 'none', complete: () => Promise.reject(new Error('not here')), embeddings },
    };
    acme = await fresh();
    await add(
      acme.application.id,
      'a',
      '# Alpha\n\n## Qualm\n\nquiz quota quest\n\n## Zebra\n\nzebra zeal zone',
    );
  });

  const rows = async (): Promise<Record<string, unknown>[]> =>
    await rowsOf(
      app,
      `select text, embedding, embedding_model from knowledge_passages where application_id = '${acme.application.id}' order by row`,
    );

  it('are made once for each passage, and again for another model or another text', async () => {
    await embedMissing(service, never);
    expect(
      asked
        .flat()
        .some(
          (text) => text.includes('quiz quota quest') && text.includes('Qualm') && text.includes('Alpha'),
        ),
    ).toBe(true);
    expect((await rows()).every((row) => (row['embedding'] as Uint8Array).byteLength === 26 * 4)).toBe(true);
    asked = [];
    await embedMissing(service, never);
    expect(asked).toEqual([]);
    await add(acme.application.id, 'a', '# Alpha\n\nchanged');
    await embedMissing(service, never);
    expect(asked.flat()).toHaveLength(1);
  });

  it('find what words do not, without raising the coverage', async () => {
    await embedMissing(service, never);
    const { passages, coverage } = await retrieve(service, acme.application.id, 'quaint queer quarry', 5);
    expect(passages[0]?.text).toBe('quiz quota quest');
    expect(coverage).toBe(0);
    expect((await retrieve(service, acme.application.id, 'zebra', 5)).passages[0]?.text).toContain('zebra');
  });

  it('join the words in one order: what both find stands before what one of them finds', async () => {
    await add(
      acme.application.id,
      'b',
      '# Beta\n\n## Ale\n\nbeaver ale apple ant\n\n## Rye\n\nbeaver rye rock run\n\n## Aim\n\naim ask air',
    );
    const question = 'beaver acorn arch';
    const headings = async (from: Service): Promise<(string | null)[]> =>
      (await retrieve(from, acme.application.id, question, 3)).passages.map(({ heading }) => heading);
    expect(await headings(app.service)).toEqual(['Rye', 'Ale']);
    await embedMissing(service, never);
    const joined = await headings(service);
    expect(joined[0]).toBe('Ale');
    expect(joined).toContain('Aim');
  });

  it('make a passage surer that is also near, and no surer one that is far', async () => {
    await add(
      acme.application.id,
      'b',
      '# Beta\n\n## Zoo\n\nzebra zinc zenith\n\n## Yard\n\nzebra mice moon',
    );
    await embedMissing(service, never);
    const confidence = async (question: string): Promise<number> =>
      (await retrieve(service, acme.application.id, question, 5)).confidence.answer;
    expect(await confidence('zenith zzz')).toBeGreaterThan(await confidence('zenith mmm'));
  });

  it('never lead into another tenant', async () => {
    const other = await fresh();
    await add(other.application.id, 'a', 'quiz CANARY quota');
    await embedMissing(service, never);
    for (const question of ['quiz quota', 'quaint queer', 'canary']) {
      expect(
        JSON.stringify(await retrieve(service, acme.application.id, question, 50)),
        question,
      ).not.toContain('CANARY');
    }
  });

  it('of another tenant take no place among the nearest', async () => {
    const other = await fresh();
    const crowd = Array.from({ length: 80 }, (_, n) => `## Q${n}\n\nquaint queer quarry ${n}`).join('\n\n');
    await add(other.application.id, 'q', crowd);
    await embedMissing(service, never);
    expect((await retrieve(service, acme.application.id, 'quaint queer quarry', 5)).passages[0]?.text).toBe(
      'quiz quota quest',
    );
  });

  it.each<[string, () => typeof answer]>([
    ['fails', () => () => Promise.reject(new Error('no'))],
    ['answers nothing', () => async () => []],
    ['answers vectors of another length', () => async () => [new Float32Array(3).fill(1)]],
    ['answers no numbers', () => async () => [new Float32Array(26).fill(Number.NaN)]],
    ['answers zeros', () => async () => [new Float32Array(26)]],
  ])('leave the words to answer when the model %s', async (_what, failing) => {
    await embedMissing(service, never);
    answer = failing();
    const found = await retrieve(service, acme.application.id, 'zebra', 5);
    expect(found).toEqual(await find(acme.application.id, 'zebra'));
    expect(found.passages).toHaveLength(1);
  });

  it('are not waited for when the model hangs', async () => {
    await embedMissing(service, never);
    let stopped = false;
    answer = (_texts, signal) =>
      new Promise(() => {
        signal.addEventListener('abort', () => (stopped = true));
      });
    const under = retrieve(service, acme.application.id, 'zebra', 5);
    const began = asked.length;
    await eventually(() => expect(asked.length).toBeGreaterThan(began - 1));
    await eventually(() => {
      app.clock.advance(1_000);
      expect(stopped).toBe(true);
    });
    expect((await under).passages).toHaveLength(1);
    // For a while no one waits for it again.
    const calls = asked.length;
    expect((await retrieve(service, acme.application.id, 'zebra', 5)).passages).toHaveLength(1);
    expect(asked.length).toBe(calls);
    app.clock.advance(30_000);
    answer = async (texts) => texts.map(vectorOf);
    await retrieve(service, acme.application.id, 'zebra', 5);
    expect(asked.length).toBe(calls + 1);
  });

  it('are not asked for while no passage has one', async () => {
    await retrieve(service, acme.application.id, 'zebra', 5);
    expect(asked).toEqual([]);
  });

  it('go on after a fault where they stopped', async () => {
    const more = Array.from({ length: 50 }, (_, n) => `## H${n}\n\ntext ${n}`).join('\n\n');
    await add(acme.application.id, 'b', more);
    let calls = 0;
    answer = async (texts) => {
      calls += 1;
      if (calls === 2) throw new Error('away');
      return texts.map(vectorOf);
    };
    await expect(embedMissing(service, never)).rejects.toThrow('away');
    const done = (await rows()).filter((row) => row['embedding'] !== null).length;
    expect(done).toBeGreaterThan(0);
    await embedMissing(service, never);
    expect((await rows()).filter((row) => row['embedding'] === null)).toEqual([]);
  });

  /** More than two pages of passages, with those of another application between them. */
  async function fillPages(): Promise<number[]> {
    const other = await fresh();
    const sections = (n: number): string =>
      Array.from({ length: n }, (_, at) => `## Q${at}\n\nquest ${at}`).join('\n\n');
    for (const [at, part] of [700, 700, 700].entries()) {
      await add(acme.application.id, `part${at}`, sections(part));
      await add(other.application.id, `part${at}`, sections(20));
    }
    await embedMissing(service, never);
    const own = await rowsOf(
      app,
      `select row from knowledge_passages where application_id = '${acme.application.id}' order by row`,
    );
    expect(own.length).toBeGreaterThan(2_000);
    return own.map(({ row }) => Number(row));
  }

  it('are each compared once, whatever page they are on, in the order of their likeness', async () => {
    const own = await fillPages();
    const nearest = await findNearestRows(
      service,
      acme.application.id,
      'quaint quarry zebra',
      own.length + 10,
    );
    expect(nearest.map(({ row }) => row).toSorted((a, b) => a - b)).toEqual(own);
    expect(nearest).toEqual(nearest.toSorted((a, b) => b.likeness - a.likeness || a.row - b.row));
    // Of few, those are kept that are nearest among all pages.
    expect(await findNearestRows(service, acme.application.id, 'quaint quarry zebra', 7)).toEqual(
      nearest.slice(0, 7),
    );
  });

  it('are compared in slices, so that no question holds the others up', async () => {
    await fillPages();
    let turns = 0;
    const atPage: number[] = [];
    const { engine } = service;
    // A page takes as long as a slice may: the time is moved by hand.
    const read: typeof engine.store.read = (work) => {
      atPage.push(turns);
      app.clock.advance(20);
      return engine.store.read(work);
    };
    const slow: Service = {
      ...service,
      engine: {
        ...engine,
        store: Object.create(engine.store, { read: { value: read } }) as typeof engine.store,
      },
    };
    let isAsking = true;
    const count = (): void => {
      turns += 1;
      if (isAsking) setImmediate(count);
    };
    setImmediate(count);
    await findNearestRows(slow, acme.application.id, 'quaint quarry', 5);
    isAsking = false;
    // The first read asks whether there are vectors.
    const pages = atPage.slice(1);
    expect(pages).toHaveLength(3);
    expect(new Set(pages).size, `turns at the pages: ${pages.join(', ')}`).toBe(3);
  });

  it('that the model has none of are not asked for for ever', async () => {
    answer = async (texts) => texts.map(() => new Float32Array(26));
    await embedMissing(service, never);
    const calls = asked.length;
    await embedMissing(service, never);
    expect(asked.length).toBe(calls);
  });
});
