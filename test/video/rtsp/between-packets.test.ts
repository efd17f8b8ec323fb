import assert from 'node:assert/strict';
import type { MediaStream, VideoFrame } from '../../../lib/video/media';
import {
  AAC,
  goodReply,
  interleaved,
  reply,
  sdp,
  type Script,
  VIDEO,
  soundPacket,
} from '../../support/rtsp/scripted-relay';
import { eventually } from '../../support/time/patience';
import { PlayedRelay, take, takePictures, takeUntilFailure } from './streams';

/** What stands where a packet or an answer should begin. */
const JUNK: Record<string, Buffer> = {
  'a zero': Buffer.alloc(1),
  'two zeros': Buffer.alloc(2),
  letters: Buffer.from('what is this\r\n\r\n'),
  'capital letters without an end': Buffer.from('RTP'),
  'the mark of a packet of a channel that there is not': Buffer.from([0x24, 0x77]),
  'many marks of packets': Buffer.alloc(300, 0x24),
  'the head of a packet without the packet': Buffer.from([0x24, 0, 0x05, 0xdc]),
  'a line that is too long': Buffer.from(`RTSP/1.0 200 OK\r\nX: ${'x'.repeat(20_000)}`),
  'a line without an end': Buffer.from(`RTSP/1.0 200 ${'x'.repeat(20_000)}`),
  'endless headers': Buffer.from(`RTSP/1.0 200 OK\r\n${'X: y\r\n'.repeat(200)}\r\n`),
  'an endless body': Buffer.from('RTSP/1.0 200 OK\r\nContent-Length: 99999999999\r\n\r\n'),
  'a length that is none': Buffer.from('RTSP/1.0 200 OK\r\nContent-Length: -1\r\n\r\n'),
  'control characters': Buffer.from('RTSP/1.0 200 OK\r\nX: \u001b[31m\r\n\r\n'),
  'an answer to what was not asked': Buffer.from('RTSP/1.0 200 OK\r\nCSeq: 99\r\n\r\n'),
  'an answer with a number that is none': Buffer.from('RTSP/1.0 200 OK\r\nCSeq: x\r\n\r\n'),
  'ends of lines': Buffer.from('\r\n\r\n'),
  'the tail of a packet': Buffer.from('5c8841$0a1b2c00$41'.repeat(100), 'latin1'),
  'many bytes': Buffer.alloc(60_000, 0xa5),
};
describe('between the packets of a relay', () => {
  const at = new PlayedRelay();

  const numbersOf = (frames: readonly VideoFrame[]): number[] =>
    frames.map(({ time }) => Math.round(time * 10));
  /** Of all pictures that come, behind which the relay ends. */
  async function numbersTo(stream: MediaStream): Promise<number[]> {
    at.send(at.source.bye());
    return numbersOf(await takePictures(stream, 100));
  }

  for (const [what, junk] of Object.entries(JUNK)) {
    it(`may stand ${what}: nothing is lost`, async () => {
      const stream = await at.play();
      at.send(at.source.pictures(3), junk, at.source.pictures(40));
      assert.deepEqual(await numbersTo(stream), [...Array(43).keys()]);
    });
  }

  it('may stand bytes again and again, also where they come one by one', async () => {
    const stream = await at.play();
    const pieces = Array.from({ length: 20 }, (_, place) => [
      at.source.pictures(1),
      Buffer.alloc(place, 0x24),
      Buffer.alloc(place),
    ]);
    for (const byte of Buffer.concat(pieces.flat())) at.send(Buffer.from([byte]));
    assert.deepEqual(await numbersTo(stream), [...Array(20).keys()]);
  });

  it('may one be cut short: the stream goes on at the next key frame', async () => {
    const stream = await at.play();
    at.send(at.source.pictures(3).subarray(0, -20), at.source.pictures(40));
    const numbers = await numbersTo(stream);
    assert.ok(numbers.includes(10) && numbers.length >= 33, numbers.join());
    assert.equal(numbers.at(-1), 42);
  });

  it('may one begin in the middle, of sound as of pictures', async () => {
    const stream = await at.play({ DESCRIBE: (request) => reply(request, 200, {}, sdp(VIDEO, AAC)) });
    at.send(
      at.source.pictures(2),
      soundPacket(1, 0).subarray(7),
      soundPacket(2, 1024),
      at.source.pictures(1).subarray(9),
      at.source.pictures(20),
      at.source.bye(),
    );
    const frames = await take(stream, 100);
    assert.equal(frames.filter(({ kind }) => kind === 'audio').length, 1);
    const numbers = numbersOf(frames.filter((frame) => frame.kind === 'video'));
    assert.deepEqual(numbers, [0, 1, ...Array.from({ length: 13 }, (_, at) => at + 10)]);
  });

  it('may stand bytes before the first of them', async () => {
    const stream = await at.play({
      PLAY: (request) =>
        Buffer.concat([Buffer.from(goodReply(request)), Buffer.alloc(2), at.source.pictures(2)]),
    });
    assert.equal((await take(stream, 2)).length, 2);
  });

  it('may stand bytes before an answer, which is heard', async () => {
    const OPTIONS: Script['OPTIONS'] = (request) =>
      Buffer.concat([at.source.pictures(1), Buffer.alloc(5), Buffer.from(goodReply(request))]);
    const stream = await at.play({ OPTIONS }, { limits: { answerMs: 60_000 } });
    assert.equal((await take(stream, 1)).length, 1);
    at.send(at.source.pictures(2));
    assert.equal((await take(stream, 2)).length, 2);
  });

  it('may stand bytes at the end of all', async () => {
    const stream = await at.play();
    at.send(at.source.pictures(3), Buffer.alloc(2));
    at.hangUp();
    assert.equal((await take(stream, 100)).length, 3);
  });

  it('may stand no more than the longest packet has: the stream fails behind what came before', async () => {
    const stream = await at.play();
    at.send(at.source.pictures(3), Buffer.alloc(140_000, 0xa5));
    assert.equal((await takeUntilFailure(stream, 'VIDEO_FAILED')).frames.length, 3);
    await eventually(() => at.relay.open.size === 0, 'the end of the connection');
  });

  for (const [what, PLAY] of [
    ['that is no RTSP', () => 'what is this\r\n\r\n'],
    ['with another number', (request) => goodReply(request).replace(/CSeq: \d+/, 'CSeq: 99')],
  ] as [string, Script['PLAY']][])
    it(`may stand nothing before the answer to PLAY ${what}`, async () => {
      await at.refusal((await at.start({ PLAY })).url, 'VIDEO_FAILED');
    });

  it('is a packet of a channel that nobody asked for passed over as a whole', async () => {
    const stream = await at.play();
    at.send(at.source.pictures(1), interleaved(200, at.source.pictures(1)), interleaved(7, Buffer.alloc(1)));
    await at.reload();
    at.send(at.source.pictures(2), at.source.bye());
    assert.ok((await take(stream, 100)).length >= 2);
  });
});
