import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';

import { RtpPackets, videoPayloads } from '../../sandbox/rtsp/media/packets';
import type { Footage } from '../../sandbox/scene/footage';
import { FRAMES_PER_SECOND, Pack, visitOf } from '../../sandbox/scene/packs';
import { firstMacroblock } from '../../sandbox/scene/bits';
import { SCENE_NAMES, Scenes, type SceneName } from '../../sandbox/scene/scenes';
import { SCALED, readBar, expectedSecond, fixtureSecond } from '../support/rtsp/fixture';
import { byLane } from '../support/suite/lanes';
import { needs } from '../support/suite/programs';
import { PictureAssembler } from '../support/rtsp/rtsp-client';

/** Noon and midnight, at which the bar shows 40. */
const NOON = Date.UTC(2026, 0, 15, 12) / 1000;
const MIDNIGHT = NOON + 12 * 3600;
const H264 = SCENE_NAMES.filter((name) => name !== 'fuel-store');
const EMPTY = { label: 'Gate 1', intruder: (): undefined => undefined };
const FOLDER = path.join(__dirname, '..', '..', 'sandbox', 'fixture');
const GREY = 320 * 180;

const typeOf = (nal: Buffer): number => (nal[0] ?? 0) & 0x1f;

/** What one camera shows from one epoch second up to another, as a byte stream. */
function streamOf(footage: Footage, from: number, to: number, alarm?: number): Buffer {
  const subject = {
    label: 'North Fence 1',
    intruder: (second: number) => (alarm === undefined ? undefined : visitOf(alarm, second)),
  };
  const count = (to - from) * FRAMES_PER_SECOND;
  const pictures = Array.from({ length: count }, (_, i) =>
    footage.picture(from * FRAMES_PER_SECOND + i, subject),
  );
  return Buffer.concat(
    pictures.flatMap(({ nals }) => nals.flatMap((nal) => [Buffer.from([0, 0, 0, 1]), nal])),
  );
}

/** Grey pictures of 320x180. @throws where ffmpeg has anything to complain of */
async function decoded(stream: Buffer, format: string): Promise<Buffer[]> {
  const input = `-nostdin -v warning -f ${format} -framerate ${FRAMES_PER_SECOND} -i pipe:0`;
  const output = `-vf ${SCALED} -f rawvideo -pix_fmt gray pipe:1`;
  const run = promisify(execFile)('ffmpeg', `${input} ${output}`.split(' '), {
    encoding: 'buffer',
    maxBuffer: 256 * 1024 * 1024,
  });
  run.child.stdin?.end(stream);
  const { stdout, stderr } = await run;
  assert.equal(stderr.toString(), '');
  return Array.from({ length: stdout.length / GREY }, (_, i) => stdout.subarray(i * GREY, (i + 1) * GREY));
}

/** How many pixels differ clearly, between the bar and the line of text. */
function difference(one: Buffer, other: Buffer): number {
  const scene = (picture: Buffer): Buffer => picture.subarray(34 * 320, 166 * 320);
  const against = scene(other);
  return scene(one).reduce((sum, value, i) => sum + (Math.abs(value - (against[i] ?? 0)) > 24 ? 1 : 0), 0);
}

