import assert from 'node:assert/strict';
import { once } from 'node:events';

import type { RtspServer, RtspServerOptions } from '../../sandbox/rtsp/server';
import { UdpReceiver } from './udp-receiver';
import { MuteServer } from '../support/network/servers';
import { eventually } from '../support/time/patience';
import { serverOfEachTest, live, recorded } from './server-under-test';

/** Seconds without a sign of life after which a session ends; the server looks four times in that time. */
const TIMEOUT = 0.2;
const SHORT = { sessionTimeoutSeconds: TIMEOUT };

describe('the life of RTSP sessions', () => {
  const under = serverOfEachTest();

  /** From here on every session has been silent for longer than its time-out. */
  const passTimeout = (): void => void (under.steady += TIMEOUT * 1000 + 1);

  /** Gives a sign of life now and then, until a session beside it that gives none has ended. */
  async function outlivesSilentOne(server: RtspServer, sign: () => Promise<void> | void): Promise<void> {
    const others = server.sessionCount;
    await under.readyPlayer(server.grant(live()));
    under.steady += TIMEOUT * 800;
    await sign();
    under.steady += TIMEOUT * 800;
    await eventually(() => server.sessionCount <= others, 'the end of the silent session');
    assert.equal(server.sessionCount, others);
  }

  /** The ports of a player, and that player: it has a session over UDP, to play or not. */
  async function overUdp(setting: Partial<RtspServerOptions> = {}, request = live(), more = '') {
    const receiver = await UdpReceiver.open();
    under.closing(() => receiver.close());
    const player = await under.player(await under.granted(request, setting));
    await player.describe();
    const answer = await player.setup(`${receiver.transport}${more}`);
    return { receiver, player, answer };
  }

  it('a silent session ends after its time-out and is then unknown: 454', async () => {
    const player = await under.ready(live(), SHORT);
    passTimeout();
    await eventually(() => under.server.sessionCount === 0, 'the end of the session');
    await assert.rejects(player.play(), { status: 454 });
  });

  it('GET_PARAMETER, SET_PARAMETER and OPTIONS with the session id are signs of life', async () => {
    const server = await under.start(SHORT);
    const methods = ['GET_PARAMETER', 'SET_PARAMETER', 'OPTIONS'];
    const players = await Promise.all(methods.map(() => under.readyPlayer(server.grant(live()))));
    await outlivesSilentOne(server, async () => {
      for (const [i, player] of players.entries()) {
        const headers = { Session: player.session };
        const answer = await player.connection.request(methods[i] ?? '', player.url, headers);
        assert.equal(answer.headers.get('session'), player.session);
      }
    });
  });

  it('receiver reports in the connection are signs of life', async () => {
    const player = await under.ready(live(), SHORT);
    await outlivesSilentOne(under.server, async () => {
      player.connection.socket.write(Buffer.from([0x24, 1, 0, 4, 0x80, 201, 0, 0]));
      // Without the session, so that it is no sign itself: once it is answered, the report has come.
      await player.connection.request('OPTIONS', '*');
    });
  });

  it('a closed connection ends an interleaved session at once', async () => {
    const player = await under.ready(live());
    await player.play();
    player.close();
    await eventually(() => under.server.sessionCount === 0, 'the end of the session');
  });

  it('a UDP session outlives its connection until its time-out', async () => {
    const { receiver, player } = await overUdp(SHORT);
    await player.play();
    player.close();
    await once(player.connection.socket, 'close');
    assert.equal(under.server.sessionCount, 1);
    await receiver.rtp(1);
    passTimeout();
    await eventually(() => under.server.sessionCount === 0, 'the end of the session');
  });

  it('receiver reports over UDP are signs of life, also without a connection', async () => {
    const { receiver, player, answer } = await overUdp(SHORT);
    await player.play();
    player.close();
    await outlivesSilentOne(under.server, async () => {
      await receiver.report(answer);
      // Once this is answered, the report has come.
      await under.ask(under.server.url, 'OPTIONS');
    });
  });

  it('another connection may go on with a UDP session', async () => {
    const { receiver, player } = await overUdp();
    player.close();
    const answer = await under.ask(player.url, 'PLAY', { Session: player.session });
    assert.equal(answer.status, 200);
    await receiver.rtp(1);
  });

  it('recorded video comes over UDP with the same bytes and in order', async () => {
    const { receiver, player } = await overUdp({ pace: 20 }, recorded());
    await player.play();
    const packets = await receiver.rtp(10);
    const sequences = packets.map((packet) => packet.readUInt16BE(2));
    assert.deepEqual(
      sequences,
      sequences.map((_, i) => ((sequences[0] ?? 0) + i) & 0xffff),
    );
  });

  it('UDP goes only to the address of the connection, whatever destination the client names', async () => {
    const { receiver, player, answer } = await overUdp({}, live(), ';destination=127.0.0.99');
    assert.doesNotMatch(answer.headers.get('transport') ?? '', /destination/);
    await player.play();
    await receiver.rtp(1);
  });

  it('TEARDOWN closes the UDP ports', async () => {
    const { receiver, player, answer } = await overUdp({ pace: 20 });
    await player.play();
    await receiver.rtp(1);
    await player.teardown();
    await receiver.canBind(answer);
  });

  it('a connection that says nothing and carries nothing is closed', async () => {
    const server = await under.start(SHORT);
    const connection = await under.connect(server.url);
    await connection.request('OPTIONS', '*');
    connection.socket.write('OPTIONS * RT');
    passTimeout();
    passTimeout();
    await connection.closing();
  });

  it('close ends every session, connection and port, and may be called twice', async () => {
    const { player: udp } = await overUdp();
    const { server } = under;
    const players = [await under.readyPlayer(server.grant(live())), udp];
    for (const player of players) await player.play();
    await Promise.all([server.close(), server.close()]);
    for (const { connection } of players) await connection.closing();
    assert.equal(server.sessionCount, 0);
    await assert.rejects(under.connect(server.url), { code: 'ECONNREFUSED' });
  });

  it('a port that is taken fails, or gives way to a free one where that is allowed', async () => {
    const blocker = await MuteServer.start();
    const { port } = blocker;
    try {
      await assert.rejects(under.start({ port }), { code: 'EADDRINUSE' });
      const server = await under.start({ port, fallbackToFreePort: true });
      assert.notEqual(server.port, port);
      assert.equal(server.url, `rtsp://127.0.0.1:${server.port}`);
    } finally {
      await blocker.close();
    }
  });

  it('connections beyond the limit are closed at once where all others play', async () => {
    const player = await under.ready(live(), { maxConnections: 1 });
    await player.play();
    const second = await under.connect(under.server.url);
    await second.closing();
    assert.equal((await player.connection.request('OPTIONS', '*')).status, 200);
  });

  it('one connection more than there may be ends the one that has been idle for the longest time, so that none is shut out', async () => {
    let time = 0;
    const player = await under.ready(live(), { maxConnections: 3, monotonic: () => (time += 1) });
    const idle = await under.connect(under.server.url);
    const newer = await under.connect(under.server.url);
    assert.equal((await newer.request('OPTIONS', '*')).status, 200);
    const other = await under.readyPlayer(under.server.grant(live()));
    await idle.closing();
    for (const { connection } of [player, other, { connection: newer }])
      assert.equal((await connection.request('OPTIONS', '*')).status, 200);
  });

  it('a server that was started and closed leaves no handle', async () => {
    // By then mocha has set the time limit of this test.
    await new Promise(setImmediate);
    const before = handles();
    for (let i = 0; i < 5; i++) {
      const server = await under.start();
      assert.notDeepEqual(handles(), before);
      await server.close();
    }
    await eventually(() => handles().join() === before.join(), 'the end of all handles');
  });
});

/** The servers, sockets and timers of this process. */
function handles(): string[] {
  const kinds = /^(TCP|UDP|Timeout)/;
  return process
    .getActiveResourcesInfo()
    .filter((kind) => kinds.test(kind))
    .sort();
}
