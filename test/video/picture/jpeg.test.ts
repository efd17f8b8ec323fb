import assert from 'node:assert/strict';
import { jpegIn } from '../../../lib/video/picture/ffmpeg-arguments';

const COMMENT = 'fffe000568656c';
const SIZE = 'ffc0000b0800b401400101110000';
const SCAN = 'ffda0008010100003f00aabbcc';
const START = 'ffd8';
const END = 'ffd9';
const bytes = (...parts: string[]): Buffer => Buffer.from(parts.join(''), 'hex');

describe('a JPEG', () => {
  it('tells its size in its frame header, wherever that stands', () => {
    const plain = bytes(START, SIZE, SCAN, END);
    assert.deepEqual(jpegIn(plain), { jpeg: plain, width: 320, height: 180 });
    assert.equal(jpegIn(bytes(START, COMMENT, 'ffc40003aa', COMMENT, SIZE, SCAN, END))?.width, 320);
    assert.equal(jpegIn(bytes(START, SIZE.replace('ffc0', 'ffc2'), SCAN, END))?.height, 180);
  });

  it('is none without its beginning, its end, its frame header or a size', () => {
    const broken = [
      bytes(),
      bytes(START),
      bytes(START, END),
      bytes(SIZE, SCAN, END),
      bytes(START, SIZE, SCAN),
      bytes(START, COMMENT, SCAN, SIZE, END),
      bytes(START, SIZE.replace('00b4', '0000'), SCAN, END),
      bytes(START, SIZE.replace('0140', '0000'), SCAN, END),
    ];
    for (const each of broken) assert.equal(jpegIn(each), undefined, each.toString('hex'));
  });

  it('is none where its segments lead nowhere', () => {
    const broken = [
      bytes(START, 'fffe0000', SIZE, END),
      bytes(START, 'fffe0001', SIZE, END),
      bytes(START, 'fffeffff', SIZE, END),
      bytes(START, '00000010', SIZE, END),
      bytes(START, 'ffc00011', END),
      Buffer.concat([bytes(START), Buffer.alloc(1_000_000, 0xff), bytes(END)]),
    ];
    for (const each of broken) assert.equal(jpegIn(each), undefined, each.toString('hex', 0, 40));
  });
});
