import assert from 'node:assert/strict';
import type { Delivery } from '../../lib/inbox/model';
import type { ChangedSlots } from '../../lib/inbox/slot';
import { messageOf } from '../../lib/message/event-message';
import type { Warning } from '../../lib/message/envelope';
import type { Problem } from '../../lib/webhook/problem';
import type { ReceivingStation } from '../../lib/webhook/proof/receiving-station';
import { ProvenTimes } from '../../lib/webhook/proven-times';
import { inEachStore, InlineInbox } from '../support/inbox/each-store';
import { byLane } from '../support/suite/lanes';
import { eventually, PATIENCE } from '../support/time/patience';
import { ReceiverUnderTest } from './receiver-under-test';
import { authorizationFor, minutesAgo, signed, station, type Signed } from './sample';

const HOUR = 60;
const DAY = 24 * HOUR;
/** What the clock of a machine may show when it starts. */
const CLOCKS = byLane<readonly [string, number]>(
  [
    ['was never set', 40_000],
    ['is two days ahead', Date.now() + 2 * DAY * 60_000],
  ],
  [
    ['is right', Date.now()],
    ['shows 2035', Date.UTC(2035, 5, 1)],
  ],
);

/** @param minutes before now by the clock of the service, which is right */
const sentAgo = (minutes: number, changes: Record<string, unknown> = {}): Signed =>
  signed({ transmitTime: `${minutesAgo(minutes)}Z`, ...changes });
const sentIn2035 = (minute: number, changes: Record<string, unknown> = {}): Signed =>
  signed({ transmitTime: new Date(Date.UTC(2035, 5, 1, 0, minute)).toISOString(), ...changes });

inEachStore('the time that is proven', (open) => {
  let receiver: ReceiverUnderTest;

  /** @param clock what the clock of this machine shows now */
  async function start(
    clock = Date.now(),
    serviceTime?: () => number,
    stations: ReceivingStation[] = [station()],
  ): Promise<void> {
    const began = Date.now();
    receiver = await ReceiverUnderTest.start({
      inbox: await open(),
      now: () => clock + Date.now() - began,
      ...(serviceTime && { endpoint: { serviceTimeOf: serviceTime } }),
    });
    receiver.stations = stations;
  }
  afterEach(() => receiver.close());

  /** What became of a message: its warnings where it was delivered, else the reason why not. */
  async function fate(message: Signed): Promise<readonly Warning[] | string | null> {
    const { messageId }: { messageId: string } = JSON.parse(message.body);
    await receiver.takes(message);
    const delivery = (): Delivery | undefined =>
      receiver.deliveries.find((each) => each.message.envelope.messageId === messageId);
    const problem = (): Problem | undefined => receiver.problems.find((each) => each.messageId === messageId);
    await receiver.until(() => (delivery() ?? problem()) !== undefined, 'what becomes of it');
    const delivered = delivery();
    if (delivered === undefined) return problem()?.reason ?? null;
    return messageOf(delivered, new Date()).msg.webhook.warnings;
  }

  async function areDelivered(...messages: Signed[]): Promise<void> {
    for (const message of messages) assert.ok(Array.isArray(await fate(message)), receiver.reasons().join());
  }

  async function restart(...settings: Parameters<typeof start>): Promise<void> {
    await receiver.close();
    await start(...settings);
  }

  for (const [clock, time] of CLOCKS) {
    it(`makes what was sent 26 hours before it too old after a restart where the clock ${clock}`, async () => {
      await start();
      await areDelivered(sentAgo(1), sentAgo(0));
      await restart(time);
      for (const minutes of [10 * DAY, 30 * HOUR, 27 * HOUR])
        assert.equal(await fate(sentAgo(minutes)), 'too-old', `${minutes} minutes`);
      await areDelivered(sentAgo(25 * HOUR), sentAgo(0));
    });

    it(`leaves what is old unjudged where there is none, and the clock ${clock}`, async () => {
      await start(time);
      const away = (minutes: number): number => Math.abs(time - (Date.now() - minutes * 60_000)) / 60_000;
      for (const minutes of [10 * DAY, 30 * HOUR, 25 * HOUR, 2 * HOUR]) {
        const warnings = await fate(sentAgo(minutes));
        assert.ok(Array.isArray(warnings));
        const isOdd = away(minutes) > 26 * HOUR;
        assert.equal(warnings.includes('clock-unconfirmed'), isOdd, `${minutes} minutes`);
      }
    });

    it(`C-72 never lets a fresh alarm be too old where the clock ${clock}`, async () => {
      await start(time);
      // By the clock of this machine, which therefore says nothing of the time.
      const selfTest = { payloadType: 'rvm-self-test', transmitTime: new Date(time).toISOString() };
      for (let time = 0; time < 2; time += 1) assert.equal(await fate(signed(selfTest)), null);
      await areDelivered(sentAgo(0), sentAgo(0), sentAgo(HOUR));
      await restart(time);
      assert.equal(await fate(signed(selfTest)), null);
      await areDelivered(sentAgo(0));
    });
  }

  it('is moved by no message alone, not by one sent again with its time renewed, and not after a restart', async () => {
    const wrong = { messageId: 'wrong' };
    await start();
    await areDelivered(sentIn2035(0, wrong));
    await receiver.takes(sentIn2035(20, wrong));
    await areDelivered(sentIn2035(90));
    await restart();
    await receiver.takes(sentIn2035(5, wrong));
    await areDelivered(sentAgo(0), sentAgo(0));
  });

  it('is not moved by one message of 2035 and a clock of 2035', async () => {
    await start(Date.UTC(2035, 5, 1));
    await areDelivered(sentIn2035(0), sentAgo(0));
  });

  it('is moved by two messages that were sent within an hour, though one came before a restart', async () => {
    await start();
    await areDelivered(sentIn2035(0));
    await restart();
    await areDelivered(sentIn2035(-59));
    assert.equal(await fate(sentAgo(0)), 'too-old');
    await areDelivered(sentIn2035(-25 * HOUR));
    assert.equal(await fate(sentIn2035(-27 * HOUR)), 'too-old');
  });

  it('is moved by one message where the clock of the service says the same, and by none that it gives the lie', async () => {
    await start(undefined, Date.now);
    await areDelivered(sentIn2035(0), sentIn2035(1), sentAgo(59));
    await restart(0);
    assert.equal(await fate(sentAgo(10 * DAY)), 'too-old');
  });

  it('is given up where the clock of the service says that it is in the future', async () => {
    await start();
    await areDelivered(sentIn2035(0), sentIn2035(1));
    await restart(undefined, Date.now);
    await areDelivered(sentAgo(0));
    await restart(0);
    assert.equal(await fate(sentAgo(30 * HOUR)), 'too-old');
    await areDelivered(sentAgo(0));
  });

  it('makes nothing too old that was delivered before', async () => {
    await start();
    const old = sentAgo(10 * DAY);
    assert.deepEqual(await fate(old), ['clock-unconfirmed']);
    await areDelivered(sentAgo(0), sentAgo(0));
    await receiver.takes(old);
    await restart();
    await receiver.takes(old);
    await areDelivered(sentAgo(0));
    assert.deepEqual([receiver.deliveries.length, receiver.problems], [1, []]);
  });

  it('is that of each station alone, and its sandbox has its own', async () => {
    const phrases = { south: 'phrase of south', sandbox: 'phrase of sandbox' };
    await start(undefined, undefined, [
      station(),
      station({ key: 'south', secret: phrases.south }),
      station({ secret: phrases.sandbox, sandbox: true }),
    ]);
    const by = (phrase: string, { body }: Signed): Signed => {
      return { body, headers: { Authorization: authorizationFor(body, phrase) } };
    };
    for (const phrase of Object.values(phrases))
      for (const minute of [0, 1]) await areDelivered(by(phrase, sentIn2035(minute)), sentAgo(0));
    for (const phrase of Object.values(phrases)) assert.equal(await fate(by(phrase, sentAgo(0))), 'too-old');
  });
});