describe('the scenes of the sandbox', () => {
  const scenes = new Scenes();

  for (const name of H264)
    it(`${name}: SPS, PPS and a key frame begin every second, and every picture is covered from its first macroblock on`, async () => {
      const footage = await scenes.footage(name);
      for (let i = 0; i < 12 * FRAMES_PER_SECOND; i++) {
        const { nals, key } = footage.picture(NOON * FRAMES_PER_SECOND + i, EMPTY);
        assert.equal(key, i % FRAMES_PER_SECOND === 0);
        assert.deepEqual([...new Set(nals.map(typeOf))], key ? [7, 8, 5] : [1]);
        const addresses = nals.slice(key ? 2 : 0).map(firstMacroblock);
        assert.equal(addresses[0], 0);
        assert.deepEqual(
          addresses,
          [...new Set(addresses)].toSorted((a, b) => a - b),
        );
      }
    });

  it('four are Constrained Baseline, one is Main with B-frames, one is H.265', async () => {
    const kinds = await Promise.all(
      SCENE_NAMES.map(async (name) => {
        const { codec, parameterSets } = await scenes.footage(name);
        return codec === 'h265' ? codec : parameterSets[0]?.toString('hex', 1, 3);
      }),
    );
    assert.deepEqual(kinds, ['42c0', '42c0', '42c0', '42c0', '4d40', 'h265']);
  });

  it('with B-frames each picture is shown once, and none before it can be decoded with its group', async () => {
    const footage = await scenes.footage('car-park');
    const shown = Array.from({ length: 20 }, (_, i) => footage.picture(i, EMPTY).shown);
    assert.notDeepEqual(shown, [...Array(20).keys()]);
    const inOrder = shown.toSorted((a, b) => a - b);
    assert.deepEqual(inOrder, [...Array(20).keys()]);
  });

  it('a moment has the same picture always, also long ago', async () => {
    const footage = await scenes.footage('gate');
    for (const second of [0, NOON, -5, 4_000_000_000]) {
      const { nals } = footage.picture(second * FRAMES_PER_SECOND, EMPTY);
      assert.equal(fixtureSecond(nals), expectedSecond(second * 1000));
      assert.deepEqual(footage.picture(second * FRAMES_PER_SECOND, EMPTY).nals, nals);
    }
  });

  it('a file that is cut, or of another kind, is refused', () => {
    const file = (name: string): Buffer => readFileSync(path.join(FOLDER, name));
    assert.throws(() => new Pack(file('gate.pack').subarray(0, -1)), /not whole: make it again/);
    assert.throws(() => new Pack(file('gate.stills')), /of another kind: make it again/);
  });

  const [firstScene, ...otherScenes] = SCENE_NAMES;
  for (const name of byLane([firstScene], otherScenes))
    for (const [time, begin] of [
      ['day', NOON],
      ['night', MIDNIGHT],
    ] as const)
      it(`${name} by ${time} decodes without a warning, shows its second in every picture, and its intruder at the alarm alone`, async function () {
        needs(this, 'ffmpeg');
        const pictures = await decodedScene(name, begin);
        for (const [i, picture] of pictures.entries())
          assert.equal(readBar(picture), expectedSecond(begin * 1000) + Math.floor(i / FRAMES_PER_SECOND));
        const at = (second: number): Buffer => pictures[second * FRAMES_PER_SECOND + 5] ?? Buffer.alloc(0);
        // The alarm is at second 4, and the life of the scene repeats every four seconds.
        for (const second of [4, 6, 9])
          assert.ok(difference(at(second), at(second % 4)) > 150, `second ${second}`);
        assert.ok(difference(at(16), at(0)) < 30, 'he is gone');
      });

  async function decodedScene(name: SceneName, begin: number): Promise<Buffer[]> {
    const footage = await scenes.footage(name);
    const stream = streamOf(footage, begin, begin + 18, begin + 4);
    const pictures = await decoded(stream, footage.codec === 'h264' ? 'h264' : 'hevc');
    assert.equal(pictures.length, 18 * FRAMES_PER_SECOND);
    return pictures;
  }

  it('a caption holds what there is no character for as question mark, and is cut where it is too long', async () => {
    const footage = await scenes.footage('gate');
    for (const label of ['Südtor 1', 'A camera with a name that is too long', '門']) {
      const { nals } = footage.picture(0, { ...EMPTY, label });
      assert.equal(fixtureSecond(nals), expectedSecond(0));
      assert.ok(nals.slice(2).every((nal) => firstMacroblock(nal) < 920));
    }
  });
});

describe('RTP packets of pictures', () => {
  const scenes = new Scenes();

  it('a picture comes out of its packets unchanged; no packet is larger than an Ethernet frame carries', async () => {
    const footage = await scenes.footage('gate');
    const packets = new RtpPackets(96);
    const assembler = new PictureAssembler();
    for (let i = 0; i < 60; i++) {
      const { nals } = footage.picture(NOON * FRAMES_PER_SECOND + i, EMPTY);
      const sent = packets.of(videoPayloads('h264', nals), i * 9000);
      assert.ok(sent.every((packet) => packet.length <= 1400));
      const received = sent.map((packet) => assembler.add(packet)).at(-1);
      assert.deepEqual(received?.nals, [...nals]);
      assert.equal(received?.timestamp, i * 9000);
    }
  });

  it('a large NAL unit is sent in fragments', () => {
    const nal = Buffer.concat([Buffer.from([0x65]), Buffer.alloc(5000, 7)]);
    const assembler = new PictureAssembler();
    const sent = new RtpPackets(96).of(videoPayloads('h264', [nal]), 0);
    assert.equal(sent.length, 4);
    assert.deepEqual(sent.map((packet) => assembler.add(packet)).at(-1)?.nals, [nal]);
  });

  it('sequence numbers and time stamps wrap around', () => {
    const packets = new RtpPackets(96);
    packets.sequence = 0xffff;
    const sent = packets.of([Buffer.from([0x67, 1]), Buffer.from([0x68, 1])], 2 ** 32 + 5);
    const numbers = sent.map((packet) => packet.readUInt16BE(2));
    assert.deepEqual(numbers, [0xffff, 0]);
    assert.equal(sent[0]?.readUInt32BE(4), 5);
  });
});
