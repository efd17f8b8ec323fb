import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { CancelToken } from '../../lib/concurrency/signals';
import { jsonOf } from '../../lib/message/body';
import { authenticate } from '../../lib/webhook/proof/authenticate';
import { ProofThread } from '../../lib/webhook/proof/proof-thread';
import type { ReceivingStation } from '../../lib/webhook/proof/receiving-station';
import { ROOT } from '../support/node-red/node-red';
import { PATIENCE } from '../support/time/patience';
import { GatedThread, workOf } from './proof-thread-under-test';
import { countsOf, ReceiverUnderTest, type Post } from './receiver-under-test';
import { AGENT_USER, authorizationFor, envelope, PHRASE, signed, station, withToken } from './sample';
import type { Signed } from './sample';

const SUPPORT = path.join(ROOT, 'test', 'support', 'webhook');
const PADDING = 'x'.repeat(100_000);
const FORGED = { Authorization: `HMAC-SHA256 ${'A'.repeat(43)}=` };

const phraseOf = (place: number): string => `phrase of ${place}`;

/** Of the first of them no message is expected: it is the one that is tried where a message names none. */
const manyStations = (): ReceivingStation[] =>
  Array.from({ length: 50 }, (_, place) =>
    station({ key: `station-${place}`, secret: phraseOf(place), previousSecret: `before ${place}` }),
  );

/** A large message, signed by a phrase. */
function large(payload: Record<string, unknown> = {}, phrase = PHRASE, length = 100_000): Signed {
  const room = length - JSON.stringify(envelope({ padding: '' }, payload)).length;
  const body = JSON.stringify(envelope({ padding: 'x'.repeat(room) }, payload));
  return { body, headers: { Authorization: authorizationFor(body, phrase) } };
}

/** One of nearly 64 KiB, of one of many stations. */
const long = (place: number, payload: Record<string, unknown> = {}): Signed =>
  large(payload, phraseOf(place), 65_000);

/** A large message with a token. */
const largeWithToken = (authenticationToken: string): Post =>
  withToken({ authenticationToken, padding: PADDING });

let receiver: ReceiverUnderTest;
let thread: GatedThread;
async function end(): Promise<void> {
  thread.open();
  await receiver.close();
}

/** Waits as long as it takes, unless told otherwise. Its thread stands behind a gate, unless it has another one. */
async function start(
  stations = [station()],
  proofThread: ProofThread = new GatedThread(),
  holdMs = PATIENCE,
): Promise<ReceiverUnderTest> {
  if (proofThread instanceof GatedThread) thread = proofThread;
  receiver = await ReceiverUnderTest.start({ holdMs, proofThread });
  receiver.stations = stations;
  return receiver;
}

/** Its gate is open, and it is there from the first test to the last. */
const openThread = new GatedThread();
openThread.open();
const startOpen = (stations?: ReceivingStation[]): Promise<ReceiverUnderTest> => start(stations, openThread);
const threadOf = (worker: string): ProofThread => new ProofThread(path.join(SUPPORT, worker));

/** Forgeries until the thread takes no more, of an alarm of their own. */
async function flood(message: Signed): Promise<Promise<number>[]> {
  const forgeries = Array.from({ length: 30 }, () => receiver.statusOf({ ...message, headers: FORGED }));
  await receiver.until(() => receiver.seen.requests === 30, 'all forgeries');
  return forgeries;
}

