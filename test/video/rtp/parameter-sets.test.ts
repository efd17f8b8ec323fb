import assert from 'node:assert/strict';
import type { VideoFormat } from '../../../lib/video/media';
import { h264 } from '../../../lib/video/rtp/h264';
import { h265 } from '../../../lib/video/rtp/h265';
import { h264Pps, h264Slice, h264Sps, type SpsFields } from '../../../scripts/fuzz/inputs/h264-units';
import { h265Pps, h265Slice, h265Sps, h265Vps } from '../../../scripts/fuzz/inputs/h265-units';
import { CODECS, SentVideo } from '../../support/rtp/codecs';
import { bits, rowOf } from '../../support/rtp/sender';

type H265Fields = Parameters<typeof h265Sps>[0];
type Sps = ReturnType<typeof h264.sps>;

const IDR = h264Slice({ type: 'idr' });
const [SETS, KEY] = [CODECS.H264.sets, [...CODECS.H264.sets, IDR]];

function sizeOf(sps: Sps): string | undefined {
  return sps && `${sps.width}x${sps.height}`;
}

function shapeOf(sps: Sps): string | undefined {
  return sps?.pixelAspect && `${sps.pixelAspect.across}:${sps.pixelAspect.down}`;
}

/** Of a key picture that comes with these sets. */
function formatWith(encoding: keyof typeof CODECS, ...sets: Buffer[]): VideoFormat {
  const [frame] = new SentVideo(encoding).of([...sets, CODECS[encoding].key()]);
  return frame?.format ?? assert.fail('no picture');
}

/** Cut at each length up to one, by default before the last byte. */
function cuts(whole: Buffer, from = 0, end = whole.length - 1): Buffer[] {
  return Array.from({ length: end - from }, (_, more) => whole.subarray(0, from + more));
}

/** As both records of an MP4 have them, behind their lengths. */
function hexOf(nal: Buffer): string {
  return Buffer.concat([Buffer.from([nal.length]), nal]).toString('hex');
}

