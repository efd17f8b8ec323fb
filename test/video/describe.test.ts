import assert from 'node:assert/strict';
import net from 'node:net';
import tls from 'node:tls';
import { describe as describeStream } from '../../lib/video/rtsp/open-stream';
import type { RvmErrorCode } from '../../lib/error';
import { errorOf } from './rtsp/streams';
import { needs } from '../support/suite/programs';
import { selfSigned } from '../support/network/certificates';
import { OddServer } from '../support/network/servers';

const SOUND = ['m=audio 0 RTP/AVP 0', 'a=rtpmap:0 PCMU/8000'];
const VIDEO = ['m=video 0 RTP/AVP 96', 'a=rtpmap:96 H265/90000'];
const SDP = ['v=0', ...SOUND, ...VIDEO];

describe('the question to a video relay', () => {
  let server: OddServer | undefined;
  const asked: string[] = [];

  afterEach(async () => {
    await server?.close();
    server = undefined;
    asked.length = 0;
  });

  /** A relay that answers like this, in one piece or in many. */
  async function relay(answer: string, made: net.Server = net.createServer()): Promise<string> {
    made.on(made instanceof tls.Server ? 'secureConnection' : 'connection', (socket: net.Socket) => {
      socket.on('error', () => undefined);
      socket.once('data', (request: Buffer) => {
        asked.push(request.toString());
        for (const piece of answer.match(/[^]{1,40}/g) ?? []) socket.write(piece);
      });
    });
    server = await OddServer.start(made);
    return `127.0.0.1:${server.port}`;
  }

  function described(body: string): string {
    return `RTSP/1.0 200 OK\r\nCSeq: 1\r\nContent-Type: application/sdp\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
  }

  async function assertFails(url: string, code: RvmErrorCode, timeoutMs = 2000): Promise<void> {
    await errorOf(describeStream(url, { timeoutMs }), code, url);
  }

  for (const [order, media] of Object.entries({
    'sound first': [SOUND, VIDEO],
    'video first': [VIDEO, SOUND],
  }))
    it(`finds the codec of the video, not that of the sound: ${order}`, async () => {
      const at = await relay(described(['v=0', ...media.flat()].join('\r\n')));
      assert.deepEqual(await describeStream(`rtsp://${at}/live`, { timeoutMs: 2000 }), { codecs: ['H265'] });
    });

  it('gives up on a relay that drips, which would keep the connection for days', async () => {
    const drip = (socket: net.Socket): void => {
      const timer = setInterval(() => socket.write('R'), 50);
      socket.on('close', () => clearInterval(timer));
    };
    const at = await relay('', net.createServer(drip));
    await assertFails(`rtsp://${at}/secret`, 'TIMEOUT', 300);
  });

  it('asks by DESCRIBE alone, without the login of the URL', async () => {
    const at = await relay(described(SDP.join('\r\n')));
    await describeStream(`rtsp://user:pass@${at}/live?t=secret`, { timeoutMs: 2000 });
    assert.deepEqual(asked, [
      `DESCRIBE rtsp://${at}/live?t=secret RTSP/1.0\r\nCSeq: 1\r\nAccept: application/sdp\r\n\r\n`,
    ]);
  });

  it('tells when the connection stands, also where it is refused after that', async () => {
    const at = await relay('RTSP/1.0 454 Session Not Found\r\nCSeq: 1\r\n\r\n');
    let isConnected = false;
    const onConnected = (): void => void (isConnected = true);
    await assert.rejects(describeStream(`rtsp://${at}/secret`, { timeoutMs: 2000, onConnected }));
    assert.ok(isConnected);
  });

  for (const [what, answer, code] of [
    ['a refusal', 'RTSP/1.0 404 Not Found\r\n\r\n', 'HTTP_ERROR'],
    ['another protocol', 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n', 'BAD_RESPONSE'],
    ['an endless head', `RTSP/1.0 200 OK\r\nX: ${'x'.repeat(70_000)}`, 'BAD_RESPONSE'],
    ['silence', 'RTSP/1.0 200 OK\r\n', 'TIMEOUT'],
  ] as const) {
    it(`is answered by ${what}: ${code}`, async () => {
      const at = await relay(answer);
      await assertFails(`rtsp://${at}/secret`, code, 300);
    });
  }

  it('is not asked where the certificate of the relay is not trusted', async function () {
    needs(this, 'openssl');
    const at = await relay(described(''), tls.createServer(selfSigned()));
    await assertFails(`rtsps://${at}/secret`, 'TLS');
    assert.deepEqual(asked, []);
  });
});
