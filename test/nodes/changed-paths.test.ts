import assert from 'node:assert/strict';
import { act, look, inboxesOpen, nothingOpen } from '../support/node-red/inboxes-open';
import { listenerNode, PHRASE, webhookFlow, webhookIn } from '../support/node-red/flows';
import { flowNode, freePort, NodeRed, probe, type FlowNode } from '../support/node-red/node-red';
import { NODE_RED_VERSIONS } from '../support/suite/lanes';
import { alarmMessage, post } from '../support/webhook/alarm-message';

type Properties = Record<string, unknown>;

const SETTLED = { handledWhen: 'settled', redeliverAfter: 600 };

function flow(north: Properties = {}, south: Properties = {}, ...further: FlowNode[]): FlowNode[] {
  const wires = [['of-south'], ['health'], ['problems']];
  const other = webhookIn({ ...SETTLED, id: 'south', path: '/south', wires, ...south });
  const webhook = { ...SETTLED, path: '/north', ...north };
  const settle = flowNode('settle', 'rvm-settle', [[], []]);
  return webhookFlow({ webhook }, other, probe('of-south'), settle, ...further);
}

for (const version of NODE_RED_VERSIONS)
  describe(`a webhook in whose path changes, on Node-RED ${version}`, () => {
    let nodeRed: NodeRed;
    let from = 0;

    before(async () => {
      nodeRed = await NodeRed.start({ version });
      await deploy(flow());
      await inboxesOpen(nodeRed);
    });
    after(() => nodeRed.stopAndRemove());

    beforeEach(() => deploy(flow()));
    afterEach(async () => {
      await deploy(flow({ handledWhen: 'sent' }, { handledWhen: 'sent' }));
      await nothingOpen(nodeRed);
    });

    async function deploy(flows: FlowNode[]): Promise<void> {
      from = nodeRed.seen.length;
      await nodeRed.deploy(flows);
    }

    async function raise(path: string, origin = nodeRed.url): Promise<string> {
      const message = alarmMessage();
      assert.equal((await post(origin + path, message, PHRASE)).status, 200);
      return String(message['messageId']);
    }

    async function raiseBoth(): Promise<[string, string]> {
      const [north, south] = [await raise('/north'), await raise('/south')];
      await come('alarms', north);
      await come('of-south', south);
      return [north, south];
    }

    const idsAt = (output: string): unknown[] =>
      nodeRed.at(output, from).map(({ webhook }) => (webhook as Properties)['messageId']);
    const come = (output: string, id: string): Promise<void> =>
      nodeRed.until(() => idsAt(output).includes(id), `the event at ${output}`);
    const shows = (node: string, status: string): Promise<void> =>
      nodeRed.until(() => nodeRed.statuses(node, from).at(-1) === status, status);
    const abandoned = async () => (await look(nodeRed, 'overview')).body['abandoned'] as Properties[];
    const waiting = async () => (await abandoned()).map(({ port, path, count }) => [port, path, count]);

    it('takes along what its flow has not settled, which says so', async () => {
      const id = await raise('/north');
      await come('alarms', id);
      await deploy(flow({ path: '/north-2' }));
      await come('alarms', id);
      assert.deepEqual(idsAt('of-south'), []);
      const reasons = nodeRed.at('problems', from).map(({ payload }) => (payload as Properties)['reason']);
      assert.deepEqual(reasons, ['restart']);
      assert.deepEqual(await waiting(), []);
    });

    it('keeps what it had, and no more, where another has exchanged its path with it', async () => {
      const [north, south] = await raiseBoth();
      await deploy(flow({ path: '/south' }, { path: '/north' }));
      await come('alarms', north);
      await come('of-south', south);
      assert.deepEqual([idsAt('alarms'), idsAt('of-south')], [[north], [south]]);
      await come('of-south', await raise('/north'));
    });

    it('takes along what nothing had proved, and is proven now', async () => {
      const message = alarmMessage();
      const secret = 'the phrase of tomorrow';
      assert.equal((await post(`${nodeRed.url}/north`, message, secret)).status, 401);
      const credentials = { username: 'agent', password: 'password-of-the-test', secret };
      const flows = flow({ path: '/north-2' });
      await deploy(flows.map((node) => (node.id === 'station' ? { ...node, credentials } : node)));
      await come('alarms', String(message['messageId']));
    });

    it('loses nothing, and gives nothing away, while it has no path', async () => {
      const id = await raise('/north');
      await come('alarms', id);
      await deploy(flow({ path: '${RVM_NO_PATH}' }));
      await shows('webhook', 'RVM_NO_PATH is not set');
      assert.deepEqual([idsAt('alarms'), idsAt('of-south')], [[], []]);
      assert.deepEqual(await waiting(), [['', '/north', 1]]);
      await deploy(flow({ path: '/north-2' }));
      await come('alarms', id);
      assert.deepEqual(await waiting(), []);
    });

    it('loses nothing, and gets nothing of the other, while that has its path', async () => {
      const [north, south] = await raiseBoth();
      await deploy(flow({}, { path: '/north' }));
      await shows('south', 'status.pathInUse');
      await come('alarms', north);
      assert.deepEqual(idsAt('of-south'), []);
      assert.deepEqual(await waiting(), [['', '/south', 1]]);
      await deploy(flow());
      await come('of-south', south);
      assert.deepEqual(idsAt('of-south'), [south]);
    });

    it('has its events where it is imported anew, with another id', async () => {
      const [, south] = await raiseBoth();
      await deploy(flow({}, { id: 'imported' }));
      await come('of-south', south);
    });

    it('takes them along to a listener, where another path of the same name is another one', async () => {
      const port = String(await freePort());
      const listener = listenerNode({ port });
      const id = await raise('/south');
      await come('of-south', id);
      await deploy(flow({ path: '/south' }, { listener: 'listener' }, listener));
      await come('of-south', id);
      await nodeRed.logged(new RegExp(`127.0.0.1:${port}`));
      await come('of-south', await raise('/south', `http://127.0.0.1:${port}`));
      await come('alarms', await raise('/south'));
      assert.deepEqual([idsAt('alarms').length, idsAt('of-south').length], [1, 2]);
    });

    it('cannot have a path twice at one port, whatever addresses the listeners have', async () => {
      const port = String(await freePort());
      const listeners = [1, 2].map((host) =>
        listenerNode({ id: `listener-${host}`, host: `127.0.0.${host}`, port }),
      );
      const [north, south] = listeners.map(({ id }) => ({ path: '/one', listener: id }));
      await deploy(flow(north, south, ...listeners));
      await shows('south', 'status.pathInUse');
    });

    it('leaves behind what can be given to another, and to no other than that has the inbox', async () => {
      const id = await raise('/south');
      await come('of-south', id);
      await deploy(flow().filter((node) => node.id !== 'south'));
      const [{ inbox, endpointId } = assert.fail('no row')] = await abandoned();
      const assign = async (asked: Properties = {}): Promise<number> =>
        (await act(nodeRed, 'abandoned-events', { inbox, endpointId, to: ':/north', ...asked })).status;
      const wrong = [{ inbox: 'none' }, { endpointId: ':/north' }, { endpointId: 7 }, { to: ':/nowhere' }];
      for (const asked of wrong) assert.equal(await assign(asked), 422, JSON.stringify(asked));
      assert.equal(await assign(), 200);
      await come('alarms', id);
      assert.equal(await assign(), 422);
      assert.deepEqual(await waiting(), []);
    });
  });
