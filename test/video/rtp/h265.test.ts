import assert from 'node:assert/strict';
import { H265, h265Slice } from '../../../scripts/fuzz/inputs/h265-units';
import { CODECS, SentVideo } from '../../support/rtp/codecs';
import { rowOf, STEP, videoOf } from '../../support/rtp/sender';

describe('H.265 in RTP, other than H.264', () => {
  const TYPES = new Map<string, number>(Object.entries(H265));
  const { sets } = CODECS.H265;

  /** What is left of those that lead a picture and need what was before that: `o` is a key frame of an open group. */
  for (const [title, sent, row] of [
    ['does without those that lead the first CRA', 'cra, rasl -2, radl -3, trailing 1', 'o..'],
    ['keeps those that lead a later CRA', 'idr, cra, rasl -2, trailing 1', 'ko..'],
    ['does without those that lead a broken link', 'idr, bla, rasl -2, trailing 1', 'ko.'],
    ['keeps those that lead an IDR picture', 'idr, radl -3, trailing 1', 'k..'],
  ] as const)
    it(title, () => {
      const { sender, receiver } = new SentVideo('H265');
      const packets = sent.split(', ').flatMap((text) => {
        const [kind = '', steps] = text.split(' ');
        const slice = h265Slice({ type: TYPES.get(kind) ?? assert.fail() });
        if (steps === undefined) return sender.picture([...sets, slice]);
        // It is shown so many steps away from where the sender is.
        const at = sender.rtpTime;
        sender.rtpTime += Number(steps) * STEP;
        const shown = sender.picture([slice]);
        sender.rtpTime = at;
        return shown;
      });
      const letters = videoOf(receiver, packets).map(({ key, open }) => (open ? 'o' : key ? 'k' : '.'));
      assert.equal(letters.join(''), row);
    });

  it('can never be read with decoding order numbers', () => {
    const { receiver } = new SentVideo('H265', { 'sprop-max-don-diff': '1' });
    assert.match(receiver.fault?.message ?? '', /out of order/);
  });

  it('can be read with a difference of 0 in the description', () => {
    const video = new SentVideo('H265', { 'sprop-max-don-diff': '0' });
    assert.equal(rowOf(video.of([...sets, h265Slice({ type: H265.idr })])), 'k');
  });

  it('can never be read in PACI packets', () => {
    const video = new SentVideo('H265');
    for (let count = 0; count < 110; count += 1) video.of([Buffer.from([50 << 1, 1, 0, 0, 0])]);
    assert.match(video.receiver.fault?.message ?? '', /unusual kind/);
  });
});
