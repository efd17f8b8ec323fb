import assert from 'node:assert/strict';
import { NODE_RED_VERSIONS } from '../support/suite/lanes';
import { look } from '../support/node-red/inboxes-open';
import { sizeOf } from '../support/video/played-clip';
import type { FlowNode } from '../support/node-red/node-red';
import { bytesOf } from '../support/node-red/flows';
import { caller, isOnline, StationFlow, type Message } from '../support/node-red/station-flow';
import { codeOf, functionNode } from '../support/node-red/alarms-through';

for (const version of NODE_RED_VERSIONS) {
  describe(`snapshot in Node-RED ${version}`, () => {
    let flow: StationFlow;

    let id: string;
    before(async () => {
      flow = await StationFlow.start(version);
      ({ id } = await flow.camera(isOnline));
    });
    after(() => flow.stop());

    function snapshot(properties: Message = {}): FlowNode {
      return caller('rvm-snapshot', { camera: 'camera', cameraType: 'msg', ...properties });
    }

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
}
