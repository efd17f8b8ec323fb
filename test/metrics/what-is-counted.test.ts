import assert from 'node:assert/strict';
import { SELF_TEST, SELF_TEST_ID } from '../../lib/message/envelope';
import type { Middleware } from '../../lib/webhook/endpoint';
import { proven, Taker } from '../inbox/samples';
import { inEachStore, InlineInbox } from '../support/inbox/each-store';
import { RecordingMeter } from '../support/metrics/metrics';
import { failsSoon, PATIENT, ScriptedStation } from '../support/service/scripted-station';
import { eventually } from '../support/time/patience';
import { PATH, ReceiverUnderTest, type Post } from '../webhook/receiver-under-test';
import { minutesAgo, signed, station } from '../webhook/sample';

let meter: RecordingMeter;
beforeEach(() => {
  meter = new RecordingMeter();
});
afterEach(() => meter.end());

describe('what is counted of a request on a webhook path', () => {
  let receiver: ReceiverUnderTest;
  afterEach(() => receiver.close());

  const answers = (): string[] => meter.told('answered').map(([answer, key]) => `${answer} ${key ?? '-'}`);

  async function posted(...posts: Post[]): Promise<string[]> {
    for (const post of posts) await receiver.post({ path: PATH, ...post });
    await eventually(() => answers().length >= posts.length, 'all counted');
    return answers();
  }

  it('is the station and what became of it', async () => {
    receiver = await ReceiverUnderTest.start();
    const message = signed({ messageId: 'first' });
    const other = signed({ messageId: 'first' }, { eventName: 'Another' });
    const old = new Date(Date.now() - 48 * 60 * 60_000).toISOString();
    const cases: [Post, string][] = [
      [message, 'accepted north'],
      [message, 'repeat north'],
      [other, 'conflict north'],
      [signed({ messageId: null }), 'dead-letter north'],
      [signed({ payloadType: 'Unheard' }), 'other north'],
      [{ ...message, headers: { Authorization: 'HMAC-SHA256 AAAA' } }, 'unauthentic north'],
      [{ method: 'GET' }, 'method -'],
      [{ ...message, headers: { ...message.headers, 'Content-Encoding': 'gzip' } }, 'compressed -'],
      [{ body: Buffer.alloc(2 * 1024 * 1024) }, 'large -'],
      [signed({ transmitTime: old }, { eventStartTime: minutesAgo(0) }), 'stale north'],
      [signed({ payloadType: SELF_TEST, messageId: `${SELF_TEST_ID}1` }), 'self-test north'],
    ];
    const told = await posted(...cases.map(([post]) => post));
    const expected = cases.map(([, answer]) => answer);
    assert.deepEqual(told, expected);
  });

  it('takes the time until the answer of what was stored alone', async () => {
    receiver = await ReceiverUnderTest.start();
    await posted(signed(), { ...signed(), headers: {} });
    const [[, , stored] = [], [, , refused] = []] = meter.told('answered');
    assert.ok(stored !== undefined && stored >= 0);
    assert.equal(refused, undefined);
  });

  const two = [station(), station({ key: 'south', secret: 'another' })];
  for (const [what, stations, answer] of [
    ['names no station where several may be meant', two, 'unauthentic -'],
    ['is cut where it cannot be judged', [station({ secret: '' })], 'cut -'],
  ] as const)
    it(what, async () => {
      receiver = await ReceiverUnderTest.start({ holdMs: 20 });
      receiver.stations = [...stations];
      assert.deepEqual(await posted({ ...signed(), headers: {} }), [answer]);
    });

  it('is answered by the middleware', async () => {
    const middleware: Middleware = (_req, res) => void res.writeHead(204).end();
    receiver = await ReceiverUnderTest.start({ endpoint: { middleware } });
    assert.deepEqual(await posted(signed()), ['middleware -']);
  });
});

inEachStore('what is counted of an inbox', (open) => {
  it('is each delivery, and why it came again', async () => {
    const inbox = await open();
    const taker = new Taker(inbox, { handledWhen: 'settled' });
    await inbox.accept(proven({}, { receivedTime: new Date(Date.now() - 5000).toISOString() }));
    await eventually(() => taker.deliveries.length === 1, 'the delivery');
    const [delivery] = taker.deliveries;
    await inbox.settle(delivery?.deliveryId ?? '', { action: 'retry' });
    await eventually(() => taker.deliveries.length === 2, 'the second delivery');
    const [first = [], second = []] = meter.told('delivered');
    assert.deepEqual([first[0], first[1], second[0], second[1]], ['north', undefined, 'north', 'retry']);
    assert.ok((first[2] ?? 0) >= 5);
  });

  it('is each commit by its engine; that of a file has a thread, which a test of Node-RED sees', async () => {
    const inbox = await open();
    await inbox.accept(proven());
    const engines = new Set(meter.told('committed').map(([engine]) => engine));
    assert.deepEqual([...engines], inbox instanceof InlineInbox ? [] : ['postgres']);
  });
});

describe('what is counted of a store', () => {
  it('is each message that is kept beside it', async () => {
    const inbox = new InlineInbox({ lookAgain: 20 });
    await eventually(() => inbox.state().durable === true, 'the store');
    inbox.fails = true;
    await inbox.accept(proven());
    await inbox.accept(proven());
    assert.equal(meter.told('spilled').length, 2);
    inbox.fails = false;
    await inbox.close();
  });
});

describe('what is counted of the service', () => {
  let scripted: ScriptedStation;
  beforeEach(async () => {
    scripted = await ScriptedStation.start();
  });
  afterEach(() => scripted.close());

  const requested = (): [string, number | undefined][] =>
    meter.told('requested').map(([key, status]) => [key, status]);

  it('is each request by station and status, and none that has failed as an error', async () => {
    await scripted.client({ key: 'north' }).listDevices();
    assert.ok(requested().length >= 3);
    for (const request of requested()) assert.deepEqual(request, ['north', 200]);
    assert.deepEqual(meter.told('failed'), []);
  });

  it('is one without an answer, and what was wanted and has failed by its code, once', async () => {
    scripted.service.on('GET', '/system', 'reset');
    await failsSoon(scripted.client({ key: 'north' }).listDevices(), 'NETWORK');
    assert.deepEqual(requested()[0], ['north', undefined]);
    assert.deepEqual(meter.told('failed'), [['north', 'NETWORK']]);
  });

  it('is a request once more for each attempt', async () => {
    scripted.service.on('GET', '/system', { status: 503 }, (request) => scripted.service.standard(request));
    await scripted.client({ key: 'north' }, PATIENT).listDevices();
    const statuses = requested().map(([, status]) => status);
    assert.deepEqual(statuses.slice(0, 2), [503, 200]);
    assert.deepEqual(meter.told('failed'), []);
  });

  it('is nothing of a draft, which has no station', async () => {
    await scripted.client().listDevices();
    assert.deepEqual([meter.told('requested'), meter.told('failed')], [[], []]);
  });
});
