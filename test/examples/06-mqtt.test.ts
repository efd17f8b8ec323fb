import assert from 'node:assert/strict';
import { once } from 'node:events';
import net from 'node:net';
import { Aedes, type PublishPacket } from 'aedes';
import { alarmMessage, post } from '../support/webhook/alarm-message';
import { ExampleRun, eventOf, webhookOf } from '../support/examples/example-run';
import { PHRASE } from '../support/node-red/flows';
import { freePort } from '../support/node-red/node-red';
import { eventually } from '../support/time/patience';

const TOPICS = 'remote-monitoring/example-06';
const CAMERA = 'SANDBOX Gate 1';
const SITE = 'SANDBOX Harbour Depot';

interface Published {
  topic: string;
  qos: number;
  retain: boolean;
  payload: unknown;
}

/** A broker on a port of its own, which can go away and come back, and can keep back its acknowledgements. */
class Broker {
  readonly published: Published[] = [];
  acknowledges = true;
  #keptBack: { payload: unknown; acknowledge: () => void }[] = [];
  #aedes: Aedes | undefined;
  #server: net.Server | undefined;

  constructor(readonly port: number) {}

  async start(): Promise<void> {
    this.#aedes = await Aedes.createBroker({
      authorizePublish: (_client, packet, done) => {
        const payload = this.#note(packet);
        const acknowledge = (): void => done(null);
        if (this.acknowledges) acknowledge();
        else this.#keptBack.push({ payload, acknowledge });
      },
    });
    this.#server = net.createServer(this.#aedes.handle).listen(this.port, '127.0.0.1');
    await once(this.#server, 'listening');
  }

  acknowledgeAll(): void {
    this.acknowledges = true;
    for (const { acknowledge } of this.#keptBack.splice(0)) acknowledge();
  }

  /** The oldest of such a state that it has kept back. @returns whether there was one */
  acknowledgeOne(state: boolean): boolean {
    const at = this.#keptBack.findIndex(({ payload }) => payload === state);
    if (at === -1) return false;
    this.#keptBack.splice(at, 1)[0]?.acknowledge();
    return true;
  }

  async stop(): Promise<void> {
    const [aedes, server] = [this.#aedes, this.#server];
    this.#aedes = undefined;
    if (aedes === undefined) return;
    const closed = new Promise((resolve) => server?.close(resolve));
    await new Promise<void>((resolve) => {
      aedes.close(resolve);
    });
    await closed;
  }

  /** What was said of a site, true or false, oldest first. */
  states(site: string): unknown[] {
    return this.published
      .filter(({ topic }) => topic === `${TOPICS}/${site}/alarm`)
      .map(({ payload }) => payload);
  }

  #note({ topic, qos, retain, payload: text }: PublishPacket): unknown {
    const payload: unknown = JSON.parse(text.toString());
    this.published.push({ topic, qos, retain, payload });
    return payload;
  }
}

