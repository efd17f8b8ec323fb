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

  for (const [what, broken] of Object.entries({
    'any byte': bytes(),
    'more than its beginning': bytes(START),
    'more than its beginning and end': bytes(START, END),
    'its beginning': bytes(SIZE, SCAN, END),
    'its end': bytes(START, SIZE, SCAN),
    'a frame header before what is scanned': bytes(START, COMMENT, SCAN, SIZE, END),
    'a height': bytes(START, SIZE.replace('00b4', '0000'), SCAN, END),
    'a width': bytes(START, SIZE.replace('0140', '0000'), SCAN, END),
    'a length of a segment': bytes(START, 'fffe0000', SIZE, END),
    'a length that counts itself': bytes(START, 'fffe0001', SIZE, END),
    'an end of a segment': bytes(START, 'fffeffff', SIZE, END),
    'the mark of a segment': bytes(START, '00000010', SIZE, END),
    'all of its frame header': bytes(START, 'ffc00011', END),
    'anything but marks': Buffer.concat([bytes(START), Buffer.alloc(1_000_000, 0xff), bytes(END)]),
  }))
    it(`is none without ${what}`, () => assert.equal(jpegIn(broken), undefined));
});