describe('the parameter sets of H.264', () => {
  const CROP = { crop: [1, 2, 0, 6] } as const;
  const PLANES = { profile: 244, chromaFormat: 3, separatePlanes: true };
  const INTERLACED: SpsFields = { across: 120, down: 68, isInterlaced: true, crop: [0, 0, 0, 2] };
  const SIZES: [what: string, fields: SpsFields, size?: string][] = [
    ['the size in macroblocks', { across: 20, down: 12 }, '320x192'],
    ['what is cut off, in units of the sampling of colours', CROP, '314x180'],
    ['what is cut off of grey pictures', { profile: 100, chromaFormat: 0, ...CROP }, '317x186'],
    ['what is cut off of 4:2:2', { profile: 122, chromaFormat: 2, ...CROP }, '314x186'],
    ['what is cut off of 4:4:4', { profile: 244, chromaFormat: 3, ...CROP }, '317x186'],
    ['what is cut off of 4:4:4 in planes', { ...PLANES, ...CROP }, '317x186'],
    ['both fields where frames may be interlaced', INTERLACED, '1920x1080'],
    ['it behind scaling lists', { profile: 100, scalingLists: true }, '320x192'],
    ['it behind scaling lists of 4:4:4', { profile: 244, chromaFormat: 3, scalingLists: true }, '320x192'],
    ['it behind a cycle of offsets', { offsets: 200 }, '320x192'],
    ['the largest height', { across: 512, down: 272 }, '8192x4352'],
    ['the largest width', { across: 1024, down: 136 }, '16384x2176'],
    ['none that is too wide', { across: 1025 }],
    ['none that is too high', { down: 1026 }],
    ['none beyond all numbers', { across: 2 ** 31 }],
    ['none of which all is cut off', { crop: [200, 0, 0, 0] }],
    ['none of too many pixels', { across: 513, down: 272 }],
    ['none of too many pixels in fields', { across: 512, down: 274, isInterlaced: true }],
    // It takes a decoder a gigabyte.
    ['none of which little is shown', { across: 1024, down: 1024, crop: [8000, 0, 8000, 0] }],
    ['nothing where their number is out of its range', { id: 32 }],
    ['nothing where the sampling of colours is', { profile: 100, chromaFormat: 4 }],
    ['nothing where the depth is', { profile: 100, bitDepth: 15 }],
  ];
  for (const [what, fields, size] of SIZES)
    it(`tell ${what}`, () => assert.equal(sizeOf(h264.sps(h264Sps(fields))), size));

  it('tell the shape of pixels, where they are not square', () => {
    const shape = (aspect: SpsFields['aspect']): string | undefined => shapeOf(h264.sps(h264Sps({ aspect })));
    const table = '12:11 10:11 16:11 40:33 24:11 20:11 32:11 80:33 18:11 15:11 64:33 160:99 4:3 3:2 2:1';
    assert.equal(Array.from({ length: 15 }, (_, index) => shape(index + 2)).join(' '), table);
    assert.equal(shape([118, 81]), '118:81');
    for (const square of [undefined, 0, 1, 17, 254, [3, 3], [0, 1], [1, 0], [1, 9], [9, 1]] as const)
      assert.equal(shape(square), undefined, String(square));
  });

  it('are read without the shape of pixels where they are cut before it', () => {
    const sps = h264Sps({ aspect: [16, 11] });
    assert.equal(shapeOf(h264.sps(sps)), '16:11');
    const cut = h264.sps(sps.subarray(0, -3));
    assert.deepEqual([cut?.width, shapeOf(cut)], [320, undefined]);
  });

  const OTHER_COLOURS = { profile: 122, chromaFormat: 2, bitDepth: 10 };
  for (const [what, fields, codec, record, extension] of [
    ['of the baseline', {}, 'avc1.42C01E', '0142c01effe100', ''],
    ['of a high profile', { profile: 100 }, 'avc1.64C01E', '0164c01effe100', 'fdf8f800'],
    ['of another sampling of colours', OTHER_COLOURS, 'avc1.7AC01E', '017ac01effe100', 'fefafa00'],
  ] as const)
    it(`name the codec, and stand in the record of an MP4: ${what}`, () => {
      const [sps, pps] = [h264Sps(fields), h264Pps()];
      const { codecString, description } = formatWith('H264', sps, pps);
      assert.equal(codecString, codec);
      assert.equal(description.toString('hex'), `${record}${hexOf(sps)}0100${hexOf(pps)}${extension}`);
    });

  it('are in the format if they belong to that of the picture', () => {
    const [sps, otherSps] = [h264Sps(), h264Sps({ id: 1, across: 40 })];
    const [zero, one, two] = [h264Pps(), h264Pps({ id: 1, sps: 1 }), h264Pps({ id: 2 })] as const;
    const video = new SentVideo('H264');
    const formats = [2, 1, 9].map((pps) => {
      const [frame] = video.of([sps, otherSps, zero, one, two, h264Slice({ type: 'idr', pps })]);
      return frame && [frame.format.width, frame.format.parameterSets];
    });
    assert.deepEqual(formats, [[320, [sps, zero, two]], [640, [otherSps, one]], undefined]);
  });

  it('are refused where they are cut, wherever that is', () => {
    for (const whole of [h264Sps({ profile: 100, scalingLists: true }), h264Sps({ offsets: 9 })])
      for (const cut of cuts(whole)) assert.equal(h264.sps(cut), undefined, `${cut.length} bytes`);
  });

  it('are refused where they announce more offsets than there are', () => {
    const head = bits([0x6742001e, 32]).unsigned(0).unsigned(0).unsigned(1).bits(0, 1).signed(0).signed(0);
    const endless = head.unsigned(2 ** 31).trailed();
    assert.equal(h264.sps(Buffer.concat([endless, Buffer.alloc(4000, 0xff)])), undefined);
  });

  // Made by cameras and encoders; the last of a high profile, which has more behind what is read.
  for (const [hex, read] of Object.entries({
    '68ce3880': 4,
    '68ee3c80': 4,
    '68ce0f2c80': 5,
    '68ebe3cb22c0': 4,
  }))
    it(`are refused where a picture parameter set is cut short, wherever that is: ${hex}`, () => {
      const whole = Buffer.from(hex, 'hex');
      assert.deepEqual(h264.pps(whole), { id: 0, sps: 0 });
      for (const cut of cuts(whole, 1, read)) assert.equal(h264.pps(cut), undefined, `${cut.length} bytes`);
    });

  it('are refused where a number of a picture parameter set is out of its range', () => {
    for (const fields of [{ id: 256 }, { sps: 32 }]) assert.equal(h264.pps(h264Pps(fields)), undefined);
  });

  it('are taken with groups of slices, of whatever kind', () => {
    // Two groups (section 7.3.2.2), and what is not read behind that.
    const groups = bits([0x68, 8]).unsigned(0).unsigned(0).bits(0, 2).unsigned(1).unsigned(6);
    assert.deepEqual(h264.pps(groups.trailed()), { id: 0, sps: 0 });
  });

  it('are kept up to 16 of a kind: then the oldest goes', () => {
    const pps = Array.from({ length: 20 }, (_, id) => h264Pps({ id }));
    const video = new SentVideo('H264');
    assert.deepEqual(video.of([h264Sps(), ...pps, h264Slice({ type: 'idr', pps: 3 })]), []);
    const [frame] = video.of([h264Slice({ type: 'idr', pps: 4 })]);
    assert.equal(frame?.format.parameterSets.length, 17);
  });
});

