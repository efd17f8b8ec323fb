import assert from 'node:assert/strict';
import { pictureWidthIn } from '../../../lib/video/picture/wanted-picture';

describe('the width of a picture', () => {
  it('is a whole number of pixels, also as text', () => {
    for (const value of [16, 640, 4096, '16', ' 640 ', '4096'])
      assert.equal(pictureWidthIn(value), Number(value));
  });

  it('is that of the video where there is none', () => {
    for (const nothing of ['', ' ', undefined, null]) assert.equal(pictureWidthIn(nothing), undefined);
  });

  it('is refused where it is nothing that a picture can have, 0 too', () => {
    const message = /a whole number from 16 to 4096, or empty/;
    const numbers = [0, 15, 4097, -640, 640.5, Number.NaN, Infinity];
    for (const value of [...numbers, '0', '640px', '1e3', true, [640], {}])
      assert.throws(() => pictureWidthIn(value), { code: 'BAD_INPUT', message });
  });
});
