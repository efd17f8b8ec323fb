import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { Store } from '../../lib/inbox/sqlite/store';
import { PATH, PHRASE } from '../support/flows';
import { entrance, freePort, inject, NodeRed, probe, type FlowNode } from '../support/node-red';
import { SandboxProcess } from '../support/sandbox-process';
import { eventually, FileSink, OnceSink, sentFlow, settledFlow, type Arrival } from '../support/sinks';

const POINTS = [
  ['body-read', 'its body is read'],
  ['verified', 'it is verified'],
  ['inserted', 'it is inserted, before the commit'],
  ['committed', 'it is committed (C-75)'],
  ['answered', 'it is answered'],
  ['dispatched', 'it is dispatched (C-76)'],
  ['settled', 'the flow is done with it, before that is stored'],
  ['marked', 'it is marked'],
] as const;
const THROWER: FlowNode = {
  id: 'thrower',
  type: 'function',
  z: 'tab',
  func: `timers.setImmediate(() => { throw new Error('of another node'); });`,
  libs: [{ var: 'timers', module: 'timers' }],
  wires: [[]],
};
/** Lists the events that are not settled, when asked. */
const OPEN_EVENTS: FlowNode[] = [
  ...entrance('list', 'open-events'),
  { id: 'open-events', type: 'rvm-list-events', z: 'tab', state: 'open', wires: [['open'], []] },
  probe('open'),
];
/** Alarms raised for one kill at most. */
const MOST = 60;

/** A flow to kill, with all that outlives it. */
class Victim {
  sandbox!: SandboxProcess;
  nodeRed!: NodeRed;
  readonly folder = fs.mkdtempSync(path.join(os.tmpdir(), 'rvm-kill-'));
  readonly file = new FileSink(path.join(this.folder, 'sink'));
  readonly sink = new OnceSink();
  readonly #armed = path.join(this.folder, 'kill');
  #port = 0;

  constructor(readonly handledWhen: 'sent' | 'settled') {}

  async start(): Promise<void> {
    this.#port = await freePort();
    await this.sink.start();
    this.sandbox = await SandboxProcess.start(`http://127.0.0.1:${this.#port}${PATH}`, PHRASE);
    await this.startAgain();
    await this.nodeRed.deploy(this.#flows());
  }

  async startAgain(): Promise<void> {
    this.nodeRed = await NodeRed.start({
      userDir: this.folder,
      port: this.#port,
      env: {
        NODE_OPTIONS: `--require "${path.join(__dirname, '..', 'support', 'kill-points.js')}"`,
        KILL_FILE: this.#armed,
      },
    });
  }

  /** Raises alarms until the process is killed at the second passing of a point. */
  async killAt(point: string): Promise<void> {
    const before = this.sandbox.raised.length;
    fs.writeFileSync(this.#armed, `${point} 2`);
    while (this.nodeRed.isRunning && this.sandbox.raised.length < before + MOST) await this.sandbox.raise();
    await this.nodeRed.ended();
    assert.equal(fs.existsSync(this.#armed), false, 'it ended for another reason');
  }

  arrivals(): Arrival[] {
    return this.handledWhen === 'sent' ? this.file.events() : this.sink.arrivals;
  }

  missing(): string[] {
    const there = new Set(this.arrivals().map(({ messageId }) => messageId));
    return this.sandbox.raised.filter((messageId) => !there.has(messageId));
  }

  /** Waits until no event is open in the inbox. */
  async allSettled(): Promise<void> {
    for (let asked = 1; asked <= 100; asked += 1) {
      await inject(this.nodeRed, 'list', {});
      await this.nodeRed.until(() => this.nodeRed.at('open').length === asked, 'the list');
      if ((this.nodeRed.at('open').at(-1)?.payload as unknown[]).length === 0) return;
    }
    assert.fail('events stay open');
  }

  async end(): Promise<void> {
    await this.nodeRed?.stop('SIGKILL');
    await this.sandbox?.stop();
    await this.sink.stop();
    fs.rmSync(this.folder, { recursive: true, force: true });
  }

  #flows(): FlowNode[] {
    const flow = this.handledWhen === 'sent' ? sentFlow(this.file) : settledFlow(this.file, this.sink);
    return [...flow, ...entrance('enter', 'thrower'), THROWER, ...OPEN_EVENTS];
  }
}

for (const handledWhen of ['sent', 'settled'] as const) {
  describe(`Node-RED killed by kill -9, with handledWhen '${handledWhen}'`, function () {
    this.timeout(60_000);
    const victim = new Victim(handledWhen);

    before(() => victim.start());
    after(() => victim.end());

    for (const [point, when] of POINTS) {
      it(`C-126 ${point}: delivers every event where the kill comes when ${when}`, async () => {
        if (!victim.nodeRed.isRunning) await victim.startAgain();
        await victim.killAt(point);
        await victim.startAgain();
        await checkAll(victim);
      });
    }

    it('C-134 delivers every event where an uncaught exception of another node ends Node-RED', async () => {
      if (!victim.nodeRed.isRunning) await victim.startAgain();
      for (let count = 0; count < 10; count += 1) await victim.sandbox.raise();
      await inject(victim.nodeRed, 'enter', {});
      for (let count = 0; count < 10; count += 1) await victim.sandbox.raise();
      await victim.nodeRed.ended();
      assert.match(victim.nodeRed.log, /Uncaught Exception/);
      await victim.startAgain();
      await checkAll(victim);
    });

    it('C-126 ends with nothing open, each event in the store once', async () => {
      await victim.allSettled();
      await victim.nodeRed.stop();
      const file = path.join(victim.folder, 'remote-monitoring', 'inbox.sqlite');
      const store = new Store({ file, resumed: true });
      const stored = store.work.list({ state: 'all', limit: 10_000 });
      store.close();
      assert.deepEqual(
        stored.filter(({ state }) => state !== 'delivered').map(({ state, attempt }) => [state, attempt]),
        [],
      );
      assert.deepEqual(stored.map(({ id }) => id).sort(), [...victim.sandbox.raised].sort());
      if (handledWhen === 'settled') assert.equal(victim.sink.taken().length, stored.length);
    });
  });
}

async function checkAll(victim: Victim): Promise<void> {
  await victim.sandbox.resendAll();
  await eventually(() => victim.missing().length === 0, 'every event');
  checkRepeats(victim);
}

/** What came again came under the same delivery id, with a higher attempt, and output 3 said so. */
function checkRepeats(victim: Victim): void {
  const first = new Map<string, Arrival>();
  const uncertain = new Set(
    victim.file
      .all()
      .filter(({ kind }) => kind === 'uncertain')
      .map(({ deliveryId }) => deliveryId),
  );
  for (const arrival of victim.arrivals()) {
    const { messageId, deliveryId, attempt = 0 } = arrival;
    const former = first.get(messageId);
    first.set(messageId, arrival);
    if (former === undefined) continue;
    assert.equal(deliveryId, former.deliveryId);
    assert.ok(attempt > (former.attempt ?? 0), `attempt ${attempt} after ${former.attempt}`);
    assert.ok(uncertain.has(deliveryId), 'output 3 was not told');
  }
}