describe('the parameter sets of H.265', () => {
  const CROP = { crop: [1, 2, 0, 6] } as const;
  const SIZES: [what: string, fields: H265Fields, size?: string][] = [
    ['the size, less what is cut off: of grey pictures', { chromaFormat: 0, ...CROP }, '637x354'],
    ['the size, less what is cut off: 4:2:0', { chromaFormat: 1, ...CROP }, '634x348'],
    ['the size, less what is cut off: 4:2:2', { chromaFormat: 2, ...CROP }, '634x354'],
    ['the size, less what is cut off: 4:4:4', { chromaFormat: 3, ...CROP }, '637x354'],
    ['the largest', { width: 8192, height: 4352 }, '8192x4352'],
    ['none of too many pixels', { width: 8194, height: 4352 }],
    ['none that is too wide', { width: 16_385 }],
    ['none that is too high', { height: 16_385 }],
    ['none without a width', { width: 0 }],
    ['nothing where their number is out of its range', { id: 16 }],
    ['nothing where the sampling of colours is', { chromaFormat: 4 }],
    ['nothing where the depth is', { bitDepth: 17 }],
  ];
  for (const [what, fields, size] of SIZES)
    it(`tell ${what}`, () => assert.equal(sizeOf(h265.sps(h265Sps(fields))), size));

  it('tell the shape of pixels behind all that is optional', () => {
    for (const [fields, shape] of [
      [{ aspect: [16, 11] }, '16:11'],
      [{ aspect: [16, 11], subLayers: 2 }, '16:11'],
      [{ aspect: [5, 5] }, undefined],
      [{}, undefined],
    ] as [H265Fields, string?][])
      assert.equal(shapeOf(h265.sps(h265Sps(fields))), shape);
  });

  it('may have several layers of time', () => {
    const sets = [h265Vps(), h265Sps({ subLayers: 6 }), h265Pps()];
    const { width, height, description } = formatWith('H265', ...sets);
    assert.deepEqual([width, height, description[21]], [640, 360, 0x3f]);
  });

  for (const [hex, name] of [
    ['01600000009000000000005d', 'hvc1.1.6.L93.90'],
    ['2260000000b000000000007b', 'hvc1.2.6.H123.B0'],
    ['4160000000000000000000ff', 'hvc1.A1.6.L255'],
    ['ff0000000100000000020000', 'hvc1.C31.80000000.H0.0.0.0.0.2'],
  ] as const)
    it(`name the codec by profile, compatibility, tier, level and constraints: ${name}`, () => {
      const sps = h265Sps({ profile: Buffer.from(hex, 'hex') });
      assert.equal(formatWith('H265', h265Vps(), sps, h265Pps()).codecString, name);
    });

  it('stand in the record of an MP4', () => {
    const sets = [h265Vps(), h265Sps({ bitDepth: 10, chromaFormat: 2 }), h265Pps()];
    const arrays = sets.map((nal, index) => `${['a0', 'a1', 'a2'][index]}000100${hexOf(nal)}`);
    const head = '0101600000009000000000005df000fcfefafa00000f03';
    assert.equal(formatWith('H265', ...sets).description.toString('hex'), head + arrays.join(''));
  });

  it('are refused where they are cut, wherever that is', () => {
    const whole = h265Sps({ subLayers: 2 });
    for (const cut of cuts(whole, 0, whole.length - 3)) assert.equal(h265.sps(cut), undefined);
    for (const pps of [Buffer.from('4401c172b46240', 'hex'), h265Pps()]) {
      assert.deepEqual(h265.pps(pps), { id: 0, sps: 0 });
      for (const cut of cuts(pps, 2, pps.length)) assert.equal(h265.pps(cut), undefined, `of ${hexOf(pps)}`);
    }
    const vps = Buffer.from('40010c01ffff01600000030090000003000003003c959809', 'hex');
    assert.deepEqual([h265.vps(vps), h265.vps(h265Vps())], [{ id: 0 }, { id: 0 }]);
    for (const cut of cuts(vps, 2, 21)) assert.equal(h265.vps(cut), undefined, `${cut.length} bytes`);
  });

  it('are taken with tiles, lists of scaling and extensions, which are not read', () => {
    const pps = () => bits([0x4401, 16]).unsigned(0).unsigned(0).bits(0, 7).unsigned(0).unsigned(0).signed(4);
    const [tiles, none] = [0b10, 0];
    const offsets = (flags: number) => pps().bits(0, 3).signed(0).signed(0).bits(flags, 6);
    // With offsets of the quantizer within a picture, and of the filter at blocks.
    const within = pps().bits(0b001, 3).unsigned(1).signed(-6).signed(6);
    within.bits(none, 6).bits(0b110, 3).bits(0, 1);
    const kinds = [
      offsets(tiles).bits(0, 1),
      offsets(none).bits(0b001, 3),
      offsets(none).bits(0, 4).unsigned(0).bits(0b01, 2).bits(0b1000, 4),
      within.signed(2).signed(2).bits(0, 2).unsigned(0).bits(0, 2),
    ];
    for (const [index, kind] of kinds.entries())
      assert.deepEqual(h265.pps(kind.trailed()), { id: 0, sps: 0 }, `kind ${index}`);
  });

  it('are refused where a number of a picture parameter set, or that of a slice, is out of its range', () => {
    for (const fields of [{ id: 64 }, { sps: 16 }]) assert.equal(h265.pps(h265Pps(fields)), undefined);
    assert.equal(h265.slice(h265Slice({ pps: 64 })), undefined);
  });
});

