import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { SharedInbox } from '../../lib/inbox/shared-inbox';
import { SELF_TEST, SELF_TEST_ID } from '../../lib/message/envelope';
import type { Meter } from '../../lib/meter';
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
    assert.deepEqual(
      await posted(
        message,
        message,
        other,
        signed({ messageId: null }),
        signed({ payloadType: 'Unheard' }),
        { ...message, headers: { Authorization: 'HMAC-SHA256 AAAA' } },
        { method: 'GET' },
        { ...message, headers: { ...message.headers, 'Content-Encoding': 'gzip' } },
        { body: Buffer.alloc(2 * 1024 * 1024) },
        signed({ transmitTime: old }, { eventStartTime: minutesAgo(0) }),
      ),
      [
        'accepted north',
        'repeat north',
        'conflict north',
        'dead-letter north',
        'other north',
        'unauthentic north',
        'method -',
        'compressed -',
        'large -',
        'stale north',
      ],
    );
  });

  it('takes the time until the answer of what was stored alone', async () => {
    receiver = await ReceiverUnderTest.start();
    await posted(signed(), { ...signed(), headers: {} });
    const [[, , stored] = [], [, , refused] = []] = meter.told('answered');
    assert.ok(stored !== undefined && stored >= 0);
    assert.equal(refused, undefined);
  });

  it('names no station where several may be meant', async () => {
    receiver = await ReceiverUnderTest.start();
    receiver.stations = [station(), station({ key: 'south', secret: 'another phrase than the first' })];
    assert.deepEqual(await posted({ ...signed(), headers: {} }), ['unauthentic -']);
  });

  it('is cut where it cannot be judged', async () => {
    receiver = await ReceiverUnderTest.start({ holdMs: 20 });
    receiver.stations = [station({ secret: '' })];
    assert.deepEqual(await posted(signed()), ['cut -']);
  });

  it('is a self-test apart from alarms', async () => {
    receiver = await ReceiverUnderTest.start();
    assert.deepEqual(await posted(signed({ payloadType: SELF_TEST, messageId: `${SELF_TEST_ID}1` })), [
      'self-test north',
    ]);
  });

  it('is answered by the middleware', async () => {
    receiver = await ReceiverUnderTest.start({
      endpoint: { middleware: (_req, res) => void res.writeHead(204).end() },
    });
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
    const told = meter.told('delivered');
    assert.deepEqual(
      told.map(([key, again]) => [key, again]),
      [
        ['north', undefined],
        ['north', 'retry'],
      ],
    );
    assert.ok((told[0]?.[2] ?? 0) >= 5);
  });

  it('is each commit by its engine; that of a file has a thread, which a test of Node-RED sees', async () => {
    const inbox = await open();
    await inbox.accept(proven());
    const engines = new Set(meter.told('committed').map(([engine]) => engine));
    assert.deepEqual([...engines], inbox instanceof SharedInbox ? ['postgres'] : []);
  });
});

describe('what is counted of a store', () => {
  it('is each message that is kept beside it', async () => {
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'rvm-counted-'));
    const inbox = new InlineInbox({ spillFolder: folder, lookAgain: 20 });
    await eventually(() => inbox.state().durable === true, 'the store');
    inbox.fails = true;
    await inbox.accept(proven());
    await inbox.accept(proven());
    assert.equal(meter.told('spilled').length, 2);
    inbox.fails = false;
    await inbox.close();
    fs.rmSync(folder, { recursive: true, force: true });
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
    assert.deepEqual(requested().slice(0, 2), [
      ['north', 503],
      ['north', 200],
    ]);
    assert.deepEqual(meter.told('failed'), []);
  });

  it('is nothing of a draft, which has no station', async () => {
    await scripted.client().listDevices();
    const names: (keyof Meter)[] = ['requested', 'failed'];
    for (const name of names) assert.deepEqual(meter.told(name), []);
  });
});
