import assert from 'node:assert/strict';
import { type ServerUnderTest, serverOfEachTest, live } from './server-under-test';

const TCP = 'RTP/AVP/TCP;unicast';
const UDP = 'RTP/AVP;unicast;client_port=41000-41001';

describe('RTSP SETUP', () => {
  const under = serverOfEachTest();

  /** Status and `Transport` of the answer. */
  async function setup(
    Transport: string,
    setting: Parameters<ServerUnderTest['start']>[0] = {},
  ): Promise<[number, string]> {
    const { status, headers } = await under.answer('SETUP', live(), { Transport }, setting);
    return [status, headers.get('transport') ?? ''];
  }

  it('over TCP answers the channels as asked, ssrc, and a session with its time-out', async () => {
    const answer = await under.answer('SETUP', live(), { Transport: `${TCP};interleaved=4-5` });
    assert.equal(answer.status, 200);
    const chosen = /^RTP\/AVP\/TCP;unicast;interleaved=4-5;ssrc=[0-9A-F]{8}/;
    assert.match(answer.headers.get('transport') ?? '', chosen);
    assert.match(answer.headers.get('session') ?? '', /^[0-9a-f]{24};timeout=60$/);
  });

  const SEVERAL = `RTP/AVP;multicast;client_port=5000-5001,${TCP};interleaved=0-1,${UDP}`;
  for (const [what, asked, chosen] of [
    ['over TCP without channels chooses them', TCP, /interleaved=0-1/],
    ['takes the first alternative that it can do', SEVERAL, /^RTP\/AVP\/TCP/],
  ] as const)
    it(what, async () => assert.match((await setup(asked))[1], chosen));

  it('gives a second session of the connection channels of its own', async () => {
    const server = await under.start();
    const [first, second] = [server.grant(live()), server.grant(live())];
    const connection = await under.connect(first);
    const headers = { Transport: `${TCP};interleaved=0-1` };
    await connection.request('SETUP', first, headers);
    const answer = await connection.request('SETUP', second, headers);
    assert.match(answer.headers.get('transport') ?? '', /interleaved=2-3/);
  });

  for (const protocol of ['RTP/AVP', 'RTP/AVP/UDP'])
    it(`${protocol} means UDP, with two neighbouring ports of ours and RTP on the even one`, async () => {
      const [status, transport] = await setup(`${protocol};unicast;client_port=41000-41001`);
      const [, rtp, rtcp] = /client_port=41000-41001;server_port=(\d+)-(\d+)/.exec(transport) ?? [];
      assert.deepEqual([status, Number(rtp) % 2, Number(rtcp)], [200, 0, Number(rtp) + 1]);
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
      assert.equal((await setup(transport))[0], 461);
    });

  it('a server of TCP only answers UDP with 461, one of UDP only answers TCP with 461', async () => {
    assert.equal((await setup(UDP, { transports: ['tcp'] }))[0], 461);
    assert.equal((await setup(TCP, { transports: ['udp'] }))[0], 461);
  });

  it('a track that does not exist is answered 404', async () => {
    const server = await under.start();
    const url = `${server.grant(live())}/track2`;
    assert.equal((await under.ask(url, 'SETUP', { Transport: TCP })).status, 404);
  });

  it('a second SETUP of a session that does not play changes its transport', async () => {
    const player = await under.ready(live());
    const answer = await player.setup(`${TCP};interleaved=6-7`);
    assert.match(answer.headers.get('transport') ?? '', /interleaved=6-7/);
    assert.equal(under.server.sessionCount, 1);
  });

  it('a second SETUP of a session that plays is answered 455', async () => {
    const player = await under.playing(live());
    await assert.rejects(player.setup(), { status: 455 });
  });

  it('one player too many is answered 503, counted for each owner, and TEARDOWN makes room', async () => {
    const server = await under.start({ maxSessions: 2 });
    const ready = (owner: string) => under.readyPlayer(server.grant(live({ owner })));
    const first = await ready('a');
    await ready('a');
    await assert.rejects(ready('a'), { status: 503 });
    await ready('b');
    await first.teardown();
    await ready('a');
  });
});
