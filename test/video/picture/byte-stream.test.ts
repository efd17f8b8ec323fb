import assert from 'node:assert/strict';
import { byteStream } from '../../../lib/video/picture/decoder';
import { madeFrames } from '../../support/video/made-stream';

const text = (frames: Parameters<typeof byteStream>[0]): string[] =>
  [...byteStream(frames)].map((bytes) => bytes.toString('hex').replaceAll('00000001', '|'));

describe('the byte stream of frames', () => {
  it('has the parameter sets in front, and start codes before all', () => {
    assert.deepEqual(text(madeFrames('3K 4')), ['|6701|6802|0103', '|0104']);
  });

  it('has parameter sets again where they change', () => {
    const [first] = madeFrames('5K');
    assert.ok(first);
    const other = madeFrames('6K 7', { ...first.format, parameterSets: [Buffer.from([0x67, 9])] });
    assert.deepEqual(text([first, ...other]), ['|6701|6802|0105', '|6709|0106', '|0107']);
  });
});
