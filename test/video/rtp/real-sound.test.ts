import assert from 'node:assert/strict';
import type { AudioFrame } from '../../../lib/video/media';
import { slowIt } from '../../support/suite/lanes';
import { needs } from '../../support/suite/programs';
import {
  accessUnitsOf,
  assertSame,
  filesOfGroup,
  gstPackets,
  isAudio,
  probed,
  received,
  receiverOf,
  ended,
  pushedStream,
} from '../../support/rtp/foreign-streams';
import { sdpMedia } from '../../support/rtp/sender';

describe('sound that others make', () => {
  before(function () {
    needs(this, 'ffmpeg', 'ffprobe', 'gst-launch-1.0');
  });
  const fileOf = filesOfGroup();

  const dataOf = (frames: readonly AudioFrame[]): Buffer[] => frames.map(({ data }) => data);

  for (const [name, args] of Object.entries({
    'in stereo': ['-ar', '48000', '-ac', '2'],
    'in mono at 16 kHz': ['-ar', '16000', '-ac', '1'],
  }))
    slowIt(`${name} comes whole as ffmpeg and GStreamer send it`, async () => {
      const [mp4, adts] = [fileOf('sound.mp4'), fileOf('sound.aac')];
      const source = ['-f', 'lavfi', '-i', 'sine=f=440:d=2'];
      await ended('ffmpeg', ['-v', 'error', '-y', ...source, '-c:a', 'aac', ...args, mp4]);
      await ended('ffmpeg', ['-v', 'error', '-y', '-i', mp4, '-c', 'copy', adts]);
      const units = accessUnitsOf(adts);
      const stream = await pushedStream(['-i', mp4, '-c', 'copy']);
      const [media] = sdpMedia(stream.sdp);
      const receiver = receiverOf(media);
      const frames = received(receiver, stream).filter(isAudio);
      // What does not fill its last packet is never sent by ffmpeg.
      assert.ok(frames.length > units.length - 5, `${frames.length} of ${units.length}`);
      assertSame(dataOf(frames), units.slice(0, frames.length));
      const { sample_rate: rate, channels } = probed(mp4);
      assert.deepEqual([String(receiver.audio?.sampleRate), receiver.audio?.channels], [rate, channels]);
      const ticks = frames.map(({ time }) => Math.round(time * Number(rate)));
      const expected = frames.map((_, index) => index * 1024);
      assert.deepEqual(ticks, expected);

      const elements = `filesrc location=${adts} ! aacparse ! rtpmp4gpay mtu=200 pt=97`;
      const packets = await gstPackets(elements, fileOf('packets'));
      const other = receiverOf(media && { ...media, payloadType: 97 });
      const again = packets.flatMap((packet) => other.rtp(packet)).filter(isAudio);
      assertSame(dataOf(again), units);
    });

  it('keeps step with the pictures beside it', async () => {
    const pictures = ['-f', 'lavfi', '-i', 'testsrc2=size=320x180:rate=10'];
    const sound = ['-f', 'lavfi', '-i', 'sine=f=440', '-t', '2'];
    const stream = await pushedStream([...pictures, ...sound, '-c:v', 'libx264', '-bf', '0', '-c:a', 'aac']);
    const media = sdpMedia(stream.sdp);
    const [video, audio] = [receiverOf(media[0]), receiverOf(media[1])];
    assert.equal(received(video, stream).length, 20);
    assert.ok(received(audio, stream, 2).length > 80);
    const [first, second] = [video.wallClock(0), audio.wallClock(0)];
    assert.ok(first !== undefined && second !== undefined);
    assert.ok(Math.abs(first - second) < 100, `${first - second} ms apart`);
    assert.ok(Math.abs(first - Date.now()) < 3_600_000);
  });
});
