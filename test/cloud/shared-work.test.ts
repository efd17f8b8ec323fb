import assert from 'node:assert/strict';
import { failure, PATIENT, rtspForEvent, stationOfEachTest } from '../support/service/scripted-station';
import { Gate, eventually, soon } from '../support/time/patience';
import { MovableClock, TimerWatch } from '../support/time/virtual-time';

describe('work that several calls wait for', () => {
  const station = stationOfEachTest();
  const { service } = station;

  it('goes on for the others where the deadline of one is over, which ends with the last failure', async () => {
    const client = await station.connected({}, PATIENT);
    service.on('GET', '/devices', { status: 503 });
    const hasty = failure(client.listDevices({ fresh: true, deadlineMs: 500 }), 'HTTP_ERROR');
    const patient = client.listDevices({ fresh: true });
    await hasty;
    service.on('GET', '/devices', service.usual);
    assert.equal((await patient).length, 2);
  });

  it('goes on for one that has come late, and tells that one what has failed', async () => {
    const client = await station.connected({}, PATIENT);
    service.on('GET', '/devices', { status: 429, headers: { 'Retry-After': '1' } }, service.usual);
    const first = client.listDevices({ fresh: true, deadlineMs: 5_000 });
    await eventually(() => service.count('GET', '/devices') === 2, 'the refusal');
    await eventually(() => service.connections > 0, 'its answer');
    const late = client.listDevices({ fresh: true });
    assert.deepEqual([(await first).length, (await late).length], [2, 2]);
    assert.equal(service.count('GET', '/devices'), 3);
  });

  it('is not ended by a login that one of its callers no longer waits for', async () => {
    const gate = new Gate();
    service.on('POST', '/login', () => {
      const cookie = `sid=${service.newSession()}; Path=/`;
      return { after: gate.opened, headers: { 'Set-Cookie': cookie } };
    });
    const client = station.client({}, PATIENT);
    const hasty = failure(client.listDevices({ deadlineMs: 50 }), 'TIMEOUT');
    const patient = rtspForEvent(client);
    await hasty;
    gate.open();
    await patient;
    assert.equal(service.count('POST', '/login'), 1);
    assert.equal(service.count('GET', '/devices'), 1);
  });

  it('which is started by a call that tries once, is tried again for those that join it', async () => {
    const client = await station.connected({}, PATIENT);
    const gate = new Gate();
    service.on('GET', '/devices', { status: 503, after: gate.opened }, service.usual);
    const once = failure(client.listDevices({ fresh: true, once: true }), 'HTTP_ERROR');
    const patient = client.listDevices({ fresh: true });
    gate.open();
    await once;
    assert.equal((await patient).length, 2);
  });

  it('goes on for ten seconds where nobody waits any more, and leaves nothing behind', async () => {
    const clock = new MovableClock();
    const watch = new TimerWatch();
    const client = await station.connected({}, { ...PATIENT, outages: 1_000 });
    service.on('GET', '/devices', { status: 500 });
    clock.start();
    watch.start();
    try {
      await failure(client.listDevices({ fresh: true, deadlineMs: 300 }), 'HTTP_ERROR');
      const sent = service.count('GET', '/devices');
      await eventually(() => service.count('GET', '/devices') > sent + 2, 'further attempts');
      clock.advance(10);
      await soon(eventually(() => watch.pending.length === 0, 'the end of it'));
      const last = service.count('GET', '/devices');
      await failure(client.listDevices({ fresh: true, once: true }), 'HTTP_ERROR');
      assert.equal(service.count('GET', '/devices'), last + 1);
    } finally {
      watch.stop();
      clock.stop();
    }
  });
});
