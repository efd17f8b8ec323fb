import assert from 'node:assert/strict';
import http from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { NODE_RED_VERSIONS } from '../support/suite/lanes';
import type { FlowNode } from '../support/node-red/node-red';
import {
  caller,
  isOnline,
  StationFlow,
  type Message,
  type SandboxCamera,
} from '../support/node-red/station-flow';

for (const version of NODE_RED_VERSIONS) {
  describe(`api request in Node-RED ${version}`, () => {
    let flow: StationFlow;
    let camera: SandboxCamera;

    before(async () => {
      flow = await StationFlow.start(version);
      camera = await flow.camera(isOnline);
    });

    after(() => flow.stop());

    function request(properties: Message = {}): FlowNode {
      return caller('rvm-request', { camera: camera.id, cameraType: 'str', ...properties });
    }

    it('reads the service itself, logged in, with status, headers without cookies, and whole links', async () => {
      await flow.deploy(request());
      const msg = await flow.through({ payload: 'no body of a GET', topic: 'kept' });
      assert.equal((msg.payload as Message)._type, 'System');
      assert.equal(msg.statusCode, 200);
      assert.match(String((msg.headers as Message)['content-type']), /^application\/json/);
      assert.equal('set-cookie' in (msg.headers as Message), false);
      assert.ok(String((msg.links as Message)['rel/devices']).startsWith(flow.sandbox.url));
      assert.equal(msg.topic, 'kept');
    });

    it('follows relations one after the other', async () => {
      await flow.deploy(request({ rels: ' rel/devices , ' }));
      const { payload } = await flow.through({});
      assert.ok(Array.isArray((payload as Message).devices));
    });

    it('begins at a camera or at its data sources', async () => {
      await flow.deploy(request({ start: 'device', rels: 'rel/self' }));
      assert.equal(((await flow.through({})).payload as Message).id, camera.id);
      await flow.deploy(request({ start: 'data-sources' }));
      const msg = await flow.through({});
      assert.equal((msg.payload as Message).deviceId, camera.id);
      assert.ok('rel/rtsp' in (msg.links as object));
    });

    it('takes the camera of the event unless it is told another', async () => {
      await flow.deploy(caller('rvm-request', { start: 'device', rels: 'rel/self' }));
      const { payload } = await flow.through({ event: { cameraId: camera.id } });
      assert.equal((payload as Message).id, camera.id);
      assert.equal(await flow.code({}), 'BAD_INPUT');
    });

    it('looks at no camera where none is needed', async () => {
      await flow.deploy(request({ camera: 'RVM_TEST_UNSET', cameraType: 'env' }));
      assert.equal((await flow.through({})).statusCode, 200);
    });

    it('gives what is no JSON as a Buffer', async () => {
      await flow.deploy(request({ start: 'data-sources', rels: 'rel/snapshot' }));
      const msg = await flow.through({});
      assert.equal((msg.payload as { type?: string }).type, 'Buffer');
      assert.equal((msg.headers as Message)['content-type'], 'image/jpeg');
    });

    it('sends the payload as JSON with any method but GET', async () => {
      await flow.deploy(request({ start: 'data-sources', rels: 'rel/rtsp', method: 'POST' }));
      const { payload } = await flow.through({ payload: { cameraId: camera.remoteId, quality: 'high' } });
      assert.match(String((payload as Message).rtspRelayURL), /^rtsp:/);
    });

    it('goes on from a link of an earlier answer', async () => {
      await flow.deploy(request({ start: 'device', rels: 'rel/self' }));
      const { links } = await flow.through({});
      await flow.deploy(request({ start: 'url' }));
      const msg = await flow.through({ url: (links as Message)['rel/data_sources'] });
      assert.equal((msg.payload as Message).deviceId, camera.id);
    });

    it('says BAD_INPUT without a link, for a start and for a method that there is not', async () => {
      await flow.deploy(request({ start: 'url' }));
      for (const url of [undefined, '', ' ', 7]) assert.equal(await flow.code({ url }), 'BAD_INPUT');
      await flow.deploy(request({ start: 'moon' }));
      assert.equal(await flow.code({}), 'BAD_INPUT');
      await flow.deploy(request({ method: 'TRACE' }));
      assert.equal(await flow.code({}), 'BAD_INPUT');
    });

    it('says LINK_NOT_OFFERED, and to Catch nodes where output 2 is not wired', async () => {
      await flow.deploy(request({ rels: 'rel/moon' }));
      const { code, cause } = await flow.failure({});
      assert.equal(code, 'LINK_NOT_OFFERED');
      assert.equal(cause.relation, 'rel/moon');
      await flow.deploy(request({ rels: 'rel/moon', wires: [['result'], []] }));
      assert.equal(((await flow.through({}, 'caught')).error as Message).code, 'LINK_NOT_OFFERED');
    });

    it('sends nothing to another server', async () => {
      let requests = 0;
      const other = http.createServer((_req, res) => {
        requests += 1;
        res.end();
      });
      other.listen(0, '127.0.0.1');
      await once(other, 'listening');
      try {
        await flow.deploy(request({ start: 'url' }));
        const { port } = other.address() as AddressInfo;
        assert.equal(await flow.code({ url: `http://127.0.0.1:${port}/system` }), 'UNTRUSTED_LINK');
        assert.equal(requests, 0);
      } finally {
        other.close();
      }
    });
  });
}
