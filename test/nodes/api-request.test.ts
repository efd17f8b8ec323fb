import assert from 'node:assert/strict';
import { OddServer } from '../support/network/servers';
import type { FlowNode } from '../support/node-red/node-red';
import { caller, describeWith, StationFlow, type Message } from '../support/node-red/station-flow';

describeWith(StationFlow, 'api request', {}, (flow) => {
  const request = (properties: Message = {}): FlowNode =>
    caller('rvm-request', { camera: flow.online.id, cameraType: 'str', ...properties });

  const payloadOf = async (properties: Message, msg: Message = {}): Promise<Message> =>
    (await flow.ask(request(properties), msg)).payload as Message;

  it('reads the service itself, logged in, with status, headers without cookies, and whole links', async () => {
    const msg = await flow.ask(request(), { payload: 'no body of a GET', topic: 'kept' });
    assert.partialDeepStrictEqual(msg, { payload: { _type: 'System' }, statusCode: 200, topic: 'kept' });
    assert.match(String((msg.headers as Message)['content-type']), /^application\/json/);
    assert.equal('set-cookie' in (msg.headers as Message), false);
    assert.ok(String((msg.links as Message)['rel/devices']).startsWith(flow.sandbox.url));
  });

  it('follows relations one after the other', async () =>
    assert.ok(Array.isArray((await payloadOf({ rels: ' rel/devices , ' })).devices)));

  it('begins at a camera or at its data sources', async () => {
    assert.equal((await payloadOf({ start: 'device', rels: 'rel/self' })).id, flow.online.id);
    const { payload, links } = await flow.ask(request({ start: 'data-sources' }));
    assert.equal((payload as Message).deviceId, flow.online.id);
    assert.ok('rel/rtsp' in (links as object));
  });

  it('takes the camera of the event unless it is told another', async () => {
    const ofEvent = caller('rvm-request', { start: 'device', rels: 'rel/self' });
    const { payload } = await flow.ask(ofEvent, { event: { cameraId: flow.online.id } });
    assert.equal((payload as Message).id, flow.online.id);
    assert.equal(await flow.code({}), 'BAD_INPUT');
  });

  it('looks at no camera where none is needed', async () => {
    const { statusCode } = await flow.ask(request({ camera: 'RVM_TEST_UNSET', cameraType: 'env' }));
    assert.equal(statusCode, 200);
  });

  it('gives what is no JSON as a Buffer', async () => {
    const { payload, headers } = await flow.ask(request({ start: 'data-sources', rels: 'rel/snapshot' }));
    assert.equal((payload as { type?: string }).type, 'Buffer');
    assert.equal((headers as Message)['content-type'], 'image/jpeg');
  });

  it('sends the payload as JSON with any method but GET', async () => {
    const payload = { cameraId: flow.online.remoteId, quality: 'high' };
    const properties = { start: 'data-sources', rels: 'rel/rtsp', method: 'POST' };
    assert.match(String((await payloadOf(properties, { payload })).rtspRelayURL), /^rtsp:/);
  });

  it('goes on from a link of an earlier answer', async () => {
    const { links } = await flow.ask(request({ start: 'device', rels: 'rel/self' }));
    const { deviceId } = await payloadOf({ start: 'url' }, { url: (links as Message)['rel/data_sources'] });
    assert.equal(deviceId, flow.online.id);
  });

  it('says BAD_INPUT without a link, for a start and for a method that there is not', async () => {
    await flow.deploy(request({ start: 'url' }));
    for (const url of [undefined, '', ' ', 7]) assert.equal(await flow.code({ url }), 'BAD_INPUT');
    for (const wrong of [{ start: 'moon' }, { method: 'TRACE' }])
      assert.equal((await flow.refusal(request(wrong))).code, 'BAD_INPUT');
  });

  it('says LINK_NOT_OFFERED, with the relation', async () => {
    const { code, cause } = await flow.refusal(request({ rels: 'rel/moon' }));
    assert.deepEqual([code, cause.relation], ['LINK_NOT_OFFERED', 'rel/moon']);
  });

  it('sends nothing to another server', async () => {
    const other = await OddServer.raw((socket) => socket.destroy());
    try {
      const { code } = await flow.refusal(request({ start: 'url' }), { url: `${other.url}/system` });
      assert.deepEqual([code, other.connections], ['UNTRUSTED_LINK', 0]);
    } finally {
      await other.close();
    }
  });
});
