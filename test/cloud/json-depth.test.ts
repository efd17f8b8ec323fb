import assert from 'node:assert/strict';
import { nestsDeeperThan } from '../../lib/json/scan';
import { cpuSeconds } from '../support/time/event-loop';
import { camera, GATE } from '../support/service/scripted-service';
import { failure, rtspForEvent, stationOfEachTest } from '../support/service/scripted-station';

function arrays(depth: number): unknown {
  return depth === 0 ? 1 : [arrays(depth - 1)];
}

describe('depth of JSON', () => {
  const shallow = ['[[[]]]', '{"a":{"b":{}}}', '[{"a":[]}]', '[[[]],[[]],[[]]]', '1', '', '[[[', ']]]][[['];
  const inTexts = ['["[[[["]', '{"[{[{":"]"}', '["\\"[[[["]', '["\\\\\\"[[[["]', '["[[[[', '["ü[[[["]'];
  const deeper = ['[[[[]]]]', '{"a":{"b":{"c":{}}}}', '[{"a":[{}]}]', ' [ [ [ [', '[[],[[[0]]]]'];
  const behindTexts = ['["\\\\",[[[]]]]', '["",[[[]]]]', '["\\"",[[[]]]]'];
  for (const [texts, isDeep] of [
    [[...shallow, ...inTexts], false],
    [[...deeper, ...behindTexts], true],
  ] as const) {
    for (const text of texts)
      it(`takes ${JSON.stringify(text)} as ${isDeep ? 'deeper than three' : 'three deep at most'}`, () =>
        assert.equal(nestsDeeperThan(3, Buffer.from(text)), isDeep));
  }

  it('is found in 32 MB in one pass', async () => {
    const json = Buffer.alloc(32 * 1024 * 1024, '"\\"[');
    assert.ok((await cpuSeconds(() => nestsDeeperThan(64, json))) < 20);
  });
});

describe('answers of the service that are nested', () => {
  const station = stationOfEachTest();
  const { service } = station;

  it('are read down to 64 levels', async () => {
    // The object and the array of the devices, and the record of the camera, are three.
    service.devices = [camera(GATE, 'Gate', { more: arrays(61) })];
    const [device] = await station.client().listDevices();
    assert.deepEqual(device?.['more'], arrays(61));
  });

  it('BAD_RESPONSE for one level more, and the station stays connected', async () => {
    service.devices = [camera(GATE, 'Gate', { more: arrays(62) })];
    const client = station.client();
    const error = await failure(client.listDevices(), 'BAD_RESPONSE');
    assert.match(error.message, /nested too deep/);
    assert.deepEqual([error.cause.status, error.cause.relation], [200, 'rel/devices']);
    assert.equal(client.state.kind, 'connected');
  });

  it('BAD_RESPONSE for a million levels', async () => {
    for (const piece of ['[', '{"a":']) {
      service.on('GET', '/devices', { text: piece.repeat(1_000_000) });
      await failure(station.client().listDevices(), 'BAD_RESPONSE');
    }
  });

  it('BAD_RESPONSE for a System resource and for an RTSP session, whose URL is not repeated', async () => {
    service.on('POST', '/rtsp/Gate', {
      text: `{"rtspRelayURL":"rtsp:\\/\\/relay.example\\/token-1","more":${JSON.stringify(arrays(70))}}`,
    });
    const error = await failure(rtspForEvent(station.client()), 'BAD_RESPONSE');
    assert.doesNotMatch(JSON.stringify([error.message, error.cause]), /relay\.example|token-1/);

    service.on('GET', '/system', { json: { _links: arrays(64) } });
    await failure(station.client().listDevices(), 'BAD_RESPONSE');
  });

  it('are read where only their texts hold brackets', async () => {
    const name = `${'[{'.repeat(100)}\\"${'[{'.repeat(100)}`;
    service.devices = [camera(GATE, name)];
    assert.equal((await station.client().listDevices())[0]?.name, name);
  });
});
