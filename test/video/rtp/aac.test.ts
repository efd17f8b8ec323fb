import assert from 'node:assert/strict';
import type { AudioFrame, MediaDescription } from '../../../lib/video/media';
import { isReadable, TrackReceiver } from '../../../lib/video/rtp/track-receiver';
import { FuzzBitWriter } from '../../../scripts/fuzz/inputs/bit-writer';
import { framesOf, medium, RtpSender } from '../../support/rtp/sender';

const RATE = 48_000;
/** LC, 48 kHz, two channels. */
const CONFIG = '1190';
const HIGH_RATE = {
  mode: 'AAC-hbr',
  sizelength: '13',
  indexlength: '3',
  indexdeltalength: '3',
  config: CONFIG,
};

function sound(
  parameters: Record<string, string> = {},
  fields: Partial<MediaDescription> = {},
): MediaDescription {
  const encoding = 'MPEG4-GENERIC';
  return medium({ kind: 'audio', encoding, clockRate: RATE, ...fields }, { ...HIGH_RATE, ...parameters });
}

/** The payload of a packet (RFC 3640, section 3.3.6): sizes as told, with the distance of each unit to the one before. */
function payload(sizes: readonly number[], data: Buffer, distance = 0): Buffer {
  const headers = new FuzzBitWriter();
  for (const [index, size] of sizes.entries()) headers.bits(size, 13).bits(index === 0 ? 0 : distance, 3);
  return Buffer.concat([new FuzzBitWriter().bits(sizes.length * 16, 16).filled(), headers.filled(), data]);
}

function bytes(length: number, fill: number): Buffer {
  return Buffer.alloc(length, fill);
}

