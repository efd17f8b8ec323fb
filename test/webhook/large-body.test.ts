import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { CancelToken } from '../../lib/concurrency/signals';
import { jsonOf } from '../../lib/message/body';
import { authenticate } from '../../lib/webhook/proof/authenticate';
import { ProofThread } from '../../lib/webhook/proof/proof-thread';
import type { ReceivingStation } from '../../lib/webhook/proof/receiving-station';
import { InlineInbox } from '../support/inbox/each-store';
import { ROOT } from '../support/node-red/node-red';
import { PATIENCE } from '../support/time/patience';
import { GatedThread, workOfMainThread } from './proof-thread-under-test';
import { ReceiverUnderTest, type Answer, type Post } from './receiver-under-test';
import { authorizationFor, envelope, PHRASE, signed, station, type Signed } from './sample';

const SUPPORT = path.join(ROOT, 'test', 'support', 'webhook');
const PADDING = 'x'.repeat(100_000);
const FORGED = { Authorization: `HMAC-SHA256 ${'A'.repeat(43)}=` };

/** A large message, signed by a phrase. */
function large(payload: Record<string, unknown> = {}, phrase = PHRASE): Signed {
  const body = JSON.stringify(envelope({ padding: PADDING }, payload));
  return { body, headers: { Authorization: authorizationFor(body, phrase) } };
}

/** A large message with a token. */
function largeWithToken(token: unknown): Post {
  return { body: JSON.stringify(envelope({ authenticationToken: token, padding: PADDING })) };
}

