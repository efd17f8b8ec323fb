import assert from 'node:assert/strict';
import { codeOf, functionNode } from '../support/node-red/alarms-through';
import type { FlowNode } from '../support/node-red/node-red';
import {
  caller,
  canMove,
  describeWith,
  isFixed,
  StationFlow,
  type Message,
  type SandboxCamera,
  isOnline,
} from '../support/node-red/station-flow';
import { look } from '../support/node-red/inboxes-open';
import { sizeOf } from '../support/video/played-clip';
import { bytesOf } from '../support/node-red/flows';

describeWith(StationFlow, 'the camera nodes', {}, (flow) => {
  let camera: SandboxCamera;
  let id: string;
  before(async () => {
    camera = await flow.camera(canMove);
    ({ id } = flow.online);
  });

  describe('ptz', () => {
    const ptz = (properties: Message): FlowNode =>
      caller('rvm-ptz', { camera: camera.id, cameraType: 'str', ...properties });

    const state = async () => (await flow.camera(({ id }) => id === camera.id)).ptz;

    it('goes to a preset by its name or its id, and tells what was accepted', async () => {
      await flow.deploy(ptz({ target: 'Fence Line' }));
      const msg = await flow.through({});
      const target = { id: 1, name: 'Fence Line' };
      assert.deepEqual(msg.ptz, { action: 'goto-preset', cameraId: camera.id, target, accepted: true });
      assert.equal((await state())?.position, 'preset 1');

      await flow.deploy(ptz({ target: '2' }));
      await flow.through({});
      assert.equal((await state())?.position, 'preset 2');
    });

    it('takes 0 for a preset, as a text and as a number, from the node and from the message', async () => {
      const OF_MESSAGE = { target: 'wish', targetType: 'msg' };
      for (const [properties, msg] of [
        [{ target: '0', targetType: 'str' }, {}],
        [{ target: '0', targetType: 'num' }, {}],
        [OF_MESSAGE, { wish: 0 }],
        [OF_MESSAGE, { wish: '0' }],
      ] as const) {
        await flow.deploy(ptz(properties));
        const accepted = (await flow.through(msg)).ptz as { target: Message };
        assert.deepEqual(accepted.target, { id: 0, name: 'Entrance' });
        assert.equal((await state())?.position, 'preset 0');
      }
    });

    it('goes home without a target, whatever stands in its field', async () => {
      await flow.deploy(ptz({ action: 'goto-home', target: 'RVM_TEST_UNSET', targetType: 'env' }));
      const msg = await flow.through({});
      assert.deepEqual(msg.ptz, { action: 'goto-home', cameraId: camera.id, target: null, accepted: true });
      assert.equal((await state())?.position, 'home');
    });

    it('starts and stops a tour, as the message says', async () => {
      await flow.deploy(ptz({ action: 'do', actionType: 'msg', target: 'tour', targetType: 'msg' }));
      await flow.through({ do: 'start-tour', tour: 'Night Round' });
      assert.equal((await state())?.tour, 1);
      const { ptz: stopped } = await flow.through({ do: 'stop-tour', tour: 1 });
      assert.deepEqual((stopped as Message).target, { id: 1, name: 'Night Round' });
      assert.equal((await state())?.tour, null);
    });

    it('leaves the payload and the other properties as they came', async () => {
      await flow.deploy(ptz({ action: 'goto-home' }));
      const came = { payload: { mine: true }, topic: 'kept', extra: [1] };
      assert.partialDeepStrictEqual(await flow.through(came), came);
    });

    it('says BAD_INPUT without a preset to go to or a tour to start, and where it was looked for', async () => {
      for (const [action, word] of [
        ['goto-preset', 'preset'],
        ['start-tour', 'tour'],
      ]) {
        await flow.deploy(ptz({ action, target: 'wish', targetType: 'msg' }));
        for (const wish of [undefined, null, '', ' ']) {
          const { code, message } = await flow.failure({ wish });
          assert.equal(code, 'BAD_INPUT');
          assert.match(message, new RegExp(`no ${word} in msg\\.wish`));
        }
        assert.equal(await flow.code({ wish: { id: 1 } }), 'BAD_INPUT');
        await flow.deploy(ptz({ action, target: '', targetType: 'num' }));
        assert.equal(await flow.code({}), 'BAD_INPUT', 'an empty field is not 0');
      }
    });

    it('says BAD_INPUT for an action that there is not, and lists those that there are', async () => {
      await flow.deploy(ptz({ action: 'do', actionType: 'msg', target: '0' }));
      for (const wish of ['zoom', '', undefined, 1]) {
        const { code, message } = await flow.failure({ do: wish });
        assert.equal(code, 'BAD_INPUT');
        assert.match(message, /goto-preset, goto-home, start-tour, stop-tour/);
      }
    });

    it('says TARGET_NOT_FOUND for a preset that the camera does not have, and LINK_NOT_OFFERED for a fixed one', async () => {
      await flow.deploy(ptz({ target: 'Moon' }));
      assert.equal(await flow.code({}), 'TARGET_NOT_FOUND');
      const fixed = await flow.camera(isFixed);
      await flow.deploy(ptz({ camera: fixed.id, target: '0' }));
      assert.equal(await flow.code({}), 'LINK_NOT_OFFERED');
    });

    it('says CAMERA_BUSY where somebody else controls the camera, and keeps the payload', async () => {
      await flow.fault({ kind: 'status', status: 423, relation: 'rel/ptz_home' });
      await flow.deploy(ptz({ action: 'goto-home' }));
      const failed = await flow.through({ payload: 'kept' }, 'failed');
      assert.deepEqual([codeOf(failed), failed.payload], ['CAMERA_BUSY', 'kept']);
    });

    it('does not send a command again that may have arrived', async () => {
      await flow.deploy(ptz({ target: '1' }));
      await flow.through({});
      await flow.fault({ kind: 'reset', relation: 'rel/trigger', count: 1 });
      assert.equal(await flow.code({}), 'NETWORK');
      const faults = await fetch(`${flow.sandbox.url}/sandbox/faults`);
      assert.deepEqual(await faults.json(), [], 'the one request has met the one fault');
    });
  });

  describe('snapshot', () => {
    const snapshot = (properties: Message = {}): FlowNode =>
      caller('rvm-snapshot', { camera: 'camera', cameraType: 'msg', ...properties });

    it('gives the picture of now as JPEG, with name, content type, camera and time', async () => {
      await flow.deploy(snapshot());
      const before = Date.now();
      const msg = await flow.through({ camera: id });
      const jpeg = bytesOf(msg.payload);
      assert.equal(jpeg.subarray(0, 3).toString('hex'), 'ffd8ff');
      assert.equal(jpeg.subarray(-2).toString('hex'), 'ffd9');
      assert.deepEqual(msg.headers, { 'content-type': 'image/jpeg' });
      assert.match(String(msg.filename), /^[\w.-]+\.jpg$/);
      const { cameraId, time, live } = msg.snapshot as { cameraId: string; time: string; live: boolean };
      assert.deepEqual([cameraId, live], [id, true]);
      assert.match(time, /^\d{4}-\d\d-\d\dT.*Z$/);
      const taken = Date.parse(time);
      assert.ok(taken > before - 1000 && taken < Date.now() + 1000, time);
    });

    it('leaves the picture of the sidebar as it was taken when a flow changes its payload in place', async () => {
      const change = functionNode('change', 'msg.payload.fill(1); return msg;', 'result');
      await flow.deploy(snapshot({ wires: [['change'], ['failed']] }), change);
      await flow.through({ camera: id, webhook: { deliveryId: 'changed' } });
      const { body } = await look(flow.nodeRed, 'picture?deliveryId=changed');
      assert.equal(Buffer.from(String(body.jpeg), 'base64').subarray(0, 3).toString('hex'), 'ffd8ff');
    });

    it('asks for the width that is wished', async () => {
      for (const [width, expected] of [
        ['160', 160],
        [320, 320],
        ['', 320],
      ]) {
        await flow.deploy(snapshot({ width }));
        assert.equal(sizeOf(bytesOf((await flow.through({ camera: id })).payload)).width, expected);
      }
    });

    it('refuses a width that is no whole number of pixels', async () => {
      for (const width of ['wide', '-1', '0', '1.5', '1e99']) {
        await flow.deploy(snapshot({ width }));
        assert.equal(await flow.code({ camera: id }), 'BAD_INPUT', width);
      }
    });

    it('keeps the other properties, but not the headers of a request that came in', async () => {
      await flow.deploy(snapshot());
      const msg = await flow.through({ camera: id, topic: 'mine', headers: { 'content-length': '2' } });
      assert.equal(msg.topic, 'mine');
      assert.deepEqual(msg.headers, { 'content-type': 'image/jpeg' });
    });

    it('fails for a camera that is offline, and leaves the payload as it came', async () => {
      const offline = await flow.camera((camera) => !isOnline(camera));
      await flow.deploy(snapshot());
      const msg = await flow.through({ camera: offline.id, payload: 'kept' }, 'failed');
      assert.match(codeOf(msg), /^(DEVICE_OFFLINE|HTTP_ERROR)$/);
      assert.equal(msg.payload, 'kept');
    });
  });
});
