import assert from 'node:assert/strict';
import { messageOf } from '../../lib/message/event-message';
import { authorizationFor, minutesAgo, payload, signed, station, type Signed } from './sample';
import { InlineInbox } from '../support/inbox/each-store';
import { ReceiverUnderTest } from './receiver-under-test';

const HOUR = 60;

describe('repeats, conflicts and age of messages', () => {
  let receiver: ReceiverUnderTest;
  beforeEach(async () => {
    receiver = await ReceiverUnderTest.start();
  });
  afterEach(() => receiver.close());

  const post = (...messages: Signed[]): Promise<void> => receiver.takes(...messages);

  const restart = async (...options: Parameters<typeof ReceiverUnderTest.start>): Promise<void> => {
    await receiver.close();
    receiver = await ReceiverUnderTest.start(...options);
  };

  const kinds = (): string[] => receiver.problems.map(({ kind }) => kind);

  /** Posts a further message, so that everything before it has been delivered. */
  async function settled(count: number): Promise<void> {
    await post(signed());
    await receiver.delivered(count + 1);
    assert.equal(receiver.deliveries.length, count + 1);
  }

  const facts = (index: number): ReturnType<typeof messageOf>['msg']['webhook'] =>
    messageOf(receiver.deliveries[index] ?? assert.fail(), new Date()).msg.webhook;

  it('C-60 T-28 delivers a resend with other transmit time once', async () => {
    const body = payload();
    for (const logCorrelationId of ['a', 'b', 'c'])
      await post(signed({ messageId: 'm-1', logCorrelationId, transmitTime: minutesAgo(0), payload: body }));
    await settled(1);
    assert.equal(receiver.problems.length, 0);
  });

  it('C-60 knows a resend whose keys come in another order, and C-61 no other whose list is in another', async () => {
    const body = { ...payload(), nested: { a: 1, b: { c: [1, 2], d: null } } };
    const other = {
      ...Object.fromEntries(Object.entries(body).reverse()),
      nested: { b: { d: null, c: [1, 2] }, a: 1 },
    };
    const another = { ...body, nested: { a: 1, b: { c: [2, 1], d: null } } };
    await post(...[body, other, another].map((each) => signed({ messageId: 'm-1', payload: each })));
    await settled(1);
    assert.deepEqual(kinds(), ['conflict']);
  });

  it('C-60 takes no id of half a character for another one, and knows its resend', async () => {
    const body = payload();
    for (const messageId of ['\uD800', '\uD801', '\uFFFD', 'm-\uDC00', '\uD800'])
      await post(signed({ messageId, payload: body }));
    await settled(4);
    assert.equal(receiver.problems.length, 0);
  });

  it('C-61 sends a second content of one id to output 3 alone, and knows its resend', async () => {
    const other = signed({ messageId: 'm-1' }, { cameraName: 'Gate 2' });
    await post(signed({ messageId: 'm-1' }), other, other);
    await settled(1);
    const [{ kind, messageId, event } = assert.fail(), ...others] = receiver.problems;
    assert.deepEqual([kind, messageId, event?.cameraName, others], ['conflict', 'm-1', 'Gate 2', []]);
  });

  it('C-62 gives a bad signature no word about known ids', async () => {
    const message = signed({ messageId: 'm-1' });
    await post(message);
    const forged = { ...message, headers: { Authorization: 'HMAC-SHA256 x' } };
    assert.equal(await receiver.statusOf(forged), 401);
    await post(message);
    await settled(1);
  });

  it('C-63 delivers two equal posts of the same moment once', async () => {
    const message = signed();
    await Promise.all([post(message), post(message), post(message)]);
    await settled(1);
  });

  it('C-65 delivers one id under two stations twice', async () => {
    receiver.stations = [station(), station({ key: 'south', secret: 'phrase of south' })];
    const { body } = signed({ messageId: 'm-1' });
    await post({ body, headers: { Authorization: authorizationFor(body) } });
    await post({ body, headers: { Authorization: authorizationFor(body, 'phrase of south') } });
    await settled(2);
  });

  const ending = (): Signed => signed({}, { eventEndTime: minutesAgo(0) });
  for (const [title, messages, found] of [
    ['delivers the end of an alarm as an update', [signed, ending], ['start true false', 'end false false']],
    ['marks a start that comes after its end', [ending, signed], ['end true false', 'start false true']],
  ] as const)
    it(`C-66 ${title}`, async () => {
      await post(...messages.map((message) => message()));
      await receiver.delivered(2);
      const told = [facts(0), facts(1)].map(({ phase, first, ended }) => `${phase} ${first} ${ended}`);
      assert.deepEqual(told, found);
    });

  it('T-24 counts an end time that is null, missing, empty or the zero date as none', async () => {
    const ends = [null, undefined, '', '0001-01-01T00:00:00'];
    for (const eventEndTime of ends) await post(signed({}, { eventEndTime }));
    await receiver.delivered(ends.length);
    for (const index of ends.keys())
      assert.deepEqual([facts(index).phase, facts(index).endTime], ['start', null]);
  });

  it('C-67 knows a replay after two hours', async () => {
    let steady = 0;
    await restart({ inbox: new InlineInbox({ steady: () => steady }) });
    const message = signed();
    await post(message);
    steady = 2 * HOUR * 60_000;
    await post(message);
    await settled(1);
  });

  /** A message sent just now: its sender's clock confirms ours. */
  async function confirmClock(): Promise<void> {
    await post(signed());
    await receiver.delivered(1);
  }

  it('C-68 calls a message stale that was sent more than 26 hours ago', async () => {
    await confirmClock();
    await post(signed({ transmitTime: `${minutesAgo(27 * HOUR)}Z` }));
    await settled(1);
    assert.deepEqual([kinds(), receiver.reasons()], [['stale'], ['too-old']]);
  });

  it('C-68 goes by the newest event time where the transmit time cannot be read', async () => {
    await confirmClock();
    await post(signed({ transmitTime: 'x' }, { eventStartTime: minutesAgo(27 * HOUR) }));
    const ended = { eventStartTime: minutesAgo(27 * HOUR), eventEndTime: minutesAgo(HOUR) };
    await post(signed({ transmitTime: 'x' }, ended));
    await settled(2);
    assert.deepEqual(receiver.reasons(), ['too-old']);
  });

  for (const [title, began, ended, isLate] of [
    ['a resend near the end of the 24 hours, as late', 23 * HOUR + 59, undefined, true],
    ['an end sent just now of an alarm that began 30 hours ago, not as late', 30 * HOUR, 0, false],
  ] as const)
    it(`C-69 accepts ${title}`, async () => {
      const eventEndTime = ended === undefined ? null : minutesAgo(ended);
      await post(signed({}, { eventStartTime: minutesAgo(began), eventEndTime }));
      await receiver.delivered(1);
      const { late, ageSeconds } = facts(0);
      assert.equal(late, isLate);
      assert.ok(Math.abs((ageSeconds ?? Infinity) - (ended ?? began) * 60) <= 5);
    });

  for (const minutes of [10, 24 * HOUR])
    it(`C-70 accepts a transmit time ${minutes} minutes ahead with a warning`, async () => {
      await post(signed({ transmitTime: `${minutesAgo(-minutes)}Z` }));
      await receiver.delivered(1);
      assert.deepEqual(facts(0).warnings, ['clock-skew']);
    });

  it('C-72 takes the sandbox for no second source, for it goes by the same clock', async () => {
    receiver.stations = [station({ sandbox: true })];
    await post(signed());
    await post(signed({ transmitTime: `${minutesAgo(27 * HOUR)}Z` }));
    await receiver.delivered(2);
    assert.deepEqual(receiver.problems, []);
  });

  it('C-72 calls nothing stale by a clock that jumped, until a sender agrees with it', async () => {
    let ahead = 0;
    await restart({ now: () => Date.now() + ahead });
    await confirmClock();
    ahead = 48 * HOUR * 60_000;
    await post(signed());
    await receiver.delivered(2);
    await post(signed({ transmitTime: `${minutesAgo(-48 * HOUR)}Z` }));
    await receiver.delivered(3);
    await post(signed());
    await receiver.until(() => receiver.problems.length === 1, 'the stale message');
    assert.deepEqual(receiver.reasons(), ['too-old']);
  });

  it('C-74 accepts messages without an alarmId, each as the first', async () => {
    await post(signed({}, { alarmId: undefined }), signed({}, { alarmId: undefined }));
    await receiver.delivered(2);
    assert.deepEqual([facts(0).first, facts(1).first], [true, true]);
  });

  it('delivers in order of acceptance, with growing sequence and stable ids', async () => {
    for (let number = 0; number < 20; number++) await post(signed({ messageId: `m-${number}` }));
    await receiver.delivered(20);
    const ids = receiver.deliveries.map(({ message }) => message.envelope.messageId);
    assert.deepEqual(
      ids,
      Array.from({ length: 20 }, (_, number) => `m-${number}`),
    );
    const sequences = receiver.deliveries.map(({ sequence }) => Number(sequence));
    assert.ok(sequences.every((sequence, index) => index === 0 || sequence > (sequences[index - 1] ?? 0)));
    assert.equal(new Set(receiver.deliveries.map(({ deliveryId }) => deliveryId)).size, 20);
  });

  it('C-78 delivers each of many messages once, though each comes three times', async () => {
    const messages = Array.from({ length: 200 }, () => signed());
    const sends = [...messages, ...messages, ...messages].sort(() => Math.random() - 0.5);
    for (let from = 0; from < sends.length; from += 20)
      await Promise.all(sends.slice(from, from + 20).map((message) => post(message)));
    await settled(200);
  });
});