describe('a message with a large body', () => {
  let receiver: ReceiverUnderTest | undefined;
  let inbox: InlineInbox;

  /** Waits as long as it takes, unless told otherwise. */
  async function start(
    options: { proofThread?: ProofThread; holdMs?: number } = {},
    stations: ReceivingStation[] = [station()],
  ): Promise<ReceiverUnderTest> {
    inbox = new InlineInbox();
    receiver = await ReceiverUnderTest.start({ inbox, holdMs: PATIENCE, ...options });
    receiver.stations = stations;
    return receiver;
  }
  afterEach(async () => {
    await receiver?.close();
    receiver = undefined;
  });

  async function statusOf(answer: Promise<Answer>): Promise<number> {
    return (await answer).status;
  }

  it('is accepted where it is genuine (signature)', async () => {
    const under = await start();
    assert.equal(await statusOf(under.post(large({ eventName: 'large' }))), 200);
    await under.delivered(1);
    const { event, proof, secret } = under.deliveries[0]?.message ?? assert.fail();
    assert.deepEqual([event.eventName, proof, secret], ['large', 'hmac', 'current']);
  });

  it('is accepted where it is genuine (token), which is blanked', async () => {
    const under = await start({}, [
      station({ scheme: 'https', secret: 'the new phrase', previousSecret: PHRASE }),
    ]);
    assert.equal(await statusOf(under.post(largeWithToken(PHRASE))), 200);
    await under.delivered(1);
    const { body, proof, secret } = under.deliveries[0]?.message ?? assert.fail();
    assert.deepEqual([proof, secret], ['token', 'previous']);
    assert.equal(Buffer.from(body).includes(PHRASE), false);
  });

  it('is accepted of each of many stations', async () => {
    const all = Array.from({ length: 50 }, (_, place) =>
      station({ key: `station-${place}`, secret: `phrase of ${place}` }),
    );
    const under = await start({}, all);
    for (const place of [0, 31, 49])
      assert.equal(await statusOf(under.post(large({}, `phrase of ${place}`))), 200);
    await under.delivered(3);
    const keys = under.deliveries.map(({ message }) => message.stationKey);
    assert.deepEqual(keys, ['station-0', 'station-31', 'station-49']);
  });

  it('is refused where it is forged (signature), without work for the main thread', async () => {
    const under = await start();
    const { body } = large();
    const work = await workOfMainThread(async () => {
      assert.equal(await statusOf(under.post({ body, headers: FORGED })), 401);
    });
    assert.deepEqual(work, { hmacs: 0, parsed: 0 });
    assert.deepEqual(under.reasons(), ['bad-signature']);
  });

  it('is refused where it is forged (token), without work for the main thread', async () => {
    const under = await start({}, [station({ scheme: 'https' })]);
    const forged = largeWithToken('another phrase');
    const work = await workOfMainThread(async () => {
      assert.equal(await statusOf(under.post(forged)), 401);
    });
    assert.deepEqual(work, { hmacs: 0, parsed: 0 });
    assert.deepEqual(under.reasons(), ['bad-token']);
  });

  it('is cut where another station of its path cannot judge yet', async () => {
    const under = await start({}, [station(), station({ key: 'south', secret: '${UNSET}' })]);
    assert.equal(await statusOf(under.post({ ...large(), headers: FORGED })), 0);
  });

  it('is judged as a short one is, in all that there is to say of it', async () => {
    const thread = new ProofThread();
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

  it('leaves the bytes to whoever reads them next', async () => {
    const bytes = Buffer.from(large().body);
    const copy = Buffer.from(bytes);
    await new ProofThread().prove({ body: bytes, authorization: [] }, [station()], new CancelToken());
    assert.deepEqual(bytes, copy);
  });

  it('is cut where the thread ends over it, and the next one is proven in another', async () => {
    const proofThread = new ProofThread(path.join(SUPPORT, 'ending-proof-worker.ts'));
    const under = await start({ proofThread });
    assert.equal(await statusOf(under.post(large())), 200);
    assert.equal(await statusOf(under.post(large({ note: 'ends the thread that proves it' }))), 0);
    assert.match(under.lines.join('\n'), /because the thread that proves large bodies has ended/);
    assert.equal(await statusOf(under.post(large())), 200);
    await under.delivered(2);
    assert.equal(under.deliveries.length, 2);
    assert.doesNotMatch(JSON.stringify([under.lines, under.problems]), new RegExp(PHRASE));
  });

  it('is cut where there is no thread to be had, while others are accepted', async () => {
    const under = await start({ proofThread: new ProofThread(path.join(SUPPORT, 'there-is-none.ts')) });
    assert.equal(await statusOf(under.post(large())), 0);
    assert.equal(await statusOf(under.post(signed())), 200);
    assert.deepEqual(under.reasons(), []);
  });

  it('is cut where it is not proven in time', async () => {
    const proofThread = new ProofThread(path.join(SUPPORT, 'silent-proof-worker.ts'));
    const under = await start({ proofThread, holdMs: 150 });
    assert.equal(await statusOf(under.post(large())), 0);
    assert.match(under.lines.join('\n'), /because its large body could not be proven in time/);
    assert.equal(await statusOf(under.post(signed())), 200);
  });

  it('is cut where the receiver closes while it is in the thread', async () => {
    const proofThread = new GatedThread(path.join(SUPPORT, 'silent-proof-worker.ts'));
    const under = await start({ proofThread });
    const answer = statusOf(under.post(large()));
    await under.until(() => proofThread.asked === 1, 'the message at the gate');
    proofThread.open();
    under.dispatcher.close();
    assert.equal(await answer, 0);
    assert.deepEqual(under.deliveries, []);
  });

  it('is not overtaken by the end of its alarm, while other alarms go ahead', async () => {
    const proofThread = new GatedThread();
    const under = await start({ proofThread });
    const first = statusOf(under.post(large({ alarmId: 'one' })));
    await under.until(() => proofThread.asked === 1, 'the message at the gate');
    let isEndAnswered = false;
    const end = statusOf(
      under.post(signed({}, { alarmId: 'one', eventEndTime: '2026-05-01T12:00:00' })),
    ).finally(() => (isEndAnswered = true));
    await under.until(() => under.seen.requests === 2, 'the end');
    assert.equal(await statusOf(under.post(signed({}, { alarmId: 'two' }))), 200);
    await under.delivered(1);
    assert.equal(isEndAnswered, false);

    proofThread.open();
    assert.deepEqual([await first, await end], [200, 200]);
    await under.delivered(3);
    const told = under.deliveries.map(({ message, first: isFirst }) => [message.event.alarmId, isFirst]);
    assert.deepEqual(told, [
      ['two', true],
      ['one', true],
      ['one', false],
    ]);
  });

  it('holds up nothing of its alarm once it is refused, or cut', async () => {
    const proofThread = new GatedThread(path.join(SUPPORT, 'ending-proof-worker.ts'));
    const under = await start({ proofThread });
    const forged = statusOf(under.post({ ...large({ alarmId: 'one' }), headers: FORGED }));
    await under.until(() => proofThread.asked === 1, 'the forgery');
    const lost = statusOf(under.post(large({ alarmId: 'one', note: 'ends the thread that proves it' })));
    await under.until(() => proofThread.asked === 2, 'the one that is lost');
    const event = statusOf(under.post(signed({}, { alarmId: 'one' })));
    await under.until(() => under.seen.requests === 3, 'the event');
    proofThread.open();
    assert.deepEqual([await forged, await lost, await event], [401, 0, 200]);
  });

  it('takes no place of short ones, however many come: twenty wait, and others are cut', async () => {
    const proofThread = new GatedThread();
    const under = await start({ proofThread });
    const forgeries = Array.from({ length: 30 }, () =>
      statusOf(under.post({ body: large().body, headers: FORGED })),
    );
    await under.until(() => under.seen.requests === 30, 'all forgeries');
    for (const alarmId of ['one', 'two', 'three'])
      assert.equal(await statusOf(under.post(signed({}, { alarmId }))), 200);
    assert.equal(proofThread.asked, 4);
    proofThread.open();
    const statuses = await Promise.all(forgeries);
    assert.deepEqual(
      [0, 401].map((wanted) => statuses.filter((status) => status === wanted).length),
      [10, 20],
    );
    assert.match(under.lines.join('\n'), /because too many large bodies came at a time/);
  });

  it('keeps no process alive by its thread', () => {
    const { status, stdout } = spawnSync(
      process.execPath,
      ['--import=tsx', path.join(SUPPORT, 'idle-proof-thread.ts')],
      { encoding: 'utf8', timeout: PATIENCE, cwd: ROOT },
    );
    assert.deepEqual([status, stdout], [0, 'proven: false']);
  });
});
