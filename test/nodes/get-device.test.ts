import assert from 'node:assert/strict';
import { NODE_RED_VERSIONS } from '../support/suite/lanes';
import type { FlowNode } from '../support/node-red/node-red';
import {
  caller,
  canMove,
  isFixed,
  isOnline,
  StationFlow,
  type Message,
} from '../support/node-red/station-flow';

/** Changes what it gets, as a flow may. */
const SPOILER: FlowNode = {
  id: 'spoiler',
  type: 'function',
  z: 'tab',
  name: '',
  func: `const before = { ...msg.payload };
msg.payload.name = 'spoilt';
return { ...msg, payload: before };`,
  outputs: 1,
  libs: [],
  x: 0,
  y: 0,
  wires: [['result']],
};

for (const version of NODE_RED_VERSIONS) {
  describe(`get device in Node-RED ${version}`, () => {
    let flow: StationFlow;

    before(async () => {
      flow = await StationFlow.start(version);
    });

    after(() => flow.stop());

    function ask(what: string): FlowNode {
      return caller('rvm-get-device', { camera: 'camera', cameraType: 'msg', what });
    }

    it('gives the details of a camera: more than the list has, without links', async () => {
      const { id, name } = await flow.camera(isOnline);
      await flow.deploy(caller('rvm-get-device', { camera: 'camera' }));
      const device = (await flow.through({ camera: id })).payload as Message;
      assert.equal(device.id, id);
      assert.equal(device.name, name);
      assert.equal(device.online, true);
      assert.equal(device.manufacturer, 'SANDBOX');
      assert.ok(typeof device.site === 'string' && device.site !== '');
      assert.equal('_links' in device, false);
    });

    it('gives a copy, which a flow may change', async () => {
      const { id, name } = await flow.camera(isOnline);
      await flow.deploy({ ...ask('details'), wires: [['spoiler'], []] }, SPOILER);
      for (const _turn of [1, 2])
        assert.equal(((await flow.through({ camera: id })).payload as Message).name, name);
    });

    it('lists presets and tours with id and name, and an id may be 0', async () => {
      const { id } = await flow.camera(canMove);
      for (const [what, name] of [
        ['presets', 'Entrance'],
        ['tours', 'Perimeter'],
      ] as const) {
        await flow.deploy(ask(what));
        const list = (await flow.through({ camera: id })).payload as Message[];
        assert.ok(list.length > 1);
        for (const entry of list) assert.deepEqual(Object.keys(entry), ['id', 'name']);
        assert.deepEqual(list[0], { id: 0, name });
      }
    });

    it('says LINK_NOT_OFFERED for the presets of a camera that cannot move, and DEVICE_NOT_FOUND for a stranger', async () => {
      const { id } = await flow.camera(isFixed);
      await flow.deploy(ask('presets'));
      assert.equal(await flow.code({ camera: id }), 'LINK_NOT_OFFERED');
      assert.equal(await flow.code({ camera: 'nobody' }), 'DEVICE_NOT_FOUND');
    });

    it('keeps the other properties of a message', async () => {
      const { id } = await flow.camera(isOnline);
      await flow.deploy(ask('details'));
      const msg = await flow.through({ camera: id, topic: 'mine', extra: { kept: true } });
      assert.equal(msg.topic, 'mine');
      assert.deepEqual(msg.extra, { kept: true });
      assert.equal(msg.camera, id);
    });

    it('refuses a choice that it does not have', async () => {
      await flow.deploy(ask('secrets'));
      assert.equal(await flow.code({ camera: 'any' }), 'BAD_INPUT');
    });

    it('takes its choice from an environment variable', async () => {
      const { id } = await flow.camera(canMove);
      await flow.deployFlows(
        flow
          .flows({}, ask('${RVM_TEST_WHAT}'))
          .map((node) =>
            node.type === 'tab'
              ? { ...node, env: [{ name: 'RVM_TEST_WHAT', value: 'tours', type: 'str' }] }
              : node,
          ),
      );
      assert.ok(Array.isArray((await flow.through({ camera: id })).payload));
    });
  });
}
