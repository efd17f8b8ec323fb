import assert from 'node:assert/strict';
import { wordsToText, type Words } from '../../nodes/support/status-words';

/** Texts of a language of which all is to be seen. */
const say = (key: string, values: Record<string, string | number>): string =>
  `${key}(${Object.values(values).join(', ')})`;
const clock = (time: Date): string => `${time.getUTCHours()} o'clock`;
const textOf = (words: Words): string => wordsToText(words, say, clock);

describe('the words of a status become a text', () => {
  it('which has their values', () =>
    assert.equal(textOf({ key: 'shared', values: { count: 2, name: 'north' } }), 'shared(2, north)'));

  it('which needs none', () => assert.equal(textOf({ key: 'armed' }), 'armed()'));

  it('which tells a moment by the clock of whoever reads it', () => {
    const time = { moment: Date.UTC(2026, 2, 4, 5) };
    assert.equal(textOf({ key: 'last', values: { time } }), "last(5 o'clock)");
  });

  it('of which a part may be words in their turn, with that clock, too', () => {
    const first = { key: 'offline', values: { time: { moment: Date.UTC(2026, 2, 4, 6) } } };
    const second = { key: 'armed' };
    assert.equal(textOf({ key: 'joint', values: { first, second } }), "joint(offline(6 o'clock), armed())");
  });
});
