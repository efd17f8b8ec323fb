import assert from 'node:assert/strict';
import type { VideoFormat } from '../../../lib/video/media';
import { h264 } from '../../../lib/video/rtp/h264';
import { h265 } from '../../../lib/video/rtp/h265';
import { ParameterSets } from '../../../lib/video/rtp/video-track';
import { TrackReceiver } from '../../../lib/video/rtp/track-receiver';
import { FuzzBitWriter } from '../../../scripts/fuzz/inputs/bit-writer';
import { h264Pps, h264Slice, h264Sps, type SpsFields } from '../../../scripts/fuzz/inputs/h264-units';
import { h265Pps, h265Slice, h265Sps, h265Vps } from '../../../scripts/fuzz/inputs/h265-units';
import { medium, rowOf, RtpSender, videoOf } from '../../support/rtp/sender';

const IDR = h264Slice({ type: 'idr' });

function sizeOf(fields: SpsFields): string {
  const sps = h264.sps(h264Sps(fields));
  return `${sps?.width}x${sps?.height}`;
}

function h264Format(sps: Buffer, pps = [h264Pps()]): VideoFormat {
  const sets = new ParameterSets(h264);
  assert.ok(sets.add('sps', sps));
  for (const nal of pps) assert.ok(sets.add('pps', nal));
  return found(sets.format(0, undefined));
}

function found(format: VideoFormat | undefined): VideoFormat {
  assert.ok(format !== undefined);
  return format;
}

