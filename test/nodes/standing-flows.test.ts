import assert from 'node:assert/strict';
import { listenerNode, PATH, PHRASE, webhookFlow, webhookIn } from '../support/node-red/flows';
import { freePort, MOVABLE_CLOCK, NodeRed, type FlowNode } from '../support/node-red/node-red';
import { whileTimeFlies } from '../support/node-red/node-red-time';
import { NODE_RED_VERSIONS, slowIt } from '../support/suite/lanes';
import { arrived, node } from '../support/node-red/alarms-through';
import { alarmMessage, answerTo, sendUntilAnswered } from '../support/webhook/alarm-message';

/** Seconds that outlast all for which a path is held. */
const OVER_A_MINUTE = 65;

const MISSING = node('type-that-nobody-has');
/** As it is left over where its nodes are gone. */
const MISSING_CONFIG: FlowNode = { id: 'left-over', type: 'config-type-that-nobody-has', name: '' };
/** Two that need each other: of their flow Node-RED builds nothing, and starts the others. */
const CIRCLE: FlowNode[] = [
  { id: 'one', type: 'tls-config', z: 'tab', name: '', other: 'two' },
  { id: 'two', type: 'tls-config', z: 'tab', name: '', other: 'one' },
];

const atPath = (path: string, ...further: FlowNode[]) => webhookFlow({ webhook: { path } }, ...further);
const disabled = (id: string, flows: FlowNode[]): FlowNode[] =>
  flows.map((node) => (node.id === id ? { ...node, d: true, disabled: true } : node));
const without = (id: string, flows: FlowNode[]): FlowNode[] => flows.filter((node) => node.id !== id);

