import assert from 'node:assert/strict';
import { once } from 'node:events';
import net from 'node:net';
import { RtspClient } from '../../../lib/video/rtsp/rtsp-client';
import { DEFAULT_LIMITS, STREAM_FAULTS } from '../../../lib/video/rtsp/limits';

const PACKET = Buffer.from([0x24, 0, 0, 1, 0x61]);
/** An answer that is still to come may have any content. */
const FILLER = Buffer.from(`RTSP/1.0 100 Continue\r\nContent-Length: 60000\r\n\r\n${' '.repeat(60_000)}`);
const ANSWER = Buffer.from('RTSP/1.0 200 OK\r\nCSeq: 1\r\n\r\n');

describe('packets that come before somebody listens', () => {
  const server = net.createServer();
  let client: RtspClient;
  let relay: net.Socket;

  beforeEach(async () => {
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const address = server.address();
    assert.ok(typeof address === 'object' && address !== null);
    const accepted = new Promise<net.Socket>((resolve) => server.once('connection', resolve));
    const socket = net.connect(address.port, '127.0.0.1');
    relay = await accepted;
    relay.on('error', () => undefined);
    client = new RtspClient(socket, DEFAULT_LIMITS, STREAM_FAULTS);
  });

  afterEach(async () => {
    await client.end(0);
    relay.destroy();
    await new Promise((resolve) => server.close(resolve));
  });

  it('keep nothing alive of what came with them', async () => {
    const answered = client.ask('PLAY', 'rtsp://h/a');
    relay.write(Buffer.concat([...Array<Buffer>(20).fill(Buffer.concat([PACKET, FILLER])), ANSWER]));
    await answered;
    const kept: ArrayBufferLike[] = [];
    client.listen({ packet: (_channel, { buffer }) => kept.push(buffer), ended: () => undefined });
    assert.equal(kept.length, 20);
    // Small copies share a block of memory, or two.
    assert.ok(new Set(kept).size < 5);
  });

  it('are bounded in number, however small they are', async () => {
    const answered = client.ask('PLAY', 'rtsp://h/a');
    relay.write(Buffer.concat([...Array<Buffer>(10_000).fill(PACKET), FILLER, FILLER, FILLER, ANSWER]));
    await assert.rejects(answered, { code: 'VIDEO_FAILED' });
  });
});
