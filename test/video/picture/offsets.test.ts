import assert from 'node:assert/strict';
import { offsetsIn } from '../../../lib/video/picture/wanted-picture';

const refused = (value: unknown, message: RegExp): void =>
  assert.throws(() => offsetsIn(value), { name: 'RvmError', code: 'BAD_INPUT', message });

describe('offsets', () => {
  it('are numbers of seconds, in the order in which they are written', () => {
    assert.deepEqual(offsetsIn('0'), [0]);
    assert.deepEqual(offsetsIn('-3, 0, 3'), [-3, 0, 3]);
    assert.deepEqual(offsetsIn(' 3600 ,-3600,+1.5, .25, -0'), [3600, -3600, 1.5, 0.25, 0]);
  });

  it('may be one number that is no text', () => {
    assert.deepEqual(offsetsIn(-2.5), [-2.5]);
  });

  it('are nine at most', () => {
    assert.deepEqual(offsetsIn('1,2,3,4,5,6,7,8,9').length, 9);
    refused('1,2,3,4,5,6,7,8,9,10', /more than 9 offsets: leave some out/);
    refused(','.repeat(1_000_000), /more than 9/);
  });

  it('that are missing are said so', () => {
    for (const nothing of ['', '  ']) refused(nothing, /no offset: write one such as 0/);
    for (const nothing of [undefined, null, [0], {}]) refused(nothing, /no text: write one such as 0/);
  });

  it('that are no numbers are refused, with an example', () => {
    for (const text of ['now', '1,', ',1', '1;2', '1 2', '1e3', '0x10', 'Infinity', '--1', '1.', '٣'])
      refused(text, /must be a number of seconds, separated by commas: write one such as 0/);
    refused(Number.NaN, /must be a number/);
  });

  it('are an hour at most', () => {
    for (const text of ['3600.1', '-3601', '9'.repeat(400)]) refused(text, /from -3600 to 3600 seconds/);
  });
});