describe('a message with a large body', () => {
  afterEach(end);

  it('is accepted where it is genuine (signature)', async () => {
    const under = await startOpen();
    const message = large({ eventName: 'large' });
    await under.takes(message);
    await under.delivered(1);
    const { event, proof, secret, body } = under.deliveries[0]?.message ?? assert.fail();
    const found = [event.eventName, proof, secret, Buffer.from(body).toString()];
    assert.deepEqual(found, ['large', 'hmac', 'current', message.body]);
  });

  it('is accepted where it is genuine (token), which is blanked', async () => {
    const renewed = station({ scheme: 'https', secret: 'the new phrase', previousSecret: PHRASE });
    const under = await startOpen([renewed]);
    await under.takes(largeWithToken(PHRASE));
    await under.delivered(1);
    const { body, proof, secret } = under.deliveries[0]?.message ?? assert.fail();
    assert.deepEqual([proof, secret], ['token', 'previous']);
    assert.equal(Buffer.from(body).includes(PHRASE), false);
  });

  for (const [proof, scheme, forged] of [
    ['signature', 'http', { ...large(), headers: FORGED }],
    ['token', 'https', largeWithToken('another phrase')],
  ] as const)
    it(`is refused where it is forged (${proof}), without work for the main thread`, async () => {
      const under = await startOpen([station({ scheme })]);
      const work = await workOf(async () => assert.equal(await under.statusOf(forged), 401));
      assert.deepEqual([work.hmacs, work.parsed.filter(({ length }) => length > 50_000)], [0, []]);
      assert.deepEqual(under.reasons(), [`bad-${proof}`]);
    });

  it('is cut where another station of its path cannot judge yet', async () => {
    const under = await startOpen([station(), station({ key: 'south', secret: '${UNSET}' })]);
    assert.equal(await under.statusOf({ ...large(), headers: FORGED }), 0);
  });

  it('is judged as a short one is, in all that there is to say of it', async () => {
    await startOpen();
    const two = [
      station({ previousSecret: 'the phrase before' }),
      station({ key: 'south', scheme: 'https', secret: 'the other phrase' }),
    ];
    const { body, headers } = large();
    const token = (text: string): string => JSON.stringify({ authenticationToken: text, padding: PADDING });
    const cases: [string, string[]][] = [
      [body, Object.values(headers)],
      [body, Object.values(headers).flatMap((line) => [line, line])],
      [body, [authorizationFor(body, 'the phrase before')]],
      [body, [authorizationFor(body, 'the other phrase')]],
      [body, Object.values(FORGED)],
      [body, []],
      [token('the other phrase'), []],
      [token(PHRASE), []],
      ['x'.repeat(100_000), []],
    ];
    for (const [text, authorization] of cases) {
      const bytes = Buffer.from(text);
      const expected = authenticate({ body: bytes, authorization, json: jsonOf(bytes) }, two);
      assert.deepEqual(await thread.prove({ body: bytes, authorization }, two, new CancelToken()), expected);
    }
  });

  it('is cut where the thread ends over it, and the next one is proven in another', async () => {
    const under = await start([station()], threadOf('ending-proof-worker.ts'));
    await under.takes(large());
    assert.equal(await under.statusOf(large({ note: 'ends the thread that proves it' })), 0);
    assert.match(under.lines.join('\n'), /because the thread that proves large bodies has ended/);
    await under.takes(large());
    await under.delivered(2);
    assert.equal(under.deliveries.length, 2);
    assert.doesNotMatch(JSON.stringify([under.lines, under.problems]), new RegExp(PHRASE));
  });

  it('is cut where there is no thread to be had, while others are accepted', async () => {
    const under = await start([station()], threadOf('there-is-none.ts'));
    assert.equal(await under.statusOf(large()), 0);
    await under.takes(signed());
    assert.deepEqual(under.reasons(), []);
  });

  it('is cut where it is not proven in time', async () => {
    const under = await start([station()], threadOf('silent-proof-worker.ts'), 150);
    assert.equal(await under.statusOf(large()), 0);
    assert.match(under.lines.join('\n'), /because its large body could not be proven in time/);
    await under.takes(signed());
  });

  it('is cut where the receiver closes while it is in the thread', async () => {
    const proofThread = new GatedThread(path.join(SUPPORT, 'silent-proof-worker.ts'));
    const under = await start([station()], proofThread);
    const answer = under.statusOf(large());
    await under.until(() => proofThread.asked === 1, 'the message at the gate');
    proofThread.open();
    under.dispatcher.close();
    assert.equal(await answer, 0);
    assert.deepEqual(under.deliveries, []);
  });

  it('holds up nothing of its alarm once it is refused, or cut', async () => {
    const proofThread = new GatedThread(path.join(SUPPORT, 'ending-proof-worker.ts'));
    const under = await start([station()], proofThread);
    const forged = under.statusOf({ ...large({ alarmId: 'one' }), headers: FORGED });
    await under.until(() => proofThread.asked === 1, 'the forgery');
    const lost = under.statusOf(large({ alarmId: 'one', note: 'ends the thread that proves it' }));
    await under.until(() => proofThread.asked === 2, 'the one that is lost');
    const event = under.statusOf(signed({}, { alarmId: 'one' }));
    await under.until(() => under.seen.requests === 3, 'the event');
    proofThread.open();
    assert.deepEqual([await forged, await lost, await event], [401, 0, 200]);
  });

  it('keeps no process alive by its thread', () => {
    const program = ['--import=tsx', path.join(SUPPORT, 'idle-proof-thread.ts')];
    const options = { encoding: 'utf8', timeout: PATIENCE, cwd: ROOT } as const;
    const { status, stdout } = spawnSync(process.execPath, program, options);
    assert.deepEqual([status, stdout], [0, 'proven: false']);
  });
});

