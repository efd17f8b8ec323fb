import assert from 'node:assert/strict';
import net from 'node:net';
import { Aedes, type PublishPacket } from 'aedes';
import { alarmMessage, post } from '../support/webhook/alarm-message';
import { example } from '../support/examples/examples';
import { SandboxOfExample, tabEnv, withChanges } from '../support/examples/example-sandbox';
import { letSandboxOut } from '../support/examples/trial';
import { PHRASE } from '../support/node-red/flows';
import { freePort, NodeRed, probe, type FlowNode } from '../support/node-red/node-red';
import { eventually } from '../support/time/patience';

const TAB = 'rvm-example-06-tab';
const BESIDE = { 'rvm-example-06-problems': 'problems', 'rvm-example-06-out-event': 'sent' };
const TOPICS = 'remote-monitoring/example-06';

/** A broker on a port of its own, which can go away and come back, and can keep back its acknowledgements. */
class Broker {
  readonly published: { topic: string; qos: number; retain: boolean; payload: Record<string, unknown> }[] =
    [];
  acknowledges = true;
  #keptBack: (() => void)[] = [];
  #aedes: Aedes | undefined;
  #server: net.Server | undefined;

  constructor(readonly port: number) {}

  async start(): Promise<void> {
    this.#aedes = await Aedes.createBroker({
      authorizePublish: (_client, packet, done) => {
        this.#note(packet);
        const acknowledge = (): void => done(null);
        if (this.acknowledges) acknowledge();
        else this.#keptBack.push(acknowledge);
      },
    });
    this.#server = net.createServer(this.#aedes.handle).listen(this.port, '127.0.0.1');
    await new Promise((resolve) => this.#server?.once('listening', resolve));
  }

  acknowledgeAll(): void {
    this.acknowledges = true;
    for (const acknowledge of this.#keptBack.splice(0)) acknowledge();
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

  /** Keeps a message for those who subscribe later. */
  async retain(topic: string, payload: object): Promise<void> {
    const packet = { cmd: 'publish', topic, payload: JSON.stringify(payload), qos: 1, retain: true } as const;
    await new Promise<void>((resolve, reject) => {
      this.#aedes?.publish({ ...packet, dup: false }, (error) => (error ? reject(error) : resolve()));
    });
  }

  /** Messages of a topic, by its last word. */
  of(kind: 'state' | 'event', alarmId?: string): Broker['published'] {
    const ofKind = this.published.filter(({ topic }) => topic.endsWith(`/${kind}`));
    return ofKind.filter(({ payload }) => alarmId === undefined || payload.alarmId === alarmId);
  }

  #note({ topic, qos, retain, payload }: PublishPacket): void {
    const content = JSON.parse(payload.toString()) as Record<string, unknown>;
    this.published.push({ topic, qos, retain, payload: content });
  }
}

