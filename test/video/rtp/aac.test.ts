import assert from 'node:assert/strict';
import type { AudioFrame, MediaDescription } from '../../../lib/video/media';
import { isReadable, TrackReceiver } from '../../../lib/video/rtp/track-receiver';
import { isAudio } from '../../support/rtp/foreign-streams';
import { bits, framesOf, medium, RtpSender } from '../../support/rtp/sender';

const RATE = 48_000;
/** With LC, 48 kHz, two channels. */
const LENGTHS = { sizelength: '13', indexlength: '3', indexdeltalength: '3' };
const HIGH_RATE = { mode: 'AAC-hbr', ...LENGTHS, config: '1190' };

function sound(parameters: Record<string, string> = {}, fields: Partial<MediaDescription> = {}) {
  const encoding = 'MPEG4-GENERIC';
  return medium({ kind: 'audio', encoding, clockRate: RATE, ...fields }, { ...HIGH_RATE, ...parameters });
}

/** The payload of a packet (RFC 3640, section 3.3.6): sizes as told, with the distance of each unit to the one before. */
function payload(sizes: readonly number[], data: Buffer, distance = 0): Buffer {
  const headers = sizes.map((size, index) => bits([size, 13], [index === 0 ? 0 : distance, 3]).filled());
  return Buffer.concat([bits([sizes.length * 16, 16]).filled(), ...headers, data]);
}

function bytes(length: number, fill = 1): Buffer {
  return Buffer.alloc(length, fill);
}

