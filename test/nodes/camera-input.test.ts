import assert from 'node:assert/strict';
import { NODE_RED_VERSIONS } from '../support/suite/lanes';
import {
  caller,
  isOnline,
  StationFlow,
  type Message,
  type SandboxCamera,
} from '../support/node-red/station-flow';

for (const version of NODE_RED_VERSIONS) {
  describe(`the camera that a node is asked for, in Node-RED ${version}`, () => {
    let flow: StationFlow;
    let camera: SandboxCamera;

    before(async () => {
      flow = await StationFlow.start(version, {}, { env: { RVM_TEST_CAMERA: 'no camera of the sandbox' } });
      camera = await flow.camera(isOnline);
    });

    after(() => flow.stop());

    /** Deploys a node whose camera comes from there, and gives the id of the device it finds for a message. */
    async function found(properties: Message, msg: Message): Promise<unknown> {
      await flow.deploy(caller('rvm-get-device', properties));
      return ((await flow.through(msg)).payload as { id: string }).id;
    }

    async function refused(properties: Message, msg: Message): Promise<{ code: string; message: string }> {
      await flow.deploy(caller('rvm-get-device', properties));
      return flow.failure(msg);
    }

    it('is that of the event, unless the node says otherwise', async () => {
      assert.equal(await found({}, { event: { cameraId: camera.id } }), camera.id);
    });

    it('comes from the node, the message, the context or an expression', async () => {
      const places: [type: string, value: string, msg: Message][] = [
        ['str', camera.id, {}],
        ['msg', 'camera', { camera: camera.id }],
        ['flow', 'camera', { flow: { camera: camera.id } }],
        ['global', 'camera', { global: { camera: camera.id } }],
        ['jsonata', "$split(note, ' ')[1]", { note: `camera ${camera.id}` }],
      ];
      for (const [cameraType, value, msg] of places)
        assert.equal(await found({ camera: value, cameraType }, msg), camera.id, cameraType);
    });

    it('comes from an environment variable, of the process or of the tab', async () => {
      await flow.deployFlows(
        flow
          .flows({}, caller('rvm-get-device', { camera: 'CAMERA', cameraType: 'env' }))
          .map((node) =>
            node.type === 'tab'
              ? { ...node, env: [{ name: 'CAMERA', value: camera.id, type: 'str' }] }
              : node,
          ),
      );
      assert.equal(((await flow.through({})).payload as { id: string }).id, camera.id);
      assert.match(
        (await refused({ camera: 'RVM_TEST_CAMERA', cameraType: 'env' }, {})).code,
        /DEVICE_NOT_FOUND/,
      );
    });

    it('is named by its id, its remote id or its name', async () => {
      const { id, remoteId, name } = camera;
      for (const value of [id, remoteId, name])
        assert.equal(await found({ camera: value, cameraType: 'str' }, {}), id, value);
    });

    it('may be a number, 0 included: the camera of that id is looked for', async () => {
      assert.equal((await refused({}, { event: { cameraId: 0 } })).code, 'DEVICE_NOT_FOUND');
      assert.equal((await refused({ camera: '0', cameraType: 'num' }, {})).code, 'DEVICE_NOT_FOUND');
    });

    it('is BAD_INPUT where it is empty, and the message says where it was looked for', async () => {
      for (const event of [undefined, {}, { cameraId: null }, { cameraId: '' }, { cameraId: ' ' }]) {
        const { code, message } = await refused({}, { event });
        assert.equal(code, 'BAD_INPUT', JSON.stringify(event));
        assert.match(message, /msg\.event\.cameraId/);
      }
      const { code, message } = await refused({ camera: '', cameraType: 'str' }, {});
      assert.equal(code, 'BAD_INPUT');
      assert.match(message, /in this node/);
    });

    it('is BAD_INPUT where it is neither a text nor a number', async () => {
      await flow.deploy(caller('rvm-get-device'));
      for (const cameraId of [{ id: camera.id }, [camera.id], true]) {
        const { code, message } = await flow.failure({ event: { cameraId } });
        assert.equal(code, 'BAD_INPUT');
        assert.match(message, /neither a text nor a number/);
      }
    });

    it('is CONFIG_MISSING that names the variable where an environment variable is not set', async () => {
      for (const value of ['RVM_TEST_UNSET', 'Gate ${RVM_TEST_UNSET}']) {
        const { code, message } = await refused({ camera: value, cameraType: 'env' }, {});
        assert.equal(code, 'CONFIG_MISSING', value);
        assert.match(message, /RVM_TEST_UNSET is not set/);
      }
      const { code } = await refused({ camera: '${RVM_TEST_UNSET}', cameraType: 'str' }, {});
      assert.equal(code, 'CONFIG_MISSING');
      await flow.shows('RVM_TEST_UNSET is not set');
    });

    it('is BAD_INPUT where an expression is broken', async () => {
      const { code, message } = await refused({ camera: '$nonsense(', cameraType: 'jsonata' }, {});
      assert.equal(code, 'BAD_INPUT');
      assert.match(message, /property camera/);
    });
  });
}