describe('the parameter sets of H.264', () => {
  it('tell the size in macroblocks', () => {
    assert.equal(sizeOf({ across: 20, down: 12 }), '320x192');
  });

  it('tell what is cut off, in units of the sampling of colours', () => {
    const crop = [1, 2, 0, 6] as const;
    assert.equal(sizeOf({ crop }), '314x180');
    assert.equal(sizeOf({ profile: 100, chromaFormat: 0, crop }), '317x186');
    assert.equal(sizeOf({ profile: 122, chromaFormat: 2, crop }), '314x186');
    assert.equal(sizeOf({ profile: 244, chromaFormat: 3, crop }), '317x186');
    assert.equal(sizeOf({ profile: 244, chromaFormat: 3, separatePlanes: true, crop }), '317x186');
  });

  it('count both fields where frames may be interlaced', () => {
    assert.equal(sizeOf({ across: 120, down: 68, isInterlaced: true, crop: [0, 0, 0, 2] }), '1920x1080');
  });

  it('tell the shape of pixels, where they are not square', () => {
    const shapeOf = (aspect: SpsFields['aspect']): string => {
      const { across, down } = h264.sps(h264Sps({ aspect }))?.pixelAspect ?? {};
      return `${across}:${down}`;
    };
    const table =
      '12:11 10:11 16:11 40:33 24:11 20:11 32:11 80:33 18:11 15:11 64:33 160:99 4:3 3:2 2:1'.split(' ');
    assert.deepEqual(
      table.map((_, index) => shapeOf(index + 2)),
      table,
    );
    assert.equal(shapeOf([118, 81]), '118:81');
    for (const square of [undefined, 0, 1, 17, 254, [3, 3], [0, 1], [1, 0], [1, 9], [9, 1]] as const)
      assert.equal(shapeOf(square), 'undefined:undefined', String(square));
  });

  it('are read without the shape of pixels where they are cut before it', () => {
    const sps = h264Sps({ aspect: [16, 11] });
    assert.equal(h264.sps(sps)?.pixelAspect?.across, 16);
    const cut = h264.sps(sps.subarray(0, -3));
    assert.deepEqual([cut?.width, cut?.pixelAspect], [320, undefined]);
  });

  it('may have scaling lists, and a cycle of offsets', () => {
    assert.equal(sizeOf({ profile: 100, scalingLists: true }), '320x192');
    assert.equal(sizeOf({ profile: 244, chromaFormat: 3, scalingLists: true }), '320x192');
    assert.equal(sizeOf({ offsets: 200 }), '320x192');
  });

  it('name the codec by profile, constraints and level', () => {
    assert.equal(h264Format(h264Sps()).codecString, 'avc1.42C01E');
    assert.equal(h264Format(h264Sps({ profile: 100 })).codecString, 'avc1.64C01E');
  });

  it('stand in the record of an MP4', () => {
    const [sps, pps] = [h264Sps(), h264Pps()];
    const expected = `0142c01effe100${hexOf(sps)}0100${hexOf(pps)}`;
    assert.equal(h264Format(sps).description.toString('hex'), expected);
  });

  it('of the high profiles stand there with the sampling of colours', () => {
    const sps = h264Sps({ profile: 122, chromaFormat: 2, bitDepth: 10 });
    const expected = `017ac01effe100${hexOf(sps)}0100${hexOf(h264Pps())}fefafa00`;
    assert.equal(h264Format(sps).description.toString('hex'), expected);
  });

  it('are in the format if they belong to that of the picture', () => {
    const sets = new ParameterSets(h264);
    const units = {
      sps: [h264Sps(), h264Sps({ id: 1, across: 40 })],
      pps: [h264Pps(), h264Pps({ id: 1, sps: 1 }), h264Pps({ id: 2 })],
    };
    for (const nal of units.sps) sets.add('sps', nal);
    for (const nal of units.pps) sets.add('pps', nal);
    const [first, second] = [found(sets.format(2, undefined)), found(sets.format(1, undefined))];
    assert.deepEqual([first.width, second.width], [320, 640]);
    assert.deepEqual(first.parameterSets, [units.sps[0], units.pps[0], units.pps[2]]);
    assert.deepEqual(second.parameterSets, [units.sps[1], units.pps[1]]);
    assert.equal(sets.format(9, undefined), undefined);
  });

  it('are refused where they are cut, wherever that is', () => {
    for (const whole of [h264Sps({ profile: 100, scalingLists: true }), h264Sps({ offsets: 9 })])
      for (let length = 0; length < whole.length - 1; length += 1)
        assert.equal(h264.sps(whole.subarray(0, length)), undefined, `${length} bytes`);
  });

  it('are refused where a size is none, or none that a camera has', () => {
    for (const fields of [
      { across: 1025 },
      { down: 1026 },
      { across: 2 ** 31 },
      { crop: [200, 0, 0, 0] },
      { across: 513, down: 272 },
      { across: 512, down: 274, isInterlaced: true },
    ] as SpsFields[])
      assert.equal(h264.sps(h264Sps(fields)), undefined);
    assert.equal(sizeOf({ across: 512, down: 272 }), '8192x4352');
    assert.equal(sizeOf({ across: 1024, down: 136 }), '16384x2176');
  });

  it('are refused where little is shown of a picture that takes a decoder a gigabyte', () => {
    assert.equal(h264.sps(h264Sps({ across: 1024, down: 1024, crop: [8000, 0, 8000, 0] })), undefined);
  });

  it('are refused where a number is out of its range', () => {
    const fields = [{ id: 32 }, { profile: 100, chromaFormat: 4 }, { profile: 100, bitDepth: 15 }];
    for (const each of fields) assert.equal(h264.sps(h264Sps(each)), undefined);
    assert.equal(h264.pps(h264Pps({ id: 256 })), undefined);
    assert.equal(h264.pps(h264Pps({ sps: 32 })), undefined);
  });

  it('are refused where a picture parameter set is cut short, wherever that is', () => {
    // Made by cameras and encoders; the last of a high profile, which has more behind what is read.
    for (const hex of ['68ce3880', '68ee3c80', '68ce0f2c80', '68ebe3cb22c0']) {
      const whole = Buffer.from(hex, 'hex');
      assert.deepEqual(h264.pps(whole), { id: 0, sps: 0 }, hex);
      const read = hex.startsWith('68eb') ? 4 : whole.length;
      for (let length = 1; length < read; length += 1)
        assert.equal(h264.pps(whole.subarray(0, length)), undefined, `${length} of ${hex}`);
    }
  });

  it('are taken with groups of slices, of whatever kind', () => {
    // Two groups (section 7.3.2.2), and what is not read behind that.
    const groups = new FuzzBitWriter()
      .bits(0x68, 8)
      .unsigned(0)
      .unsigned(0)
      .bits(0, 2)
      .unsigned(1)
      .unsigned(6);
    assert.deepEqual(h264.pps(groups.trailed()), { id: 0, sps: 0 });
  });

  it('that are cut short do not take the place of good ones', () => {
    const sets = new ParameterSets(h264);
    for (const [role, nal] of [
      ['sps', h264Sps()],
      ['pps', h264Pps()],
    ] as const)
      assert.ok(sets.add(role, nal));
    assert.equal(sets.add('pps', h264Pps().subarray(0, 2)), false);
    assert.ok(found(sets.format(0, undefined)).parameterSets.some((nal) => nal.equals(h264Pps())));
  });

  it('are refused where they announce more offsets than there are', () => {
    const writer = new FuzzBitWriter().bits(0x6742001e, 32).unsigned(0).unsigned(0).unsigned(1).bits(0, 1);
    const endless = writer
      .signed(0)
      .signed(0)
      .unsigned(2 ** 31)
      .trailed();
    assert.equal(h264.sps(Buffer.concat([endless, Buffer.alloc(4000, 0xff)])), undefined);
  });

  it('are refused above 4 KiB', () => {
    const sets = new ParameterSets(h264);
    assert.equal(sets.add('sps', Buffer.concat([h264Sps(), Buffer.alloc(4096, 1)])), false);
  });

  it('are kept up to 16 of a kind: then the oldest goes', () => {
    const sets = new ParameterSets(h264);
    sets.add('sps', h264Sps());
    for (let id = 0; id < 20; id += 1) sets.add('pps', h264Pps({ id }));
    assert.equal(sets.format(3, undefined), undefined);
    assert.equal(found(sets.format(4, undefined)).parameterSets.length, 17);
  });
});

