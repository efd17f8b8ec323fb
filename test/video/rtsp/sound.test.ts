import assert from 'node:assert/strict';
import type { MediaFrame, MediaStream } from '../../../lib/video/media';
import {
  AAC,
  reply,
  sdp,
  type Script,
  VIDEO,
  soundBye,
  soundPacket,
  soundReport,
} from '../../support/rtsp/scripted-relay';
import { PlayedRelay, take } from './streams';

/** RTP ticks in a second of the sound. */
const RATE = 44_100;
/** A time of the sender. */
const NOON = Date.UTC(2026, 2, 4, 12);

describe('sound beside the pictures', () => {
  const at = new PlayedRelay();
  /** As live555 and ZLMediaKit have it: each track begins with its own first packet, whatever the moment. */
  const FIRST_PACKETS = `url=rtsp://x/track1;seq=0;rtptime=0,url=rtsp://x/track2;seq=9;rtptime=${RATE * 100}`;

  /** A stream of both. */
  const play = (rtpInfo?: string, options: Parameters<typeof at.play>[1] = {}): Promise<MediaStream> => {
    const more: Record<string, string> = rtpInfo === undefined ? {} : { 'RTP-Info': rtpInfo };
    const DESCRIBE: Script['DESCRIBE'] = (request) => reply(request, 200, {}, sdp(VIDEO, AAC));
    return at.play({ DESCRIBE, PLAY: (request) => reply(request, 200, more) }, options);
  };

  function timesOf(frames: readonly MediaFrame[], kind: MediaFrame['kind']): number[] {
    return frames.filter((frame) => frame.kind === kind).map(({ time }) => Math.round(time * 1000));
  }

  it('comes on the clock of the pictures, where the answer to PLAY says where both begin', async () => {
    const stream = await play(FIRST_PACKETS);
    at.send(at.source.pictures(2), soundPacket(9, RATE * 100.5), soundPacket(10, RATE * 101));
    const frames = await take(stream, 4);
    assert.deepEqual(timesOf(frames, 'video'), [0, 100]);
    assert.deepEqual(timesOf(frames, 'audio'), [500, 1000]);
  });

  it('begins with the pictures, where nobody says otherwise', async () => {
    const stream = await play();
    at.send(at.source.pictures(1), soundPacket(9, 12_345), soundPacket(10, 12_345 + RATE));
    assert.deepEqual(timesOf(await take(stream, 3), 'audio'), [0, 1000]);
  });

  it('gets its time from the reports of the sender, where the answer to PLAY does not tell', async () => {
    const stream = await play('url=rtsp://x/track1;seq=0;rtptime=0');
    // The sound of RTP time 0 is three seconds younger than the picture of RTP time 0.
    at.send(
      at.source.pictures(1),
      soundPacket(9, RATE),
      at.source.report(NOON),
      soundReport(NOON + 3000),
      soundPacket(10, 2 * RATE),
    );
    // What came before the reports has waited for them.
    assert.deepEqual(timesOf(await take(stream, 3), 'audio'), [4000, 5000]);
  });

  it('gets it from the reports, too, where the answer to PLAY names the first packet of each', async () => {
    const stream = await play(FIRST_PACKETS);
    // The sound began a second before the pictures.
    const reports = Buffer.concat([at.source.report(NOON), soundReport(NOON - 101_000)]);
    const sounds = [0, 0.5, 1, 1.5].map((second, n) => soundPacket(9 + n, RATE * (100 + second)));
    at.send(...sounds.slice(0, 2), at.source.pictures(1), reports, ...sounds.slice(2));
    assert.deepEqual(timesOf(await take(stream, 5), 'audio'), [-1000, -500, 0, 500]);
  });

  it('comes as the answer to PLAY says where no report does, after 300 ms', async () => {
    const stream = await play(FIRST_PACKETS);
    const since = performance.now();
    at.send(at.source.pictures(1), soundPacket(9, RATE * 100.25));
    assert.deepEqual(timesOf(await take(stream, 2), 'audio'), [250]);
    assert.ok(performance.now() - since >= 290);
  });

  it('is corrected where the reports come later, and each time that they say otherwise', async () => {
    const stream = await play(FIRST_PACKETS, { limits: { reportMs: 1 } });
    at.send(at.source.pictures(1), soundPacket(9, RATE * 100));
    assert.deepEqual(timesOf(await take(stream, 2), 'audio'), [0]);
    at.send(
      at.source.report(NOON),
      soundReport(NOON - 99_200),
      soundPacket(10, RATE * 101),
      // A correction that nobody would hear.
      soundReport(NOON - 99_180),
      soundPacket(11, RATE * 102),
      soundReport(NOON - 99_500),
      soundPacket(12, RATE * 103),
    );
    assert.deepEqual(timesOf(await take(stream, 3), 'audio'), [1800, 2800, 3500]);
  });

  it('does not believe reports of two clocks that have nothing to do with each other', async () => {
    const stream = await play(FIRST_PACKETS);
    at.send(
      at.source.pictures(1),
      at.source.report(NOON),
      soundReport(NOON + 3_600_000),
      soundPacket(9, RATE * 100.5),
    );
    assert.deepEqual(timesOf(await take(stream, 2), 'audio'), [500]);
  });

  it('is never older than what came before it', async () => {
    const stream = await play(undefined, { limits: { reportMs: 1 } });
    at.send(at.source.pictures(1), soundPacket(9, 10 * RATE), soundPacket(10, 12 * RATE));
    assert.deepEqual(timesOf(await take(stream, 3), 'audio'), [0, 2000]);
    at.send(
      at.source.report(NOON),
      soundReport(NOON - 10_500),
      soundPacket(11, 12.25 * RATE),
      soundPacket(12, 13 * RATE),
    );
    // By the reports it began half a second before the pictures.
    assert.deepEqual(timesOf(await take(stream, 1), 'audio'), [2500]);
  });

  it('that ends leaves the pictures', async () => {
    const stream = await play();
    at.send(soundPacket(1, 0), soundBye(), at.source.pictures(3), at.source.bye());
    assert.deepEqual(timesOf(await take(stream, 10), 'video'), [0, 100, 200]);
  });
});
