import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';

import { FRAMES_PER_SECOND, Fixture, nalType } from '../../sandbox/rtsp/media/fixture';
import { Packetiser } from '../../sandbox/rtsp/media/packetiser';
import { readBar } from '../support/rtsp/burnt-in-second';
import { needs } from '../support/suite/programs';
import { PictureAssembler } from '../support/rtsp/rtp-pictures';

const CLOCK_START = 1_760_000_000;
const FILE = path.join(__dirname, '..', '..', 'sandbox', 'fixture', 'fixture.h264');

describe('the recorded fixture', () => {
  it('is Constrained Baseline, with SPS, PPS and a key frame at the beginning of every second', async () => {
    const fixture = await Fixture.load();
    assert.equal(fixture.sps.toString('hex', 0, 4), '6742c015');
    for (let i = 0; i < 300; i++) {
      const { nals, key } = fixture.picture(CLOCK_START * FRAMES_PER_SECOND + i);
      assert.equal(key, i % FRAMES_PER_SECOND === 0);
      const types = nals.map(nalType).filter((type) => type !== 6);
      assert.deepEqual(types, key ? [7, 8, 5] : [1]);
    }
  });

  it('loops after 60 seconds, into the past too', async () => {
    const fixture = await Fixture.load();
    const start = CLOCK_START * FRAMES_PER_SECOND;
    assert.equal(fixture.picture(start + 300), fixture.picture(start));
    assert.equal(fixture.picture(start - 1), fixture.picture(start + 299));
    assert.equal(fixture.picture(0), fixture.picture(start + 200));
  });

  it('a file that is no such recording is refused', () => {
    assert.throws(() => new Fixture(Buffer.alloc(100)), /make it again/);
    const sets = Buffer.from([0, 0, 1, 0x67, 1, 0, 0, 1, 0x68, 1, 0, 0, 1, 0x41, 1]);
    assert.throws(() => new Fixture(sets), /one key frame a second/);
  });

  it('shows its second in the bit bar of every picture', async function () {
    needs(this, 'ffmpeg');
    const input = ['-nostdin', '-v', 'error', '-f', 'h264', '-framerate', `${FRAMES_PER_SECOND}`, '-i', FILE];
    const output = ['-f', 'rawvideo', '-pix_fmt', 'gray', 'pipe:1'];
    const { stdout } = await promisify(execFile)('ffmpeg', [...input, ...output], {
      encoding: 'buffer',
      maxBuffer: 64 * 1024 * 1024,
    });
    const size = 320 * 180;
    assert.equal(stdout.length, 300 * size);
    for (let i = 0; i < 300; i++)
      assert.equal(readBar(stdout.subarray(i * size, (i + 1) * size)), Math.floor(i / FRAMES_PER_SECOND));
  });

  it('comes out of its RTP packets unchanged; no packet is larger than an Ethernet frame carries', async () => {
    const fixture = await Fixture.load();
    const packetiser = new Packetiser();
    const assembler = new PictureAssembler();
    for (let i = 0; i < 300; i++) {
      const { nals } = fixture.picture(i);
      const packets = packetiser.picture(nals, i * 18_000);
      assert.ok(packets.every((packet) => packet.length <= 1400));
      const received = packets.map((packet) => assembler.add(packet)).at(-1);
      assert.deepEqual(received?.nals, [...nals]);
      assert.equal(received?.timestamp, i * 18_000);
    }
  });

  it('sequence numbers and time stamps wrap around', async () => {
    const fixture = await Fixture.load();
    const packetiser = new Packetiser();
    packetiser.sequence = 0xffff;
    const packets = packetiser.picture(fixture.picture(0).nals, 2 ** 32 + 5);
    assert.deepEqual(
      packets.slice(0, 2).map((packet) => packet.readUInt16BE(2)),
      [0xffff, 0],
    );
    assert.equal(packets[0]?.readUInt32BE(4), 5);
  });
});
