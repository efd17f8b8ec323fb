import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import diagnostics from 'node:diagnostics_channel';
import { Socket } from 'node:net';

import { RequestParser } from '../../sandbox/rtsp/protocol';
import type { RtspServer } from '../../sandbox/rtsp/server';
import { eventually } from '../support/time/patience';
import { serverOfEachTest, live, recorded } from './server-under-test';
import { slowIt } from '../support/suite/lanes';

const MIB = 1024 * 1024;

/** What `connect` gives, and the other end of the one connection that it opens to a server of this process. */
async function acceptedBy<Client>(connect: () => Promise<Client>): Promise<[Client, Socket]> {
  const accepted: Socket[] = [];
  const note = (event: unknown): void => {
    if (typeof event !== 'object' || event === null || !('socket' in event)) return;
    if (event.socket instanceof Socket) accepted.push(event.socket);
  };
  diagnostics.subscribe('net.server.socket', note);
  try {
    const client = await connect();
    const [socket] = accepted;
    assert.ok(socket !== undefined && accepted.length === 1);
    return [client, socket];
  } finally {
    diagnostics.unsubscribe('net.server.socket', note);
  }
}

describe('RTSP and hostile clients', () => {
  const under = serverOfEachTest();

  const stillServes = async (server: RtspServer): Promise<void> => {
    assert.equal((await under.ask(server.grant(live()), 'DESCRIBE')).status, 200);
  };

  for (const [what, bytes] of [
    ['a request of HTTP', 'GET / HTTP/1.1\r\nHost: x\r\n\r\n'],
    ['no request at all', '\u0001\u0002\u0003 what?\r\n\r\n'],
    ['a header line without a colon', 'OPTIONS * RTSP/1.0\r\nCSeq 1\r\n\r\n'],
    ['an endless header', `OPTIONS * RTSP/1.0\r\nX: ${'x'.repeat(20_000)}`],
    ['too many header lines', `OPTIONS * RTSP/1.0\r\n${'X: y\r\n'.repeat(200)}\r\n`],
    ['a negative length', 'OPTIONS * RTSP/1.0\r\nCSeq: 1\r\nContent-Length: -1\r\n\r\n'],
    ['an oversize length', 'OPTIONS * RTSP/1.0\r\nCSeq: 1\r\nContent-Length: 99999999999\r\n\r\n'],
    ['thousands of requests at once', 'OPTIONS * RTSP/1.0\r\nCSeq: 1\r\n\r\n'.repeat(5000)],
  ] as const)
    it(`${what} ends that connection and no other`, async () => {
      const server = await under.start();
      const connection = await under.connect(server.url);
      connection.socket.write(bytes);
      await connection.closing();
      await stillServes(server);
    });

  for (const [what, bytes, status] of [
    ['malformed', 'nonsense\r\n\r\n', 400],
    ['oversize', 'x'.repeat(20_000), 413],
  ] as const)
    it(`a request that is ${what} is answered ${status}`, async () => {
      const connection = await under.connected();
      connection.socket.write(bytes);
      assert.equal((await connection.answer()).status, status);
    });

  it('a head of the greatest length is taken, wherever it is cut on the way', () => {
    const start = 'OPTIONS * RTSP/1.0\r\nX: ';
    const bytes = Buffer.from(`${start}${'x'.repeat(16 * 1024 - start.length)}\r\n\r\n`);
    for (const last of [0, 1, 2, 3, 4]) {
      const parser = new RequestParser();
      const cut = bytes.length - last;
      const heard = [...parser.push(bytes.subarray(0, cut)), ...parser.push(bytes.subarray(cut))];
      assert.equal(heard.length, 1, `${last} bytes later`);
    }
  });

  it('random bytes do no harm', async () => {
    const server = await under.start();
    for (let i = 0; i < 50; i++) {
      const connection = await under.connect(server.url);
      connection.socket.write(randomBytes(1 + i * 37));
      connection.socket.end();
      await connection.closing();
    }
    await stillServes(server);
  });

  it('hostile URLs, sessions, transports and ranges get a status', async () => {
    const url = await under.granted(recorded());
    const connection = await under.connect(url);
    const long = `rtsp://x/${'a/'.repeat(500)}`;
    const strange = ['rtsp://', 'rtsp://[::1', '/', '%', `${url}%`, `${url}/../..`, long];
    for (const uri of strange) assert.ok((await connection.request('DESCRIBE', uri)).status >= 400, uri);
    const headers = { Session: '__proto__', Transport: ';;;,,=;', Range: 'npt=---' };
    for (const method of ['SETUP', 'PLAY', 'PAUSE', 'TEARDOWN', 'GET_PARAMETER'])
      assert.ok((await connection.request(method, url, headers)).status >= 400, method);
  });

  it('a player that connects and leaves at any step leaves nothing behind', async () => {
    const server = await under.start({ maxSessions: 100 });
    for (let i = 0; i < 20; i++) {
      const player = await under.readyPlayer(server.grant(live()));
      player.connection.send('PLAY', player.url, { Session: player.session });
      player.connection.send('SETUP', player.url, { Transport: 'RTP/AVP/TCP' });
      player.connection.socket.resetAndDestroy();
    }
    await under.ask(server.url, 'OPTIONS');
    await stillServes(server);
    assert.equal(server.sessionCount, 0);
  });

  slowIt(
    'a player that does not read holds its stream back, for as long as another one plays, and then goes on',
    async () => {
      const server = await under.start({ pace: Infinity, recordingSeconds: 100_000 });
      const [idle, serverSide] = await acceptedBy(() => under.readyPlayer(server.grant(recorded())));
      idle.connection.socket.pause();
      idle.connection.send('PLAY', idle.url, { Session: idle.session });
      await eventually(() => serverSide.writableLength > 0, 'what the player does not take');

      const busy = await under.readyPlayer(server.grant(recorded()));
      await busy.play();
      // As much as would be waiting for the idle player, were it not held back.
      let played = 0;
      while (played < 8 * MIB) played += (await busy.packet())?.data.length ?? Infinity;
      assert.ok(played < Infinity, 'the other stream has ended');
      assert.ok(serverSide.writableLength < 2 * MIB, `${serverSide.writableLength} bytes wait`);

      const sent = serverSide.bytesWritten;
      idle.connection.socket.resume();
      await eventually(() => serverSide.bytesWritten > sent + 2 * MIB, 'more of it');
    },
  );

  it('a client that asks and never reads its answers is given up', async () => {
    const server = await under.start({ fault: { kind: 'oversize-sdp' } });
    const connection = await under.connect(server.url);
    const url = server.grant(live());
    connection.socket.pause();
    for (let i = 0; i < 20; i++) connection.send('DESCRIBE', url);
    assert.equal((await under.ask(server.url, 'OPTIONS')).status, 200);
    let answers = 0;
    connection.socket.resume();
    while (await connection.answer().then(Boolean, () => false)) answers++;
    assert.ok(answers < 20, `${answers} answers`);
    await connection.closing();
  });

  it('the parser gives the same requests however the bytes are cut', () => {
    const one = 'SET_PARAMETER rtsp://h/x RTSP/1.0\r\nCSeq: 1\r\nContent-Length: 5\r\n\r\nhello';
    const bytes = Buffer.concat([
      Buffer.from(`\r\n${one}`),
      Buffer.from([0x24, 1, 0, 3, 13, 10, 36]),
      Buffer.from(one),
    ]);
    const whole = new RequestParser().push(bytes);
    assert.equal(whole.length, 3);
    for (let size = 1; size < bytes.length; size++) {
      const parser = new RequestParser();
      const parts = [];
      for (let at = 0; at < bytes.length; at += size)
        parts.push(...parser.push(bytes.subarray(at, at + size)));
      assert.deepEqual(parts, whole);
    }
  });
});
