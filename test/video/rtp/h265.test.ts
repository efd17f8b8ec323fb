import assert from 'node:assert/strict';
import { TrackReceiver } from '../../../lib/video/rtp/track-receiver';
import { H265, h265Pps, h265Slice, h265Sps, h265Vps } from '../../../scripts/fuzz/inputs/h265-units';
import { aggregationPacket, fragmentationUnits } from '../../../scripts/fuzz/inputs/rtp';
import { framesOf, medium, rowOf, RtpSender, STEP, videoOf } from '../../support/rtp/sender';

const SETS = [h265Vps(), h265Sps(), h265Pps()];
const IDR = h265Slice({ type: H265.idr, length: 300 });
const H265_MEDIUM = medium({ encoding: 'H265' });

describe('H.265 in RTP', () => {
  let sender: RtpSender;
  let receiver: TrackReceiver;

  beforeEach(() => {
    sender = new RtpSender();
    receiver = new TrackReceiver(H265_MEDIUM);
  });

  function key(type: number = H265.idr): Buffer[] {
    return sender.picture([...SETS, h265Slice({ type })]);
  }

  /** A picture that is shown so many steps away from where the sender is. */
  function shown(type: number, steps: number): Buffer[] {
    const at = sender.rtpTime;
    sender.rtpTime += steps * STEP;
    const packets = sender.picture([h265Slice({ type })]);
    sender.rtpTime = at;
    return packets;
  }

  describe('puts NAL units together', () => {
    it('of packets with one each', () => {
      const slices = [IDR, h265Slice({ type: H265.idr, isFirst: false })];
      const [frame] = videoOf(receiver, sender.picture([...SETS, ...slices]));
      assert.deepEqual(frame?.nals, slices);
      assert.deepEqual(frame.format.parameterSets, SETS);
    });

    it('of packets with several (AP)', () => {
      const slices = [IDR, h265Slice({ type: H265.idr, isFirst: false })];
      const [frame] = videoOf(receiver, sender.picture([aggregationPacket(SETS), aggregationPacket(slices)]));
      assert.deepEqual(frame?.nals, slices);
    });

    it('of pieces (FU)', () => {
      for (const size of [1, 7, 150, 298]) {
        const [frame] = videoOf(receiver, sender.picture([...SETS, ...fragmentationUnits(IDR, size)]));
        assert.deepEqual(frame?.nals, [IDR], `pieces of ${size}`);
      }
    });

    it('and leaves delimiters, information and other layers out', () => {
      const others = [
        [35 << 1, 1, 0x50],
        [39 << 1, 1, 5, 1, 0, 0x80],
        [36 << 1, 1],
        [63 << 1, 1],
      ].map((bytes) => Buffer.from(bytes));
      const layer = h265Slice({ type: H265.idr, layer: 1 });
      const [frame] = videoOf(receiver, sender.picture([...SETS, ...others, IDR, layer]));
      assert.deepEqual(frame?.nals, [IDR]);
    });
  });

  it('drops everything to the next key frame where a piece is missing', () => {
    framesOf(receiver, key());
    for (const missing of [0, 1, 2]) {
      const pieces = fragmentationUnits(h265Slice({ length: 90 }), 40);
      const packets = sender.picture(pieces);
      packets.splice(missing, 1);
      const after = [...shown(H265.trailing, 0), ...key(), ...shown(H265.trailing, 0)];
      const frames = [...videoOf(receiver, [...packets, ...after]), ...receiver.flush()];
      assert.equal(rowOf(frames.filter((frame) => frame.kind === 'video')), 'k.', `piece ${missing}`);
    }
  });

  it('does without marks where each packet has one, from the first picture on', () => {
    const slice = h265Slice({ type: H265.idr, length: 90 });
    const payloads = [...SETS, ...fragmentationUnits(slice, 40)];
    const pictures = [1, 2, 3].flatMap(() => sender.picture(payloads, { marker: true }));
    const frames = [...videoOf(receiver, pictures), ...receiver.flush()];
    assert.deepEqual(
      frames.map((frame) => frame.kind === 'video' && frame.nals),
      [[slice], [slice], [slice]],
    );
  });

  it('does not begin amidst a key frame', () => {
    const [vps = IDR, sps = IDR, pps = IDR] = SETS;
    const rest = h265Slice({ type: H265.idr, isFirst: false });
    assert.equal(rowOf(videoOf(receiver, sender.picture([vps, sps, pps, rest]))), '');
  });

  it('does without the pictures that lead the first CRA and need what was before it', () => {
    const row = [key(H265.cra), shown(H265.rasl, -2), shown(H265.radl, -3), shown(H265.trailing, 1)].flat();
    assert.equal(rowOf(videoOf(receiver, row)), 'k..');
  });

  it('keeps those that lead a later CRA', () => {
    const row = [key(), key(H265.cra), shown(H265.rasl, -2), shown(H265.trailing, 1)].flat();
    const frames = videoOf(receiver, row);
    assert.equal(rowOf(frames), 'kk..');
    assert.deepEqual(
      frames.map(({ open }) => open),
      [false, true, false, false],
    );
  });

  it('does without those that lead a broken link, wherever it is', () => {
    const row = [key(), key(H265.bla), shown(H265.rasl, -2), shown(H265.trailing, 1)].flat();
    assert.equal(rowOf(videoOf(receiver, row)), 'kk.');
  });

  it('keeps those that lead an IDR picture', () => {
    const row = [key(), shown(H265.radl, -3), shown(H265.trailing, 1)].flat();
    assert.equal(rowOf(videoOf(receiver, row)), 'k..');
  });

  it('takes the parameter sets of the description', () => {
    const [vps, sps, pps] = SETS.map((nal) => nal.toString('base64'));
    const parameters = { 'sprop-vps': vps ?? '', 'sprop-sps': sps ?? '', 'sprop-pps': pps ?? '' };
    receiver = new TrackReceiver(medium({ encoding: 'H265' }, parameters));
    const [frame] = videoOf(receiver, sender.picture([IDR]));
    assert.deepEqual(frame?.format.parameterSets, SETS);
  });

  it('waits for each of the three parameter sets', () => {
    for (const missing of [0, 1, 2]) {
      receiver = new TrackReceiver(H265_MEDIUM);
      const some = SETS.filter((_, index) => index !== missing);
      assert.equal(rowOf(videoOf(receiver, sender.picture([...some, IDR]))), '');
      assert.equal(rowOf(videoOf(receiver, sender.picture([...SETS, IDR]))), 'k');
    }
  });

  it('can never be read with decoding order numbers, nor in PACI packets', () => {
    receiver = new TrackReceiver(medium({ encoding: 'H265' }, { 'sprop-max-don-diff': '1' }));
    assert.match(receiver.fault?.message ?? '', /out of order/);
    receiver = new TrackReceiver(H265_MEDIUM);
    for (let count = 0; count < 110; count += 1)
      framesOf(receiver, sender.picture([Buffer.from([50 << 1, 1, 0, 0, 0])]));
    assert.match(receiver.fault?.message ?? '', /unusual kind/);
  });

  it('is whole with a difference of 0 in the description', () => {
    receiver = new TrackReceiver(medium({ encoding: 'H265' }, { 'sprop-max-don-diff': '0' }));
    assert.equal(rowOf(videoOf(receiver, key())), 'k');
  });

  it('drops packets that are cut: nothing of them is a picture', () => {
    for (const bytes of [[98], [98, 1], [96, 1, 0], [2], [2, 1]]) {
      receiver = new TrackReceiver(H265_MEDIUM);
      framesOf(receiver, key());
      const packets = [...sender.picture([Buffer.from(bytes)]), ...shown(H265.trailing, 0)];
      assert.equal(rowOf(videoOf(receiver, packets)), '', String(bytes));
    }
  });
});