describe('example 06, an alarm over MQTT', () => {
  let broker: Broker;

  before(async () => {
    broker = new Broker(await freePort());
    await broker.start();
  });
  after(() => broker?.stop());

  const run = ExampleRun.ofGroup('06', () => ({
    settings: 'mqttReconnectTime: 200,',
    beside: { alarm: 'came', held: 'held back', settle: 'acknowledged', 'not-settled': 'not settled' },
    changes: {
      broker: { port: String(broker.port) },
      webhook: { redeliverAfter: 3 },
      station: { credentials: { secret: PHRASE } },
      // Its seconds are shorter.
      alarm: { hold: 2 },
      tick: { repeat: '0.3' },
    },
  }));
  before(() => run.nodeRed.logged(/Connected to broker/));

  beforeEach(async () => {
    broker.acknowledgeAll();
    await eventually(() => broker.states(SITE).at(-1) !== true, 'the release of an earlier alarm');
    broker.published.length = 0;
  });

  const isAcknowledged = (alarmId: string): boolean =>
    run.at('acknowledged', { alarmId }).some(({ payload }) => String(payload) === 'true');
  const acknowledged = (alarmId: string): Promise<void> =>
    run.nodeRed.until(() => isAcknowledged(alarmId), 'the acknowledgement');
  const isOver = (from: number): boolean => run.status('alarm', from).includes('Armed');
  const released = (): Promise<void> => eventually(() => broker.states(SITE).at(-1) === false, 'the release');

  it('publishes a retained state of the site with QoS 1, and what has raised it, and releases it by time', async () => {
    const { alarmId } = await run.raise({ camera: CAMERA, eventName: 'Fence + climbed #1' });
    await acknowledged(alarmId);
    await released();
    assert.deepEqual(broker.states(SITE), [true, false]);
    assert.ok(broker.published.every(({ qos, retain }) => qos === 1 && retain));
    const last = broker.published.find(({ topic }) => topic === `${TOPICS}/${SITE}/last`);
    const raisedBy = { camera: CAMERA, rule: 'Fence + climbed #1', alarmId, sandbox: true };
    assert.partialDeepStrictEqual(last?.payload, raisedBy);
  });

  it('sets no state for an event of health', async () => {
    const { alarmId } = await run.raise({ eventClass: 'health' });
    const held = await run.nodeRed.message('held back', (msg) => eventOf(msg).alarmId === alarmId);
    assert.equal(held.reason, 'class');
    assert.deepEqual(broker.published, []);
  });

  for (const [name, site] of [
    ['#/+', '___'],
    [{ toString: 1 }, undefined],
    ['x'.repeat(70_000), 'x'.repeat(200)],
  ] as const) {
    it(`keeps topics plain whatever stands for a site: ${JSON.stringify(name).slice(0, 20)}`, async () => {
      const message = alarmMessage({ locationName: name, locationId: undefined });
      const { alarmId } = message.payload as { alarmId: string };
      const url = `${run.nodeRed.url}/remote-monitoring/example-06`;
      assert.equal((await post(url, message, PHRASE)).status, 200);
      await acknowledged(alarmId);
      assert.deepEqual(broker.states(site ?? 'unknown').slice(0, 1), [true]);
    });
  }

  it('settles nothing while the broker has the state and has not acknowledged it', async () => {
    broker.acknowledges = false;
    const { alarmId } = await run.raise({ camera: CAMERA });
    await eventually(() => broker.states(SITE).length > 0, 'the state at the broker');
    const isAgain = (): boolean =>
      run.at('came', { alarmId }).some((msg) => Number(webhookOf(msg).attempt) > 1);
    await run.nodeRed.until(isAgain, 'the next delivery');
    assert.equal(isAcknowledged(alarmId), false);
    broker.acknowledgeAll();
    await acknowledged(alarmId);
  });

  it('publishes a state until that is acknowledged, whatever comes late of the one before it', async () => {
    const sent = (state: boolean): number => broker.states(SITE).filter((each) => each === state).length;
    const first = await run.raise({ camera: CAMERA });
    await acknowledged(first.alarmId);
    broker.acknowledges = false;
    broker.published.length = 0;
    await eventually(() => sent(false) > 1, 'the release, twice');
    broker.acknowledgeOne(false);
    const before = sent(true);
    const second = await run.raise({ camera: CAMERA });
    await eventually(() => sent(true) > before, 'the state at the broker');
    while (broker.acknowledgeOne(false));
    const late = sent(true);
    await eventually(() => sent(true) > late + 1, 'the state once more');
    assert.equal(isAcknowledged(second.alarmId), false);
    broker.acknowledgeAll();
    await acknowledged(second.alarmId);
  });

  it('leaves a state up for six ticks that was acknowledged after its alarm, also where that is told twice', async () => {
    broker.acknowledges = false;
    const from = run.nodeRed.seen.length;
    await run.raise({ camera: CAMERA });
    await eventually(() => broker.states(SITE).length > 1, 'the state, twice');
    await run.nodeRed.until(() => isOver(from), 'the end of its hold');
    const acknowledgedAt = performance.now();
    broker.acknowledgeAll();
    await eventually(() => broker.states(SITE).includes(false), 'the release');
    const stayed = performance.now() - acknowledgedAt;
    assert.ok(stayed > 5 * 300 - 100, `released after ${stayed} ms`); // a busy machine makes it longer, never shorter
  });

  it('publishes the state when a broker that was away is back, also of an alarm that is over', async () => {
    await broker.stop();
    await run.nodeRed.logged(/Disconnected from broker/);
    const from = run.nodeRed.seen.length;
    const { alarmId } = await run.raise({ camera: CAMERA });
    const hasCome = (): boolean => run.at('came', { alarmId }).length > 0;
    await run.nodeRed.until(() => hasCome() && isOver(from), 'the end of its hold');
    assert.equal(isAcknowledged(alarmId), false);
    await broker.start();
    await acknowledged(alarmId);
    assert.equal(broker.states(SITE)[0], true);
  });

  it('releases after the start what was raised when Node-RED was killed', async () => {
    const { alarmId } = await run.raise({ camera: CAMERA });
    await acknowledged(alarmId);
    await run.restart('SIGKILL');
    await released();
    assert.deepEqual(run.nodeRed.at('not settled'), []);
  });
});