describe('the format of pictures', () => {
  let video: SentVideo;
  beforeEach(() => {
    video = new SentVideo('H264');
  });

  const OTHER_SETS = CODECS.H264.otherSets;
  const textOf = (sets: readonly Buffer[]): string => sets.map((set) => set.toString('base64')).join(',');
  const formats = (...pictures: Buffer[][]): VideoFormat[] => [
    ...new Set(video.of(...pictures).map(({ format }) => format)),
  ];

  it('is the same object while the parameter sets are the same, with zeros behind them, too', () => {
    const padded = SETS.map((nal) => Buffer.concat([nal, Buffer.alloc(3)]));
    assert.equal(formats(KEY, [h264Slice()], KEY, [IDR], [...padded, IDR]).length, 1);
  });

  it('is another one with other parameter sets, and the former as it was', () => {
    const [first, second] = formats(KEY, [...OTHER_SETS, IDR], [h264Slice()]);
    assert.deepEqual([first?.width, second?.width], [320, 640]);
  });

  for (const [what, described, sent, width] of [
    ['the description where the stream has none', textOf(OTHER_SETS), [IDR], 640],
    ['the stream where the description says something else', textOf(OTHER_SETS), KEY, 320],
    ['the stream where the description is cut', 'Z0LAH,aM4=', KEY, 320],
    ['the stream where the description is empty', ',,', KEY, 320],
    ['the stream where the description cannot be read', '!', KEY, 320],
  ] as const)
    it(`is that of ${what}`, () => {
      video = new SentVideo('H264', { 'sprop-parameter-sets': described });
      const [format, ...more] = formats([...sent]);
      assert.deepEqual([format?.width, more], [width, []]);
    });

  const HUGE = Buffer.concat([h264Sps({ across: 40 }), Buffer.alloc(4096, 1)]);
  const [OTHER, UNUSED] = [h264Pps({ quantizer: 7 }), h264Pps({ id: 5, quantizer: 7 })];
  for (const [what, units, row] of [
    ['stays where a parameter set is cut short: a good one is known', [Buffer.from([0x67, 66]), IDR], 'kk.'],
    ['stays where a picture parameter set is cut short', [h264Pps().subarray(0, 2), IDR], 'kk.'],
    ['stays where a picture parameter set is empty', [Buffer.from([0x68]), IDR], 'kk.'],
    ['stays where a parameter set is larger than 4 KiB', [HUGE, IDR], 'kk.'],
    ['changes with a key frame alone: what needs other sets before is dropped', [OTHER, h264Slice()], 'k'],
    ['stays where other sets come that pictures do not use', [UNUSED, h264Slice()], 'k..'],
  ] as const)
    it(what, () => {
      const frames = video.of(KEY, [...units], [h264Slice()]);
      assert.equal(rowOf(frames), row);
      assert.ok(
        frames.every(({ format }) => format.width === 320 && format.parameterSets[1]?.equals(h264Pps())),
      );
      assert.equal(video.receiver.fault, undefined);
      assert.equal(rowOf(video.of(KEY)), 'k');
    });
});
