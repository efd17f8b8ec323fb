import assert from 'node:assert/strict';
import { failure, rtspForEvent, stationOfEachTest } from '../support/service/scripted-station';

describe('a request whose head is too large for the service', () => {
  const station = stationOfEachTest();
  const { service } = station;

  it('T-05 drops cookies that have grown beyond what the service takes', async () => {
    const client = station.client();
    await client.listDevices();
    service.on('GET', '/devices', { status: 431 }, service.usual);
    assert.equal((await client.listDevices({ fresh: true })).length, 2);
    assert.equal(service.count('POST', '/login'), 2);
  });

  it('T-05 goes on without a new login where the cookies that came after it are too many, again and again', async () => {
    const flood = Array.from({ length: 60 }, (_, n) => `other${n}=1; Path=/`);
    service.on('GET', '/devices', (request) => {
      const isTooLarge = request.headers.cookie?.includes('other');
      const reply = isTooLarge ? { status: 431 } : asReply(service.standard(request));
      return { ...reply, headers: { 'Set-Cookie': flood } };
    });
    const client = station.client();
    for (let wave = 1; wave <= 4; wave += 1)
      await Promise.all([client.listDevices({ fresh: true }), rtspForEvent(client)]);
    assert.equal(service.count('POST', '/login'), 1);
  });

  it('T-05 sends cookies that were too many no more, also where it fails without them', async () => {
    const flood = Array.from({ length: 60 }, (_, n) => `other${n}=1; Path=/`);
    service.on('GET', '/devices', { status: 431, headers: { 'Set-Cookie': flood } });
    const client = station.client();
    for (let turn = 0; turn < 3; turn += 1) await failure(client.listDevices({ fresh: true }), 'HTTP_ERROR');
    assert.equal(service.count('POST', '/login'), 2, 'one login in a while');
    const sent = service.seen.map(({ headers }) => headers.cookie ?? '');
    assert.ok(!sent.some((cookie) => cookie.includes('other')), 'none is sent on');
  });

  it('T-05 goes on without a new login where answers make its own cookie larger than the service takes, again and again', async () => {
    service.behaviour = (request) => {
      if ((request.headers.cookie ?? '').length > 8192) return { status: 431 };
      const reply = asReply(service.standard(request));
      if (request.path !== '/rtsp/Gate') return reply;
      return { ...reply, headers: { 'Set-Cookie': `sid=${'x'.repeat(9000)}; Path=/` } };
    };
    const client = station.client();
    for (let turn = 0; turn < 4; turn += 1) await rtspForEvent(client);
    assert.equal(service.count('POST', '/login'), 1);
  });

  it('T-05 a head that is too large with a new session, too, is HTTP_ERROR: of rights that says nothing', async () => {
    const client = station.client();
    await client.listDevices();
    service.on('GET', '/devices', { status: 431 });
    await failure(client.listDevices({ fresh: true }), 'HTTP_ERROR');
    await failure(client.listDevices({ fresh: true }), 'HTTP_ERROR');
    assert.equal(service.count('POST', '/login'), 2, 'one login in a while');
    await rtspForEvent(client);
  });
});

function asReply(reply: unknown): Record<string, unknown> {
  return { ...(typeof reply === 'object' ? reply : {}) };
}
