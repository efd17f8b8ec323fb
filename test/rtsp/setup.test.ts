import assert from 'node:assert/strict';

import type { RtspAnswer } from '../support/rtsp/rtsp-client';
import { ServerUnderTest, live } from './server-under-test';

describe('RTSP SETUP', () => {
  const under = new ServerUnderTest();
  afterEach(() => under.stop());

  const setup = async (
    transport: string,
    options: Parameters<ServerUnderTest['start']>[0] = {},
  ): Promise<RtspAnswer> => {
    const server = await under.start(options);
    return under.ask(server.grant(live()), 'SETUP', { Transport: transport });
  };

  it('over TCP answers the channels as asked, ssrc, and a session with its time-out', async () => {
    const answer = await setup('RTP/AVP/TCP;unicast;interleaved=4-5');
    assert.equal(answer.status, 200);
    assert.match(
      answer.headers.get('transport') ?? '',
      /^RTP\/AVP\/TCP;unicast;interleaved=4-5;ssrc=[0-9A-F]{8}/,
    );
    assert.match(answer.headers.get('session') ?? '', /^[0-9a-f]{24};timeout=60$/);
  });

  it('over TCP without channels chooses them', async () => {
    const answer = await setup('RTP/AVP/TCP;unicast');
    assert.match(answer.headers.get('transport') ?? '', /interleaved=0-1/);
  });

  it('gives a second session of the connection channels of its own', async () => {
    const server = await under.start();
    const [first, second] = [server.grant(live()), server.grant(live())];
    const connection = await under.connect(first);
    const headers = { Transport: 'RTP/AVP/TCP;unicast;interleaved=0-1' };
    await connection.request('SETUP', first, headers);
    const answer = await connection.request('SETUP', second, headers);
    assert.match(answer.headers.get('transport') ?? '', /interleaved=2-3/);
  });

  for (const protocol of ['RTP/AVP', 'RTP/AVP/UDP'])
    it(`${protocol} means UDP, with two neighbouring ports of ours and RTP on the even one`, async () => {
      const answer = await setup(`${protocol};unicast;client_port=41000-41001`);
      const match = /client_port=41000-41001;server_port=(\d+)-(\d+)/.exec(
        answer.headers.get('transport') ?? '',
      );
      const [rtp, rtcp] = [Number(match?.[1]), Number(match?.[2])];
      assert.equal(answer.status, 200);
      assert.equal(rtp % 2, 0);
      assert.equal(rtcp, rtp + 1);
    });

  it('takes the first alternative that it can do', async () => {
    const answer = await setup(
      'RTP/AVP;multicast;client_port=5000-5001,RTP/AVP/TCP;unicast;interleaved=0-1,RTP/AVP;unicast;client_port=41000-41001',
    );
    assert.match(answer.headers.get('transport') ?? '', /^RTP\/AVP\/TCP/);
  });

  for (const transport of [
    'RTP/AVP;multicast;client_port=5000-5001',
    'RTP/SAVP;unicast;client_port=5000-5001',
    'RTP/AVP;unicast',
    'RTP/AVP;unicast;client_port=0-1',
    'RTP/AVP;unicast;client_port=70000-70001',
    'RTP/AVP/TCP;unicast;interleaved=300-301',
    'RTP/AVP/TCP;unicast;interleaved=0-1;mode=record',
    '',
  ])
    it(`a transport that is not offered ("${transport}") is answered 461`, async () => {
      assert.equal((await setup(transport)).status, 461);
    });

  it('a server of TCP only answers UDP with 461, one of UDP only answers TCP with 461', async () => {
    const udp = 'RTP/AVP;unicast;client_port=41000-41001';
    assert.equal((await setup(udp, { transports: ['tcp'] })).status, 461);
    assert.equal((await setup('RTP/AVP/TCP;unicast', { transports: ['udp'] })).status, 461);
  });

  it('a track that does not exist is answered 404', async () => {
    const server = await under.start();
    const url = `${server.grant(live())}/track2`;
    assert.equal((await under.ask(url, 'SETUP', { Transport: 'RTP/AVP/TCP' })).status, 404);
  });

  it('a second SETUP of a session that does not play changes its transport', async () => {
    const server = await under.start();
    const player = await under.readyPlayer(server.grant(live()));
    const answer = await player.setup('RTP/AVP/TCP;unicast;interleaved=6-7');
    assert.match(answer.headers.get('transport') ?? '', /interleaved=6-7/);
    assert.equal(server.sessionCount, 1);
  });

  it('a second SETUP of a session that plays is answered 455', async () => {
    const server = await under.start();
    const player = await under.readyPlayer(server.grant(live()));
    await player.play();
    await assert.rejects(player.setup(), { status: 455 });
  });

  it('one player too many is answered 503, counted for each owner', async () => {
    const server = await under.start({ maxSessions: 2 });
    await under.readyPlayer(server.grant(live({ owner: 'a' })));
    await under.readyPlayer(server.grant(live({ owner: 'a' })));
    await assert.rejects(under.readyPlayer(server.grant(live({ owner: 'a' }))), { status: 503 });
    await under.readyPlayer(server.grant(live({ owner: 'b' })));
  });

  it('a place is free again after TEARDOWN', async () => {
    const server = await under.start({ maxSessions: 1 });
    const first = await under.readyPlayer(server.grant(live()));
    await first.teardown();
    await under.readyPlayer(server.grant(live()));
  });
});