describe('the parameter sets of H.265', () => {
  it('tell the shape of pixels behind all that is optional', () => {
    for (const subLayers of [0, 2]) {
      const sps = h265.sps(h265Sps({ aspect: [16, 11], subLayers }));
      assert.deepEqual([sps?.width, sps?.pixelAspect], [640, { across: 16, down: 11 }]);
    }
    assert.equal(h265.sps(h265Sps({ aspect: [5, 5] }))?.pixelAspect, undefined);
    assert.equal(h265.sps(h265Sps())?.pixelAspect, undefined);
  });

  function h265Format(sps: Buffer): VideoFormat {
    const sets = new ParameterSets(h265);
    assert.ok(sets.add('vps', h265Vps()) && sets.add('sps', sps) && sets.add('pps', h265Pps()));
    return found(sets.format(0, undefined));
  }

  it('tell the size, less what is cut off', () => {
    const sizes = [0, 1, 2, 3].map((chromaFormat) => {
      const { width, height } = h265Format(h265Sps({ chromaFormat, crop: [1, 2, 0, 6] }));
      return `${width}x${height}`;
    });
    assert.deepEqual(sizes, ['637x354', '634x348', '634x354', '637x354']);
  });

  it('may have several layers of time', () => {
    const { width, height, description } = h265Format(h265Sps({ subLayers: 6 }));
    assert.deepEqual([width, height], [640, 360]);
    assert.equal(description[21], 0x3f);
  });

  it('name the codec by profile, compatibility, tier, level and constraints', () => {
    const names = [
      '01600000009000000000005d',
      '2260000000b000000000007b',
      '4160000000000000000000ff',
      'ff0000000100000000020000',
    ];
    assert.deepEqual(
      names.map((hex) => h265Format(h265Sps({ profile: Buffer.from(hex, 'hex') })).codecString),
      ['hvc1.1.6.L93.90', 'hvc1.2.6.H123.B0', 'hvc1.A1.6.L255', 'hvc1.C31.80000000.H0.0.0.0.0.2'],
    );
  });

  it('stand in the record of an MP4', () => {
    const sps = h265Sps({ bitDepth: 10, chromaFormat: 2 });
    const sets = [h265Vps(), sps, h265Pps()];
    const arrays = sets.map((nal, index) => `${['a0', 'a1', 'a2'][index]}000100${hexOf(nal)}`);
    const head = '0101600000009000000000005df000fcfefafa00000f03';
    assert.equal(h265Format(sps).description.toString('hex'), head + arrays.join(''));
  });

  it('are refused where video or picture parameter sets are cut', () => {
    for (const whole of [Buffer.from('4401c172b46240', 'hex'), h265Pps()]) {
      assert.deepEqual(h265.pps(whole), { id: 0, sps: 0 });
      for (let length = 2; length < whole.length; length += 1)
        assert.equal(h265.pps(whole.subarray(0, length)), undefined, `${length} of ${hexOf(whole)}`);
    }
    const whole = Buffer.from('40010c01ffff01600000030090000003000003003c959809', 'hex');
    assert.deepEqual([h265.vps(whole), h265.vps(h265Vps())], [0, 0]);
    for (let length = 2; length < 21; length += 1)
      assert.equal(h265.vps(whole.subarray(0, length)), undefined, `${length} bytes`);
  });

  it('are taken with tiles, lists of scaling and extensions, which are not read', () => {
    const pps = (): FuzzBitWriter =>
      new FuzzBitWriter()
        .bits(0x4401, 16)
        .unsigned(0)
        .unsigned(0)
        .bits(0, 7)
        .unsigned(0)
        .unsigned(0)
        .signed(4);
    const [tiles, none] = [0b10, 0];
    const offsets = (flags: number): FuzzBitWriter => pps().bits(0, 3).signed(0).signed(0).bits(flags, 6);
    const kinds = [
      offsets(tiles).bits(0, 1),
      offsets(none).bits(0b001, 3),
      offsets(none).bits(0, 4).unsigned(0).bits(0b01, 2).bits(0b1000, 4),
      // With offsets of the quantizer within a picture, and of the filter at blocks.
      pps()
        .bits(0b001, 3)
        .unsigned(1)
        .signed(-6)
        .signed(6)
        .bits(none, 6)
        .bits(0b110, 3)
        .bits(0, 1)
        .signed(2)
        .signed(2)
        .bits(0, 2)
        .unsigned(0)
        .bits(0, 2),
    ];
    for (const [index, kind] of kinds.entries())
      assert.deepEqual(h265.pps(kind.trailed()), { id: 0, sps: 0 }, `kind ${index}`);
  });

  it('are refused where they are cut, wherever that is', () => {
    const whole = h265Sps({ subLayers: 2 });
    for (let length = 0; length < whole.length - 3; length += 1)
      assert.equal(h265.sps(whole.subarray(0, length)), undefined, `${length} bytes`);
  });

  it('are refused where a number is out of its range', () => {
    const fields = [
      { id: 16 },
      { chromaFormat: 4 },
      { bitDepth: 17 },
      { width: 16_385 },
      { height: 16_385 },
      { width: 0 },
      { width: 8194, height: 4352 },
    ];
    assert.ok(h265.sps(h265Sps({ width: 8192, height: 4352 })));
    for (const each of fields) assert.equal(h265.sps(h265Sps(each)), undefined, JSON.stringify(each));
    assert.equal(h265.pps(h265Pps({ id: 64 })), undefined);
    assert.equal(h265.pps(h265Pps({ sps: 16 })), undefined);
    assert.equal(h265.slice(h265Slice({ pps: 64 })), undefined);
  });
});