describe('AAC in RTP', () => {
  let sender: RtpSender;
  let receiver: TrackReceiver;

  beforeEach(() => {
    sender = new RtpSender();
    receiver = new TrackReceiver(sound());
  });

  function audioOf(...payloads: Buffer[]): AudioFrame[] {
    const packets = payloads.map((each) => sender.packet(each, { marker: true }));
    return framesOf(receiver, packets).filter(isAudio);
  }

  function sizesOf(...payloads: Buffer[]): number[] {
    return audioOf(...payloads).map(({ data }) => data.length);
  }

  it('has a unit in each packet', () => {
    const [frame] = audioOf(payload([7], bytes(7)));
    assert.deepEqual(frame, { kind: 'audio', data: bytes(7), format: receiver.audio, time: 0 });
  });

  it('does not wait for a packet that is missing, nor for the first one where that was announced', () => {
    receiver = new TrackReceiver(sound(), { sequence: 100, rtpTime: 5000 });
    for (const _missing of [1, 2]) {
      sender.sequence += 1;
      assert.deepEqual(sizesOf(payload([7], bytes(7))), [7]);
    }
    assert.equal(receiver.lost, 2);
  });

  it('has several units in a packet, each 1024 samples behind the other', () => {
    const units = [bytes(3, 1), bytes(4, 2), bytes(5, 3)];
    const frames = audioOf(payload([3, 4, 5], Buffer.concat(units)));
    const given = frames.map(({ data, time }) => [data, Math.round(time * RATE) / 1024]);
    assert.deepEqual(
      given,
      [...units.entries()].map(([place, unit]) => [unit, place]),
    );
  });

  describe('has a unit in several packets, each with its whole size', () => {
    const PIECES = [bytes(1000, 1), bytes(1000, 2), bytes(500, 3)];
    const PAYLOADS = PIECES.map((piece) => payload([2500], piece));

    it('and puts it together', () => {
      const [frame, ...more] = audioOf(...PAYLOADS);
      assert.deepEqual([frame?.data, more], [Buffer.concat(PIECES), []]);
    });

    for (const missing of [0, 1, 2])
      it(`and drops it where piece ${missing} is missing, and goes on with the next`, () => {
        audioOf(payload([1], bytes(1)));
        const packets = PAYLOADS.map((each) => sender.packet(each));
        packets.splice(missing, 1);
        sender.rtpTime += 1024;
        packets.push(sender.packet(payload([7], bytes(7))));
        const frames = [...framesOf(receiver, packets), ...receiver.flush()].filter(isAudio);
        assert.equal(frames.map(({ data }) => data.length).join(), '7');
      });

    it('and drops it where its pieces are more than it has', () => {
      assert.deepEqual(sizesOf(payload([2500], bytes(2000)), payload([2500], bytes(2000))), []);
    });
  });

  it('drops what is cut, or whose lengths lie', () => {
    for (const head of [[], [0], [0xff, 0xff, 1], [0, 9, 0, 0, 0]])
      assert.deepEqual(audioOf(Buffer.from(head)), []);
    assert.deepEqual(sizesOf(payload([3, 400], bytes(20)), payload([4], bytes(4))), [3, 4]);
  });

  it('may have other fields in the headers of units, and a section of auxiliary data', () => {
    const deltas = { ctsdeltalength: '5', dtsdeltalength: '6', auxiliarydatasizelength: '8' };
    const others = { randomaccessindication: '1', streamstateindication: '2' };
    receiver = new TrackReceiver(sound({ ...deltas, ...others }));
    const headers = bits([3, 13], [0, 3], [0, 1], [1, 1], [9, 6], [1, 1], [2, 2]);
    headers.bits(4, 13).bits(0, 3).bits(1, 1).bits(9, 5).bits(0, 1).bits(1, 1).bits(2, 2);
    const section = bits([12, 8], [0xabc, 12]).filled();
    const data = Buffer.concat([bits([53, 16]).filled(), headers.filled(), section, bytes(7)]);
    assert.deepEqual(sizesOf(data), [3, 4]);
  });

  it('may be of the low bit rate', () => {
    const lengths = { sizelength: '6', indexlength: '2', indexdeltalength: '2' };
    receiver = new TrackReceiver(sound({ mode: 'AAC-lbr', ...lengths }));
    assert.deepEqual(sizesOf(Buffer.concat([Buffer.from([0, 16, 5 << 2, 6 << 2]), bytes(11)])), [5, 6]);
  });

  it('can never be read interleaved', () => {
    audioOf(payload([3, 4], bytes(7), 2));
    assert.match(receiver.fault?.message ?? '', /interleaved/);
    assert.deepEqual(audioOf(payload([3], bytes(3))), []);
  });

  describe('tells its format', () => {
    const OTHER_RATE = bits([2, 5], [15, 4], [47_999, 24], [2, 4], [0, 3]).filled().toString('hex');
    const [BANDS, STEREO] = [
      bits([5, 5], [6, 4], [2, 4], [3, 4], [2, 5], [0, 3]).filled().toString('hex'),
      bits([29, 5], [6, 4], [1, 4], [3, 4], [2, 5], [0, 3]).filled().toString('hex'),
    ];
    for (const [what, config, expected, channels] of [
      ['LC, two channels', '1190', 'mp4a.40.2 48000 2'],
      ['LC, one channel', '1208', 'mp4a.40.2 44100 1'],
      ['Main', '0a10', 'mp4a.40.1 44100 2'],
      ['a rate that has no index', OTHER_RATE, 'mp4a.40.2 47999 2'],
      ['eight channels', '11b8', 'mp4a.40.2 48000 8'],
      ['the channels of the description where it does not say', '1180', 'mp4a.40.2 48000 3', 3],
      ['replicated bands as they sound', BANDS, 'mp4a.40.5 48000 2'],
      ['parametric stereo as it sounds', STEREO, 'mp4a.40.29 48000 2'],
    ] as const)
      it(`with ${what}`, () => {
        const { audio } = new TrackReceiver(sound({ config }, { channels: channels ?? 1 }));
        assert.equal(`${audio?.codecString} ${audio?.sampleRate} ${audio?.channels}`, expected);
        assert.equal(audio?.description.toString('hex'), config);
      });

    it('unless it is no AAC, or cannot be read', () => {
      for (const config of ['', '11', 'zz', 'f800', '1790', '4190', '11c0', '0190', '11'.repeat(65)])
        assert.equal(new TrackReceiver(sound({ config })).audio, undefined, config);
    });
  });
});

describe('what can be read', () => {
  it('is H.264, H.265 and AAC', () => {
    for (const media of [medium(), medium({ encoding: 'H265' }), sound(), sound({ mode: 'aac-HBR' })])
      assert.ok(isReadable(media));
  });

  it('is nothing else', () => {
    for (const media of [
      medium({ encoding: 'JPEG' }),
      medium({ kind: 'audio' }),
      medium({ kind: 'audio', encoding: 'PCMA', clockRate: 8000 }),
      medium({ encoding: 'MPEG4-GENERIC' }, HIGH_RATE),
      medium({ clockRate: 0 }),
      sound({}, { clockRate: 0 }),
      sound({ mode: 'generic' }),
      sound({ config: '' }),
      ...['', '99', '-1'].map((sizelength) => sound({ sizelength })),
      sound({ indexlength: 'x' }),
    ]) {
      assert.ok(!isReadable(media), `${media.kind} ${media.encoding}`);
      assert.equal(new TrackReceiver(media).fault?.code, 'VIDEO_FAILED');
    }
  });
});