for (const version of NODE_RED_VERSIONS) {
  describe(`an alarm while flows do not run, on Node-RED ${version}`, () => {
    let nodeRed: NodeRed;
    before(async () => {
      const settings = `runtimeState: { enabled: true, ui: true }, ${MOVABLE_CLOCK}`;
      nodeRed = await NodeRed.start({ version, settings });
    });
    after(() => nodeRed.stopAndRemove());
    beforeEach(() => nodeRed.deploy(webhookFlow()));

    const answer = (path = PATH, origin = nodeRed.url): Promise<number | 'cut'> =>
      whileTimeFlies(nodeRed, answerTo(origin + path, alarmMessage(), PHRASE));

    /** Asks the admin API for what leads to another line of the log than that of flows that run. */
    async function ask(url: string, body: unknown, line: RegExp): Promise<void> {
      const { length } = nodeRed.log;
      const headers = { 'Content-Type': 'application/json' };
      const request = { method: 'POST', headers, body: JSON.stringify(body) };
      const response = await fetch(nodeRed.url + url, request);
      assert.ok(response.ok, await response.text());
      await nodeRed.logged(line, length);
    }
    const deployInVain = (flows: FlowNode[]) => ask('/flows', flows, /Waiting for missing types/);
    const stop = (): Promise<void> => ask('/flows/state', { state: 'stop' }, /Stopped flows/);
    const start = (): Promise<void> => ask('/flows/state', { state: 'start' }, /Started flows/);

    // Where a test has ended before it started them.
    afterEach(async () => {
      const { state } = (await (await fetch(`${nodeRed.url}/flows/state`)).json()) as { state: string };
      if (state === 'stop') await start();
    });

    /** The service sends what was cut again: this time it comes in, and the flow has it. */
    async function comesIn(path = PATH, origin = nodeRed.url): Promise<void> {
      const message = alarmMessage();
      assert.equal((await sendUntilAnswered(origin + path, message, PHRASE)).at(-1), 200);
      await arrived(nodeRed, message);
    }

    for (const [what, missing] of [
      ['a node', MISSING],
      ['a config node', MISSING_CONFIG],
    ] as const)
      it(`is cut as long as the type of ${what} is missing, and comes in once it is there`, async () => {
        await deployInVain(webhookFlow({}, missing));
        await nodeRed.advance(OVER_A_MINUTE);
        assert.equal(await answer(), 'cut');
        await nodeRed.deploy(webhookFlow());
        await comesIn();
      });

    it('is cut as long as somebody has stopped the flows, and comes in once they are started', async () => {
      await stop();
      await nodeRed.advance(OVER_A_MINUTE);
      assert.equal(await answer(), 'cut');
      await start();
      await comesIn();
    });

    it('is cut at a path that no run of the flows has had, and what no webhook in has is left to Node-RED', async () => {
      await deployInVain(atPath('/never-built', MISSING));
      assert.equal(await answer('/never-built'), 'cut');
      assert.equal(await answer('/of-nobody'), 404);
      await nodeRed.deploy(atPath('/never-built'));
      await comesIn('/never-built');
    });

    it('is cut where a variable of the flow, of a group or of a subflow is the path', async () => {
      const env = (name: string, value: string, type = 'str'): object => ({ name, value, type });
      const webhook = (id: string, properties: object): FlowNode =>
        webhookIn({ id, z: 'variables', path: '${RVM_PLACE}', ...properties });
      const ofGroup = [env('RVM_PLACE', 'RVM_B', 'env'), env('RVM_B', '/of-the-group')];
      const instance = { type: 'subflow:sub', z: 'variables', x: 0, y: 0, wires: [] };
      await deployInVain([
        ...webhookFlow({}, MISSING),
        { id: 'variables', type: 'tab', label: '', env: [env('RVM_PLACE', '/of-the-flow')] },
        { id: 'group', type: 'group', z: 'variables', nodes: ['b'], env: ofGroup },
        { id: 'sub', type: 'subflow', name: '', in: [], out: [], env: [env('RVM_PLACE', '/of-the-subflow')] },
        { id: 'first', ...instance },
        { id: 'second', ...instance, env: [env('RVM_PLACE', '/of-the-instance')] },
        { id: 'third', ...instance, d: true, env: [env('RVM_PLACE', '/of-a-disabled-instance')] },
        webhook('a', {}),
        webhook('b', { g: 'group' }),
        webhook('c', { z: 'sub' }),
      ]);
      for (const path of ['flow', 'group', 'subflow', 'instance'])
        assert.equal(await answer(`/of-the-${path}`), 'cut', path);
      assert.equal(await answer('/of-a-disabled-instance'), 404);
    });

    it('is cut at a node that was deleted meanwhile, and answered 404 a minute after the flows have started without it', async () => {
      await stop();
      await ask('/flows', without('webhook', webhookFlow()), /Updated flows/);
      await nodeRed.advance(OVER_A_MINUTE);
      assert.equal(await answer(), 'cut');
      await start();
      assert.equal(await answer(), 'cut');
      await nodeRed.advance(OVER_A_MINUTE);
      assert.equal(await answer(), 404);
    });

    for (const [what, flows] of [
      ['a disabled node', disabled('webhook', webhookFlow())],
      ['a node of a disabled flow', disabled('tab', webhookFlow())],
      ['a node that is gone', without('webhook', webhookFlow())],
    ] as const)
      it(`is answered 404 at ${what}, a minute after the flows have started`, async () => {
        await nodeRed.deploy(flows);
        assert.equal(await answer(), 'cut');
        await nodeRed.advance(OVER_A_MINUTE);
        assert.equal(await answer(), 404);
      });

    for (const [what, broken] of [
      ['of a flow that Node-RED gives up', (path: string) => atPath(path, ...CIRCLE)],
      ['that throws', (path: string) => webhookFlow({ webhook: { path, wires: 'none' } })],
      ['whose listener is missing', (path: string) => webhookFlow({ webhook: { path, listener: 'gone' } })],
    ] as const)
      it(`is cut at a node ${what}, had it been built before or not, and comes in once it is`, async () => {
        for (const path of [PATH, '/not-built-at-first']) {
          await nodeRed.deploy(broken(path));
          await nodeRed.advance(OVER_A_MINUTE);
          assert.equal(await answer(path), 'cut', path);
        }
        await nodeRed.deploy(webhookFlow());
        await comesIn();
      });

    it('is cut at the former path of a node whose variable is set no more, for nobody knows its path', async () => {
      await nodeRed.deploy(atPath('${RVM_NOT_SET}'));
      await nodeRed.advance(OVER_A_MINUTE);
      assert.equal(await answer(), 'cut');
      await nodeRed.deploy(webhookFlow());
      await comesIn();
    });

    describe('on a listener', () => {
      let port: number;
      let origin: string;
      const flows = (...further: FlowNode[]): FlowNode[] =>
        webhookFlow({ webhook: { listener: 'listener' } }, listenerNode({ port }), ...further);

      async function deployAndListen(): Promise<void> {
        const { length } = nodeRed.log;
        await nodeRed.deploy(flows());
        await nodeRed.logged(new RegExp(`from this machine: ${origin}`), length);
      }
      beforeEach(async () => {
        port = await freePort();
        origin = `http://127.0.0.1:${port}`;
        await deployAndListen();
      });

      it('has no answer as long as a type is missing, and comes in once it is there', async () => {
        await deployInVain(flows(MISSING_CONFIG));
        for (const seconds of [0, OVER_A_MINUTE]) {
          await nodeRed.advance(seconds);
          assert.equal(await answer(PATH, origin), 'cut');
        }
        await deployAndListen();
        await comesIn(PATH, origin);
      });

      it('is cut at a node that could not be built beside one that is', async () => {
        const second = { ...webhookIn({ id: 'second', path: '/second', listener: 'listener' }), z: 'beside' };
        const flow: FlowNode[] = [{ id: 'beside', type: 'tab', label: '' }, second];
        await nodeRed.deploy(flows(...flow, ...CIRCLE));
        await nodeRed.advance(OVER_A_MINUTE);
        assert.equal(await answer(PATH, origin), 'cut');
        const beside = await sendUntilAnswered(`${origin}/second`, alarmMessage(), PHRASE);
        assert.equal(beside.at(-1), 200);
        assert.equal(await answer('/of-nobody', origin), 404);
      });
    });
  });

  slowIt(
    `an alarm is cut at a start whose flows lack a type, and comes in once it is there, on Node-RED ${version}`,
    async () => {
      const flows = webhookFlow({}, MISSING);
      await NodeRed.with({ version, settings: MOVABLE_CLOCK, flows, flowsWait: true }, async (nodeRed) => {
        const first = answerTo(nodeRed.url + PATH, alarmMessage(), PHRASE);
        assert.equal(await whileTimeFlies(nodeRed, first), 'cut');
        await nodeRed.deploy(webhookFlow());
        const then = await sendUntilAnswered(nodeRed.url + PATH, alarmMessage(), PHRASE);
        assert.equal(then.at(-1), 200);
      });
    },
  );
}