describe('the time that is proven', () => {
  const north = { key: 'north', sandbox: false };
  let inbox: InlineInbox;
  beforeEach(() => {
    inbox = new InlineInbox();
  });
  afterEach(() => inbox.close());

  it('is asked for in vain, and holds up nothing, where the inbox fails', async () => {
    inbox.fails = true;
    const receiver = await ReceiverUnderTest.start({ inbox });
    await receiver.takes(sentAgo(10 * DAY));
    await receiver.delivered(1);
    await receiver.close();
  });

  it('is waited for by each message as long as that has time, and by others further on', async () => {
    const { promise, resolve } = Promise.withResolvers<ChangedSlots>();
    const times = new ProvenTimes({
      slots: () => promise,
      putSlots: () => Promise.resolve([]),
      watchSlots: () => () => undefined,
    });
    await times.ready(0);
    assert.equal(times.isReady, false);
    resolve({ version: 0, isAll: true, slots: [] });
    await times.ready(PATIENCE);
    assert.equal(times.isReady, true);
  });

  it('is written once for many alarms', async () => {
    const receiver = await ReceiverUnderTest.start({ inbox });
    for (let count = 0; count < 30; count += 1) await receiver.post(sentAgo(9 - count * 0.3));
    await receiver.delivered(30);
    assert.equal(inbox.questions.filter((name) => name === 'putSlots').length, 2);
    await receiver.close();
  });

  it('is that of all instances: what one has heard confirms what another has', async () => {
    const [one, other] = [new ProvenTimes(inbox), new ProvenTimes(inbox)];
    await Promise.all([one.ready(PATIENCE), other.ready(PATIENCE)]);
    const now = Date.now();
    const markOf = (times: ProvenTimes): number | undefined => times.with(north, undefined, undefined);
    // At the same moment, so that neither knows of the other.
    assert.equal(one.with(north, { messageId: 'a', time: now }, undefined), undefined);
    assert.equal(other.with(north, { messageId: 'b', time: now + 1000 }, undefined), undefined);
    await eventually(() => markOf(one) === now + 1000 && markOf(other) === now + 1000, 'the mark of both');
    other.with(north, { messageId: 'c', time: now + HOUR * 60_000 }, undefined);
    await eventually(() => markOf(one) === now + HOUR * 60_000, 'a later mark');
  });

  it('is behind by no more than ten minutes after a crash, and never goes back', async () => {
    const times = new ProvenTimes(inbox);
    await times.ready(PATIENCE);
    for (let minute = 0; minute <= 95; minute += 1)
      times.with(north, { messageId: `${minute}`, time: minute * 60_000 }, undefined);
    await eventually(async () => {
      const again = new ProvenTimes(inbox);
      await again.ready(PATIENCE);
      return (again.with(north, { messageId: 'old', time: 0 }, undefined) ?? 0) >= 85 * 60_000;
    }, 'the mark that is kept');
    assert.equal(times.with(north, { messageId: 'old', time: 0 }, undefined), 95 * 60_000);
  });
});
