import assert from 'node:assert/strict';
import { wantedAt } from '../../../lib/video/picture/wanted-picture';
import { madeFrames } from '../../support/video/made-stream';

/** What a decoder is given, by time, and how many of it are shown before the wanted one. */
function wanted(times: string, time: number): string {
  const found = wantedAt(madeFrames(times), time);
  return found === undefined
    ? 'nothing'
    : `${found.frames.map((frame) => frame.time).join(' ')}: ${found.before}`;
}

describe('the frames for the picture of a time', () => {
  it('end with the one that is shown at it', () => {
    assert.equal(wanted('0K 1 2 3 4', 2), '0 1 2: 2');
  });

  it('end with the last one shown before it where none is shown at it', () => {
    assert.equal(wanted('0K 1 2 3 4', 2.9), '0 1 2: 2');
    assert.equal(wanted('0K 1 2 3 4', 99), '0 1 2 3 4: 4');
  });

  it('end with the one that is shown at it but for rounding', () => {
    assert.equal(wanted('0K 1 2.001 3', 2), '0 1 2.001: 2');
    assert.equal(wanted('0K 1 2.01 3', 2), '0 1: 1');
  });

  it('are the first alone where all are later', () => {
    assert.equal(wanted('5K 6 7', 2), '5: 0');
  });

  it('begin with the last key frame that is shown at or before it', () => {
    assert.equal(wanted('0K 1 2K 3 4K 5', 3), '2 3: 1');
    assert.equal(wanted('0K 1 2K 3 4K 5', 4), '4: 0');
  });

  it('are counted in the order in which they are shown, not decoded', () => {
    assert.equal(wanted('0K 4 2 1 3 8 6', 1), '0 4 2 1: 1');
    assert.equal(wanted('0K 4 2 1 3 8 6', 3), '0 4 2 1 3: 3');
    assert.equal(wanted('0K 4 2 1 3 8 6', 4), '0 4: 1');
  });

  it('reach over a key frame that is shown later and decoded before', () => {
    assert.equal(wanted('0K 4K 2 3 5', 3), '0 4 2 3: 2');
  });

  it('leave out what is shown before the key frame that they begin with', () => {
    assert.equal(wanted('0K 4K 2 3 5', 5), '4 5: 1');
  });

  it('are none shown before the first key frame, for they cannot be decoded', () => {
    assert.equal(wanted('4K 2 3 5', 3), '4: 0');
    assert.equal(wanted('4K 2 3 5', 5), '4 5: 1');
  });

  it('are none decoded before the first key frame', () => {
    assert.equal(wanted('0 1 2K 3', 1), '2: 0');
  });

  it('end with the last one decoded of those that are shown at the same time', () => {
    assert.equal(wanted('0K 1 1 2', 1), '0 1 1: 2');
  });

  it('are none where there is no key frame', () => {
    assert.equal(wanted('0 1 2', 1), 'nothing');
    assert.equal(wantedAt([], 1), undefined);
  });
});