describe('the format of pictures', () => {
  let sender: RtpSender;
  let receiver: TrackReceiver;

  beforeEach(() => {
    sender = new RtpSender();
    receiver = new TrackReceiver(medium());
  });

  function formats(packets: readonly Buffer[]): VideoFormat[] {
    return [...new Set(videoOf(receiver, packets).map(({ format }) => format))];
  }

  it('is the same object while the parameter sets are the same', () => {
    const packets = [sender.key(), sender.delta(), sender.key(), sender.picture([IDR])].flat();
    assert.equal(formats(packets).length, 1);
  });

  it('is another one with other parameter sets, and the former as it was', () => {
    const [first, second] = formats([
      ...sender.key(),
      ...sender.picture([h264Sps({ across: 40 }), h264Pps(), IDR]),
      ...sender.delta(),
    ]);
    assert.deepEqual([first?.width, second?.width], [320, 640]);
  });

  it('is that of the description where the stream has none', () => {
    const text = `${h264Sps({ across: 40 }).toString('base64')},${h264Pps().toString('base64')}`;
    receiver = new TrackReceiver(medium({}, { 'sprop-parameter-sets': text }));
    assert.deepEqual(
      formats(sender.picture([IDR])).map(({ width }) => width),
      [640],
    );
  });

  it('is that of the stream where the description says something else, or cannot be read', () => {
    const described = [h264Sps({ across: 40 }), h264Pps()].map((nal) => nal.toString('base64')).join(',');
    for (const text of [described, 'Z0LAH,aM4=', ',,', '!']) {
      sender = new RtpSender();
      receiver = new TrackReceiver(medium({}, { 'sprop-parameter-sets': text }));
      assert.deepEqual(
        formats(sender.key()).map(({ width }) => width),
        [320],
        text,
      );
    }
  });

  it('is the same with zeros behind the parameter sets', () => {
    const padded = [h264Sps(), h264Pps()].map((nal) => Buffer.concat([nal, Buffer.alloc(3)]));
    const packets = [...sender.key(), ...sender.picture([...padded, IDR])];
    assert.equal(formats(packets).length, 1);
  });

  it('stays where a parameter set cannot be read: a good one is known', () => {
    const bad = [
      Buffer.from([0x67, 66]),
      Buffer.concat([h264Sps(), Buffer.alloc(4096, 1)]),
      Buffer.from([0x68]),
    ];
    const packets = [sender.key(), sender.picture([...bad, IDR]), sender.delta()].flat();
    assert.equal(rowOf(videoOf(receiver, packets)), 'kk.');
    assert.equal(receiver.fault, undefined);
  });

  it('changes with a key frame alone: what needs other sets before is dropped', () => {
    const packets = [
      ...sender.key(),
      ...sender.picture([h264Pps({ quantizer: 7 }), h264Slice()]),
      ...sender.delta(),
      ...sender.key(),
    ];
    assert.equal(rowOf(videoOf(receiver, packets)), 'kk');
  });

  it('stays where other sets come that pictures do not use', () => {
    const packets = [
      ...sender.key(),
      ...sender.picture([h264Pps({ id: 5, quantizer: 7 }), h264Slice()]),
      ...sender.delta(),
    ];
    assert.equal(rowOf(videoOf(receiver, packets)), 'k..');
  });
});

function hexOf(nal: Buffer): string {
  return Buffer.concat([Buffer.from([nal.length]), nal]).toString('hex');
}