for (const [size, length] of [
  ['a large body', 100_000],
  ['a body of 64 KiB', 65_000],
] as const)
  describe(`${size} at a path of fifty stations`, () => {
    afterEach(end);

    const of = (place: number, payload: Record<string, unknown> = {}): Signed =>
      large(payload, phraseOf(place), length);

    it('is accepted of each of them', async () => {
      await startOpen(manyStations());
      for (const place of [0, 31, 49]) await receiver.takes(of(place, { agentUserId: `user of ${place}` }));
      await receiver.delivered(3);
      const keys = receiver.deliveries.map(({ message }) => message.stationKey);
      assert.deepEqual(keys, ['station-0', 'station-31', 'station-49']);
    });

    it('is not overtaken by the end of its alarm, while other alarms go ahead', async () => {
      await start(manyStations());
      const first = receiver.statusOf(of(31, { alarmId: 'one' }));
      await receiver.until(() => thread.asked === 1, 'the message at the gate');
      let isEndAnswered = false;
      const ended = { alarmId: 'one', eventEndTime: '2026-05-01T12:00:00' };
      const end = receiver.statusOf(large(ended, phraseOf(31), 4000)).finally(() => (isEndAnswered = true));
      await receiver.until(() => receiver.seen.requests === 2, 'the end');
      await receiver.takes(large({ alarmId: 'two' }, phraseOf(31), 4000));
      await receiver.delivered(1);
      assert.equal(isEndAnswered, false);
      thread.open();
      assert.deepEqual([await first, await end], [200, 200]);
      await receiver.delivered(3);
      const told = receiver.deliveries.map((each) => `${each.message.event.alarmId} ${each.first}`);
      assert.deepEqual(told, ['two true', 'one true', 'one false']);
    });

    it('takes no place of short ones of any station, however many come: twenty wait, and others are cut', async () => {
      await start(manyStations());
      const forgeries = await flood(of(0, { alarmId: 'forged' }));
      for (const place of [17, 31, 49])
        await receiver.takes(large({ alarmId: `of ${place}` }, phraseOf(place), 4000));
      assert.equal(thread.asked, 4);
      thread.open();
      assert.deepEqual(countsOf(await Promise.all(forgeries), 0, 401), [10, 20]);
      assert.match(receiver.lines.join('\n'), /because too many large bodies came at a time/);
    });
  });

describe('a body of 64 KiB', () => {
  afterEach(end);

  for (const [what, mark, hmacs] of [
    ['costs', '', 2],
    ['with a byte-order mark costs', '\uFEFF', 4],
  ] as const)
    it(`${what} the main thread the hashes of one of fifty stations where it is forged, whoever it names`, async () => {
      const named = station({ key: 'named', secret: 'its phrase', agentUserId: AGENT_USER });
      await startOpen([...manyStations(), named]);
      for (const agentUserId of [AGENT_USER, 'nobody']) {
        const post = { body: `${mark}${long(0, { agentUserId }).body}`, headers: FORGED };
        const work = await workOf(async () => assert.equal(await receiver.statusOf(post), 401));
        assert.equal(work.hmacs, hmacs);
      }
    });

  it('is accepted without the thread where its station has the Agent User that it names', async () => {
    await start(manyStations().map((one, place) => ({ ...one, agentUserId: `user of ${place}` })));
    const forgeries = await flood(long(0, { alarmId: 'forged' }));
    await receiver.takes(long(31, { agentUserId: 'user of 31' }));
    thread.open();
    await Promise.all(forgeries);
  });

  it('is accepted without the thread where its station has sent one before', async () => {
    await startOpen(manyStations());
    await receiver.takes(long(31));
    const { asked } = thread;
    await receiver.takes(long(31));
    assert.equal(thread.asked, asked);
  });

  it('is proven at once at a path of four stations', async () => {
    await start(manyStations().slice(0, 4));
    assert.equal(await receiver.statusOf({ ...long(0), headers: FORGED }), 401);
  });
});