describe('AAC in RTP', () => {
  let sender: RtpSender;
  let receiver: TrackReceiver;

  beforeEach(() => {
    sender = new RtpSender();
    receiver = new TrackReceiver(sound());
  });

  function audioOf(packets: readonly Buffer[]): AudioFrame[] {
    return framesOf(receiver, packets).filter((frame) => frame.kind === 'audio');
  }

  it('has a unit in each packet', () => {
    const [frame] = audioOf([sender.packet(payload([7], bytes(7, 1)), { marker: true })]);
    assert.deepEqual(frame?.data, bytes(7, 1));
    assert.equal(frame.format, receiver.audio);
    assert.equal(frame.time, 0);
  });

  it('does not wait for a packet that is missing, nor for the first one where that was announced', () => {
    receiver = new TrackReceiver(sound(), { sequence: 100, rtpTime: 5000 });
    sender.sequence = 101;
    const one = (): Buffer => sender.packet(payload([7], bytes(7, 1)), { marker: true });
    assert.equal(audioOf([one()]).length, 1);
    sender.sequence += 1;
    assert.equal(audioOf([one()]).length, 1);
    assert.equal(receiver.lost, 2);
  });

  it('has several units in a packet, each 1024 samples behind the other', () => {
    const data = Buffer.concat([bytes(3, 1), bytes(4, 2), bytes(5, 3)]);
    const frames = audioOf([sender.packet(payload([3, 4, 5], data), { marker: true })]);
    assert.deepEqual(
      frames.map(({ data }) => data),
      [bytes(3, 1), bytes(4, 2), bytes(5, 3)],
    );
    assert.deepEqual(
      frames.map(({ time }) => Math.round(time * RATE)),
      [0, 1024, 2048],
    );
  });

  it('has a unit in several packets, each with its whole size', () => {
    const pieces = [bytes(1000, 1), bytes(1000, 2), bytes(500, 3)];
    const packets = pieces.map((piece, index) =>
      sender.packet(payload([2500], piece), { marker: index === 2 }),
    );
    const frames = audioOf(packets);
    assert.deepEqual(
      frames.map(({ data }) => data),
      [Buffer.concat(pieces)],
    );
  });

  it('drops a unit of which a piece is missing, and goes on with the next', () => {
    for (const missing of [0, 1, 2]) {
      sender = new RtpSender();
      receiver = new TrackReceiver(sound());
      audioOf([sender.packet(payload([1], bytes(1, 0)))]);
      const packets = [1, 2, 3].map((fill) =>
        sender.packet(payload([2500], bytes(fill === 3 ? 500 : 1000, fill))),
      );
      packets.splice(missing, 1);
      sender.rtpTime += 1024;
      packets.push(sender.packet(payload([7], bytes(7, 1))));
      const frames = [...audioOf(packets), ...receiver.flush().filter((frame) => frame.kind === 'audio')];
      assert.deepEqual(
        frames.map(({ data }) => data.length),
        [7],
        `piece ${missing}`,
      );
    }
  });

  it('drops a unit whose pieces are more than it has', () => {
    const packets = [
      sender.packet(payload([2500], bytes(2000, 1))),
      sender.packet(payload([2500], bytes(2000, 1))),
    ];
    assert.deepEqual(audioOf(packets), []);
  });

  it('does not wait for a key frame', () => {
    const packets = [1, 2, 3].map((fill) => sender.packet(payload([5], bytes(5, fill))));
    packets.splice(1, 1);
    const frames = [...audioOf(packets), ...receiver.flush()];
    assert.equal(frames.length, 2);
  });

  it('drops what is cut, or whose lengths lie', () => {
    const lying = payload([3, 400], bytes(20, 1));
    const heads = [
      Buffer.alloc(0),
      Buffer.from([0]),
      Buffer.from([0xff, 0xff, 1]),
      Buffer.from([0, 9, 0, 0, 0]),
    ];
    for (const head of heads) assert.deepEqual(audioOf([sender.packet(head)]), []);
    assert.deepEqual(
      audioOf([sender.packet(lying)]).map(({ data }) => data.length),
      [3],
    );
    assert.deepEqual(audioOf([sender.packet(payload([4], bytes(4, 1)))]).length, 1);
  });

  it('may have other fields in the headers of units, and a section of auxiliary data', () => {
    const extras = {
      ctsdeltalength: '5',
      dtsdeltalength: '6',
      randomaccessindication: '1',
      streamstateindication: '2',
    };
    receiver = new TrackReceiver(sound({ ...extras, auxiliarydatasizelength: '8' }));
    const headers = new FuzzBitWriter();
    headers.bits(3, 13).bits(0, 3).bits(0, 1).bits(1, 1).bits(9, 6).bits(1, 1).bits(2, 2);
    headers.bits(4, 13).bits(0, 3).bits(1, 1).bits(9, 5).bits(0, 1).bits(1, 1).bits(2, 2);
    const section = new FuzzBitWriter().bits(12, 8).bits(0xabc, 12).filled();
    const data = Buffer.concat([
      new FuzzBitWriter().bits(53, 16).filled(),
      headers.filled(),
      section,
      bytes(7, 6),
    ]);
    assert.deepEqual(
      audioOf([sender.packet(data)]).map(({ data }) => data.length),
      [3, 4],
    );
  });

  it('may be of the low bit rate', () => {
    receiver = new TrackReceiver(
      sound({ mode: 'AAC-lbr', sizelength: '6', indexlength: '2', indexdeltalength: '2' }),
    );
    const data = Buffer.concat([Buffer.from([0, 16, 5 << 2, 6 << 2]), bytes(11, 1)]);
    assert.deepEqual(
      audioOf([sender.packet(data)]).map(({ data }) => data.length),
      [5, 6],
    );
  });

  it('can never be read interleaved', () => {
    audioOf([sender.packet(payload([3, 4], bytes(7, 1), 2))]);
    assert.match(receiver.fault?.message ?? '', /interleaved/);
    assert.deepEqual(audioOf([sender.packet(payload([3], bytes(3, 1)))]), []);
  });

  describe('tells its format', () => {
    function formatOf(config: string, channels = 1): string | undefined {
      const { audio } = new TrackReceiver(sound({ config }, { channels }));
      return (
        audio &&
        `${audio.codecString} ${audio.sampleRate} ${audio.channels} ${audio.description.toString('hex')}`
      );
    }

    it('by its configuration', () => {
      assert.equal(formatOf('1190'), 'mp4a.40.2 48000 2 1190');
      assert.equal(formatOf('1208'), 'mp4a.40.2 44100 1 1208');
      assert.equal(formatOf('0a10'), 'mp4a.40.1 44100 2 0a10');
    });

    it('with a rate that has no index', () => {
      const config = new FuzzBitWriter()
        .bits(2, 5)
        .bits(15, 4)
        .bits(47_999, 24)
        .bits(2, 4)
        .bits(0, 3)
        .filled();
      assert.equal(formatOf(config.toString('hex')), `mp4a.40.2 47999 2 ${config.toString('hex')}`);
    });

    it('with eight channels, and those of the description where it does not say', () => {
      assert.match(formatOf('11b8') ?? '', / 8 /);
      assert.match(formatOf('1180', 3) ?? '', / 3 /);
    });

    it('with replicated bands and parametric stereo as it sounds', () => {
      const band = new FuzzBitWriter()
        .bits(5, 5)
        .bits(6, 4)
        .bits(2, 4)
        .bits(3, 4)
        .bits(2, 5)
        .bits(0, 3)
        .filled();
      const stereo = new FuzzBitWriter()
        .bits(29, 5)
        .bits(6, 4)
        .bits(1, 4)
        .bits(3, 4)
        .bits(2, 5)
        .bits(0, 3)
        .filled();
      assert.match(formatOf(band.toString('hex')) ?? '', /^mp4a\.40\.5 48000 2 /);
      assert.match(formatOf(stereo.toString('hex')) ?? '', /^mp4a\.40\.29 48000 2 /);
    });

    it('unless it is no AAC, or cannot be read', () => {
      for (const config of ['', '11', 'zz', 'f800', '1790', '4190', '11c0', '0190', '11'.repeat(65)])
        assert.equal(formatOf(config), undefined, config);
    });
  });
});

describe('what can be read', () => {
  it('is H.264, H.265 and AAC', () => {
    assert.ok(isReadable(medium()));
    assert.ok(isReadable(medium({ encoding: 'H265' })));
    assert.ok(isReadable(sound()));
    assert.ok(isReadable(sound({ mode: 'aac-HBR' })));
  });

  it('is nothing else', () => {
    const others = [
      medium({ encoding: 'JPEG' }),
      medium({ kind: 'audio' }),
      medium({ kind: 'audio', encoding: 'PCMA', clockRate: 8000 }),
      medium({ encoding: 'MPEG4-GENERIC' }, HIGH_RATE),
      medium({ clockRate: 0 }),
      sound({}, { clockRate: 0 }),
      sound({ mode: 'generic' }),
      sound({ config: '' }),
      sound({ sizelength: '' }),
      sound({ sizelength: '99' }),
      sound({ indexlength: 'x' }),
      sound({ sizelength: '-1' }),
    ];
    for (const media of others) {
      assert.ok(!isReadable(media), `${media.kind} ${media.encoding}`);
      assert.equal(new TrackReceiver(media).fault?.code, 'VIDEO_FAILED');
    }
  });
});