describe('example 06, an alarm over MQTT', () => {
  let broker: Broker;
  let nodeRed: NodeRed;
  let sandbox: SandboxOfExample;

  before(async () => {
    broker = new Broker(await freePort());
    await broker.start();
    // As an earlier run left it: of a Node-RED that went away before it could release the state.
    await broker.retain(`${TOPICS}/old-site/old-camera/state`, {
      site: 'Old site',
      state: 'alarm',
      until: new Date(Date.now() - 1000).toISOString(),
    });
    nodeRed = await NodeRed.start({ settings: 'mqttReconnectTime: 200,' });
    await nodeRed.deploy(flow(broker.port));
    sandbox = await SandboxOfExample.of(nodeRed);
    await letSandboxOut(nodeRed, example('06'));
    await nodeRed.logged(/Connected to broker/);
  });

  after(async () => {
    await nodeRed?.stopAndRemove();
    await broker?.stop();
  });

  function settled(alarmId: string): number {
    return nodeRed.at('settled').filter((msg) => String(msg.payload).includes(alarmId)).length;
  }

  function uncertain(alarmId: string): boolean {
    return nodeRed
      .at('problems')
      .map(({ payload }) => payload as { kind: string; alarmId: string })
      .some((problem) => problem.kind === 'uncertain' && problem.alarmId === alarmId);
  }

  it('releases a state that an earlier run has left behind', async () => {
    const isReleased = (): boolean =>
      broker
        .of('state')
        .some(({ topic, payload }) => topic.includes('old-camera') && payload.state === 'normal');
    await eventually(isReleased, 'the release of the old state');
  });

  it('publishes event and retained state with QoS 1 below ids of site and camera, and settles the event', async () => {
    const { alarmId } = await sandbox.raise({ eventName: 'Fence + climbed #1', seconds: 3600 });
    await nodeRed.until(() => settled(alarmId) === 1, 'the settlement');
    const [event] = broker.of('event', alarmId);
    assert.equal(event?.qos, 1);
    assert.equal(event?.retain, false);
    assert.match(event?.topic ?? '', /^remote-monitoring\/example-06\/[\w-]{36}\/[\w-]{36}\/event$/);
    assert.equal(event?.payload.rule, 'Fence + climbed #1');
    const state = broker.of('state').find(({ topic }) => topic === event?.topic.replace(/event$/, 'state'));
    assert.equal(state?.qos, 1);
    assert.equal(state?.retain, true);
    assert.equal(state?.payload.state, 'alarm');
    assert.match(String(state?.payload.camera), /^SANDBOX/);
  });

  it('releases the state by time, while the alarm goes on', async () => {
    const [alarm] = broker.of('event').slice(-1);
    const topic = alarm?.topic.replace(/event$/, 'state');
    const states = (): unknown[] =>
      broker
        .of('state')
        .filter((message) => message.topic === topic)
        .map(({ payload }) => payload.state);
    await eventually(() => states().at(-1) === 'normal', 'the release');
    assert.deepEqual(states(), ['alarm', 'normal']);
    assert.equal(broker.of('event').length, 1, 'no end message has come');
  });

  it('sets no state for an event of health, and puts "none" in the place of a camera that is not there', async () => {
    const before = broker.of('state').length;
    const { alarmId } = await sandbox.raise({ eventClass: 'health' });
    await nodeRed.until(() => settled(alarmId) === 1, 'the settlement');
    assert.match(broker.of('event', alarmId)[0]?.topic ?? '', /\/none\/event$/);
    assert.equal(broker.of('state').length, before);
  });

  for (const id of ['x'.repeat(70_000), { toString: 1 }, '#/+', 7]) {
    it(`keeps topics short and plain whatever stands for an id: ${JSON.stringify(id).slice(0, 20)}`, async () => {
      const message = alarmMessage({ locationId: id, cameraId: id });
      const { alarmId } = message.payload as { alarmId: string };
      assert.equal((await post(`${nodeRed.url}/remote-monitoring/example-06`, message, PHRASE)).status, 200);
      await nodeRed.until(() => settled(alarmId) === 1, 'the settlement');
      assert.match(
        broker.of('event', alarmId)[0]?.topic ?? '',
        /^remote-monitoring\/example-06(\/[\w-]{1,64}){2}\/event$/,
      );
    });
  }

  it('settles nothing while the broker has the message and has not acknowledged it', async () => {
    broker.acknowledges = false;
    const { alarmId } = await sandbox.raise({ eventClass: 'health' });
    await eventually(() => broker.of('event', alarmId).length > 0, 'the message at the broker');
    await nodeRed.until(() => uncertain(alarmId), 'the next delivery');
    assert.equal(settled(alarmId), 0);
    broker.acknowledgeAll();
    await nodeRed.until(() => settled(alarmId) > 0, 'the settlement');
  });

  it('settles nothing while the broker is away; the alarm comes with its next delivery when it is back', async () => {
    await broker.stop();
    await nodeRed.logged(/Disconnected from broker/);
    const { alarmId } = await sandbox.raise({});
    await nodeRed.message('sent', ({ payload }) => JSON.stringify(payload).includes(alarmId));
    await broker.start();
    await nodeRed.until(() => settled(alarmId) > 0, 'the settlement');
    const [event] = broker.of('event', alarmId);
    assert.ok(Number(event?.payload.attempt) > 1, 'the first delivery was not settled');
    assert.equal(event?.payload.first, true);
    const topic = event?.topic.replace(/event$/, 'state');
    assert.ok(broker.of('state').some((state) => state.topic === topic && state.payload.state === 'alarm'));
  });

  it('runs without an error of its own', () => {
    assert.doesNotMatch(nodeRed.log, /\[error\]/);
  });
});

/** The example with this broker, with shorter times, and probes behind settlement and problems. */
function flow(port: number): FlowNode[] {
  const nodes = withChanges(example('06', BESIDE), {
    [TAB]: tabEnv({ STATE_SECONDS: 1, OLD_SECONDS: 600 }),
    'rvm-example-06-broker': { port: String(port) },
    'rvm-example-06-webhook': { redeliverAfter: 3 },
    'rvm-example-06-station': { credentials: { secret: PHRASE } },
    'rvm-example-06-settle': { wires: [['settled'], ['rvm-example-06-not-settled']] },
  });
  return [...nodes, probe('settled', TAB)];
}
