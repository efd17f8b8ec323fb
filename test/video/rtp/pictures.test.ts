import assert from 'node:assert/strict';
import { CODECS, SentVideo } from '../../support/rtp/codecs';
import { nalsOf, rowOf, videoOf } from '../../support/rtp/sender';

for (const [encoding, codec] of Object.entries(CODECS))
  describe(`${encoding} in RTP`, () => {
    const { sets, restOfKey, predicted, restOfPredicted, aggregate, pieces } = codec;
    const SLICES = [codec.key(300), restOfKey];
    const KEY = [...sets, codec.key()];
    const DELTA = [predicted()];
    let video: SentVideo;

    beforeEach(() => {
      video = new SentVideo(encoding);
    });

    /** So that a picture is there to go on from. */
    function begin(): void {
      assert.equal(rowOf(video.of(KEY)), 'k');
    }

    describe('puts NAL units together', () => {
      for (const [what, payloads] of Object.entries({
        'of packets with one each': [...sets, ...SLICES],
        'of packets with several': [aggregate(sets), aggregate(SLICES)],
        'of pieces of 1 byte': [...sets, ...SLICES.flatMap((slice) => pieces(slice, 1))],
        'of pieces of 7 bytes': [...sets, ...SLICES.flatMap((slice) => pieces(slice, 7))],
        'of pieces of half of them': [...sets, ...SLICES.flatMap((slice) => pieces(slice, 150))],
        'of pieces of nearly all of them': [...sets, ...SLICES.flatMap((slice) => pieces(slice, 298))],
        'and leaves others out': [...sets, ...codec.others.map((bytes) => Buffer.from(bytes)), ...SLICES],
      }))
        it(what, () => {
          const [frame, ...more] = video.of(payloads);
          assert.deepEqual([frame?.nals, frame?.format.parameterSets, more], [SLICES, sets, []]);
        });

      it('into bytes that have nothing to do with those of the packets', () => {
        const packets = video.sender.picture([...sets, ...SLICES]);
        const [frame] = videoOf(video.receiver, packets);
        for (const packet of packets) packet.fill(0);
        assert.deepEqual([frame?.format.parameterSets, frame?.nals], [sets, SLICES]);
      });
    });

    describe('ends a picture', () => {
      it('with the mark, also where it is aggregated', () => {
        const packets = video.sender.picture([...sets, ...SLICES]);
        assert.equal(rowOf(videoOf(video.receiver, packets.slice(0, -1))), '');
        assert.equal(rowOf(videoOf(video.receiver, packets.slice(-1))), 'k');
      });

      it('with another time stamp, where nothing is ever marked', () => {
        const given = [KEY, DELTA, DELTA].map((units) =>
          rowOf(videoOf(video.receiver, video.sender.picture(units, { marker: false }))),
        );
        assert.deepEqual(given, ['', 'k', '.']);
        assert.equal(video.end().length, 1);
      });

      it('not with a mark at each slice, once that is seen', () => {
        begin();
        const packets = [1, 2, 3, 4].flatMap(() => video.sender.picture(SLICES, { marker: true }));
        assert.deepEqual(videoOf(video.receiver, packets).at(-1)?.nals, SLICES);
      });

      it('not with a mark at each packet, from the first picture on, where it comes in pieces', () => {
        const payloads = [...sets, ...SLICES.flatMap((slice) => pieces(slice, 40))];
        const packets = [1, 2, 3].flatMap(() => video.sender.picture(payloads, { marker: true }));
        const frames = [...videoOf(video.receiver, packets), ...video.end()];
        assert.deepEqual(nalsOf(frames), [SLICES, SLICES, SLICES]);
      });

      it('not with the mark of a packet that has parameter sets alone', () => {
        const marked = video.sender.packet(aggregate(sets), { marker: true });
        const frames = videoOf(video.receiver, [marked, ...video.sender.picture(SLICES)]);
        assert.deepEqual(nalsOf(frames), [SLICES]);
      });

      it('at the end of the stream only where it is whole', () => {
        begin();
        for (const payload of [predicted(), pieces(codec.key(300), 40)[0] ?? assert.fail()]) {
          assert.deepEqual(videoOf(video.receiver, [video.sender.packet(payload)]), []);
          assert.deepEqual(video.end(), []);
        }
      });

      it('not at the end of the stream where nothing says whether more would have come', () => {
        assert.deepEqual(videoOf(video.receiver, video.sender.picture(KEY, { marker: false })), []);
        assert.deepEqual(video.end(), []);
      });
    });

    describe('begins', () => {
      it('with a key frame', () => {
        assert.equal(rowOf(video.of(DELTA, DELTA, KEY, DELTA)), 'k.');
      });

      it('not amidst a key frame', () => {
        assert.equal(rowOf(video.of([...sets, restOfKey], DELTA)), '');
      });

      for (const missing of sets.keys())
        it(`not before it has each of its parameter sets: ${missing}`, () => {
          const some = KEY.filter((_, index) => index !== missing);
          assert.equal(rowOf(video.of(some)), '');
          assert.equal(rowOf(video.of(KEY)), 'k');
        });

      it('with the parameter sets of the description', () => {
        video = new SentVideo(encoding, codec.described(sets.map((set) => set.toString('base64'))));
        const [frame] = video.of(SLICES);
        assert.deepEqual(frame?.format.parameterSets, sets);
      });
    });

    describe('waits for the next key frame', () => {
      for (const [what, payloads, missing] of [
        ['a picture was lost', DELTA, 0],
        ['the first piece of one was lost', pieces(predicted(90), 40), 0],
        ['a piece of one was lost', pieces(predicted(90), 40), 1],
        ['the last piece of one was lost', pieces(predicted(90), 40), 2],
        ['its first slice was lost', [predicted(), restOfPredicted], 0],
        ['its last slice was lost', [predicted(), restOfPredicted], 1],
      ] as const)
        it(`after ${what}`, () => {
          begin();
          const packets = [payloads, DELTA, KEY, DELTA].flatMap((each) => video.sender.picture(each));
          packets.splice(missing, 1);
          assert.equal(rowOf([...videoOf(video.receiver, packets), ...video.end()]), 'k.');
          assert.equal(video.receiver.lost, 1);
        });

      for (const bytes of codec.damaged)
        it(`after what is cut, or lies: ${bytes.join()}`, () => {
          begin();
          assert.equal(rowOf(video.of([Buffer.from(bytes)], DELTA, KEY, DELTA)), 'k.');
          assert.equal(video.receiver.fault, undefined);
        });

      for (const [what, behind] of [
        ['the picture', []],
        ['another slice', [restOfPredicted]],
        ['other pieces', pieces(predicted(90), 40)],
      ] as const)
        it(`after pieces that never end, with ${what} behind them`, () => {
          begin();
          // So that it is known that ends are told.
          const whole = pieces(predicted(90), 40);
          assert.equal(rowOf(video.of(whole)), '.');
          assert.equal(rowOf(video.of([...whole.slice(0, 1), ...behind], DELTA, KEY, DELTA)), 'k.');
        });
    });
  });
