import assert from 'node:assert/strict';
import { isMet, type Row } from '../../bench/measurement';
import { tableOf } from '../../bench/report';
import { resultsIn, textOf, withRows, type Circumstances } from '../../bench/results';
import { percentile, sideBySide, spreadOf } from '../../bench/side-by-side';

function row(changes: Partial<Row> = {}): Row {
  return {
    id: 'B0',
    measured: 'something',
    against: 'something else',
    figure: { median: 1.1, low: 0.9, high: 1.3 },
    unit: 'x',
    target: { atMost: 1.2 },
    seen: { ours: 11 },
    ...changes,
  };
}

describe('the figures of the benchmark', () => {
  it('compare each round of ours with that of the other side', async () => {
    // Of the round that counts for nothing, and of three others: the machine is slow in the last one.
    const ours = [1000, 10, 12, 33];
    const other = [1, 10, 10, 30];
    const { ratio, difference } = await sideBySide(3, {
      ours: async () => ours.shift() ?? NaN,
      other: async () => other.shift() ?? NaN,
    });
    assert.deepEqual(ratio, { median: 1.1, low: 1, high: 1.2 });
    assert.deepEqual(difference, { median: 2, low: 0, high: 3 });
  });

  it('come from sides that take turns, each first in every other round', async () => {
    const turns: string[] = [];
    const side = (name: string) => async (): Promise<number> => turns.push(name);
    await sideBySide(3, { ours: side('ours'), other: side('other') });
    assert.equal(turns.join(' '), 'ours other other ours ours other other ours');
  });

  it('have the one in the middle as their median, and of an even number the mean of two', () => {
    assert.deepEqual(spreadOf([3, 1, 2]), { median: 2, low: 1, high: 3 });
    assert.equal(spreadOf([4, 1, 2, 3]).median, 2.5);
  });

  it('have a 99th percentile that one slow answer of a hundred is not below', () => {
    const times = Array.from({ length: 100 }, (_, index) => index + 1);
    assert.equal(percentile(times, 0.99), 100);
    assert.equal(percentile([...times, ...times], 0.99), 100);
    assert.equal(percentile([7], 0.99), 7);
  });

  it('are met or missed by their median', () => {
    const missed = [{ figure: { median: 1.21, low: 1, high: 2 } }, { target: { atLeast: 1.5 } }];
    assert.deepEqual(
      [{}, ...missed].map((changes) => isMet(row(changes))),
      [true, false, false],
    );
  });

  it('stand in a table that says which targets are missed', () => {
    const lines = tableOf([row(), row({ id: 'B01', target: { atMost: 1 } })]).split('\n');
    assert.equal(lines.length, 4);
    assert.match(lines[2] ?? '', /^B0 .*1\.10 \(0\.90 to 1\.30\) x +at most 1\.2 x +met$/);
    assert.match(lines[3] ?? '', /^B01 .* MISSED$/);
  });

  const PLACE = { node: '24', nodeRed: '5', platform: 'linux', cores: 2 };
  const OF_TODAY: Circumstances = { ...PLACE, date: '2026-11-26' };
  const BEFORE: Circumstances = { ...PLACE, date: '2026-11-22' };
  const order = ['B1', 'B0', 'B2'];

  it('are written with what they were measured on, in four digits', () => {
    const seen = { ours: 1234.5678 };
    const [written] = resultsIn(textOf(withRows([], [row({ seen })], { on: OF_TODAY, order })));
    assert.deepEqual(written, { ...row({ seen: { ours: 1235 } }), met: true, on: OF_TODAY });
  });

  it('take the place of those that had their id, in the order of the table, and leave the others alone', () => {
    const rows = [row(), row(), row({ id: 'B2' }), row({ id: 'gone' })];
    const former = withRows([], rows, { on: BEFORE, order });
    const all = withRows(former, [row(), row({ id: 'B1' })], { on: OF_TODAY, order });
    assert.deepEqual(
      all.map(({ id, on }) => `${id} ${on.date}`),
      ['B1 2026-11-26', 'B0 2026-11-26', 'B2 2026-11-22'],
    );
  });
});
