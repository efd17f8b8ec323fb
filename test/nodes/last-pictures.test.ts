import assert from 'node:assert/strict';
import { keepPicture, lastPictureOf, pictureKindOf, pictureOf } from '../../nodes/support/recent-video';

describe('the last pictures', () => {
  const [recorded, live] = [Buffer.from('recorded'), Buffer.from('live')];

  it('of a camera are replaced by a live one where neither is of an event', () => {
    const of = { station: 'north', camera: 'camera without an event' };
    keepPicture('', recorded, 'alarm', of);
    keepPicture('', live, 'live', of);
    assert.equal(lastPictureOf(of), live);
  });

  it('of an event show the alarm, also where a live one was taken later', () => {
    const of = { station: 'north', camera: 'camera of an event' };
    keepPicture('delivery', recorded, 'alarm', of);
    keepPicture('delivery', live, 'live', of);
    assert.deepEqual([pictureOf('delivery'), pictureKindOf('delivery')], [recorded, 'alarm']);
  });
});
