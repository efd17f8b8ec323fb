import assert from 'node:assert/strict';
import type { ReceivingStation } from '../../lib/webhook/proof/receiving-station';
import { InlineInbox } from '../support/inbox/each-store';
import { PATIENCE } from '../support/time/patience';
import { GatedThread, workOfMainThread } from './proof-thread-under-test';
import { ReceiverUnderTest, type Answer } from './receiver-under-test';
import { AGENT_USER, authorizationFor, envelope, station, type Signed } from './sample';

const STATIONS = 50;
const FORGED = { Authorization: `HMAC-SHA256 ${'A'.repeat(43)}=` };
const BYTE_ORDER_MARK = '\uFEFF';

function phraseOf(place: number): string {
  return `phrase of ${place}`;
}

/** Of the first of them no message is expected: it is the one that is tried where a message names none. */
function all(changes: Partial<ReceivingStation> = {}): ReceivingStation[] {
  return Array.from({ length: STATIONS }, (_, place) =>
    station({
      key: `station-${place}`,
      secret: phraseOf(place),
      previousSecret: `before ${place}`,
      ...changes,
    }),
  );
}

/** A message of nearly 64 KiB, unless another length is given, signed with the phrase of one of them. */
function long(place: number, payload: Record<string, unknown> = {}, length = 65_000): Signed {
  const bare = JSON.stringify(envelope({ padding: '' }, payload)).length;
  const body = JSON.stringify(envelope({ padding: 'x'.repeat(length - bare) }, payload));
  return { body, headers: { Authorization: authorizationFor(body, phraseOf(place)) } };
}

describe('a path of fifty stations', () => {
  let receiver: ReceiverUnderTest;
  let thread: GatedThread;

  async function start(stations = all()): Promise<void> {
    thread = new GatedThread();
    receiver = await ReceiverUnderTest.start({
      inbox: new InlineInbox(),
      holdMs: PATIENCE,
      proofThread: thread,
    });
    receiver.stations = stations;
  }
  afterEach(async () => {
    thread.open();
    await receiver.close();
  });

  async function statusOf(answer: Promise<Answer>): Promise<number> {
    return (await answer).status;
  }

  /** Forgeries until the thread takes no more, of an alarm of their own. */
  async function flood(): Promise<Promise<number>[]> {
    const { body } = long(0, { alarmId: 'forged' });
    const forgeries = Array.from({ length: 30 }, () => statusOf(receiver.post({ body, headers: FORGED })));
    await receiver.until(() => receiver.seen.requests === 30, 'all forgeries');
    return forgeries;
  }

  for (const [what, mark, hmacs] of [
    ['body of 64 KiB', '', 2],
    ['body of 64 KiB with a byte-order mark', BYTE_ORDER_MARK, 4],
  ] as const)
    it(`costs the main thread the hashes of one station where a ${what} is forged, whoever it names`, async () => {
      await start([...all(), station({ key: 'named', secret: 'its phrase', agentUserId: AGENT_USER })]);
      thread.open();
      for (const agentUserId of [AGENT_USER, 'nobody']) {
        const body = `${mark}${long(0, { agentUserId }).body}`;
        const work = await workOfMainThread(async () => {
          assert.equal(await statusOf(receiver.post({ body, headers: FORGED })), 401);
        });
        assert.equal(work.hmacs, hmacs);
      }
    });

  it('accepts a body of 64 KiB of each of them', async () => {
    await start();
    thread.open();
    for (const place of [0, 31, 49])
      assert.equal(await statusOf(receiver.post(long(place, { agentUserId: `user of ${place}` }))), 200);
    await receiver.delivered(3);
    const keys = receiver.deliveries.map(({ message }) => message.stationKey);
    assert.deepEqual(keys, ['station-0', 'station-31', 'station-49']);
  });

  it('accepts a body of 64 KiB without the thread where its station has the Agent User that it names', async () => {
    await start(all().map((one, place) => ({ ...one, agentUserId: `user of ${place}` })));
    const forgeries = await flood();
    assert.equal(await statusOf(receiver.post(long(31, { agentUserId: 'user of 31' }))), 200);
    thread.open();
    await Promise.all(forgeries);
  });

  it('accepts a body of 64 KiB without the thread where its station has sent one before', async () => {
    await start();
    thread.open();
    assert.equal(await statusOf(receiver.post(long(31))), 200);
    const { asked } = thread;
    assert.equal(await statusOf(receiver.post(long(31))), 200);
    assert.equal(thread.asked, asked);
  });

  it('accepts ordinary events of any station while forged bodies of 64 KiB take all of the thread', async () => {
    await start();
    const forgeries = await flood();
    for (const place of [17, 49]) assert.equal(await statusOf(receiver.post(long(place, {}, 4000))), 200);
    thread.open();
    const statuses = await Promise.all(forgeries);
    assert.deepEqual(
      [0, 401].map((wanted) => statuses.filter((status) => status === wanted).length),
      [10, 20],
    );
  });

  it('keeps a body of 64 KiB in front of the end of its alarm', async () => {
    await start();
    const first = statusOf(receiver.post(long(31, { alarmId: 'one' })));
    await receiver.until(() => thread.asked === 1, 'the first at the gate');
    const end = statusOf(
      receiver.post(long(31, { alarmId: 'one', eventEndTime: '2026-05-01T12:00:00' }, 4000)),
    );
    await receiver.until(() => receiver.seen.requests === 2, 'the end');
    thread.open();
    assert.deepEqual([await first, await end], [200, 200]);
    await receiver.delivered(2);
    assert.deepEqual(
      receiver.deliveries.map(({ first: isFirst }) => isFirst),
      [true, false],
    );
  });
});

describe('a path of four stations', () => {
  it('proves a body of 64 KiB at once', async () => {
    const thread = new GatedThread();
    const receiver = await ReceiverUnderTest.start({ proofThread: thread });
    receiver.stations = all().slice(0, 4);
    assert.equal((await receiver.post({ body: long(0).body, headers: FORGED })).status, 401);
    await receiver.close();
  });
});
