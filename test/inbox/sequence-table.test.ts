import assert from 'node:assert/strict';
import * as fc from 'fast-check';
import { SequenceTable } from '../../lib/inbox/sqlite/known-ids';

const HALF = 2 ** 32;

/** Few keys, most of them with one home, and at the end of the table. */
const key = fc.constantFrom(
  HALF,
  2 * HALF,
  HALF + 7,
  0xffff * HALF,
  HALF + 0xffff_ffff,
  0xffff * HALF + 0xffff_ffff,
  HALF + 0xffff_fffe,
);
const sequence = fc.constantFrom(1, 2, 3, HALF - 1, HALF, HALF + 1, 2 ** 48 - 1);
const deed = fc.record({ do: fc.constantFrom('add', 'remove', 'replace'), key, sequence, by: sequence });

describe('the table of sequences by key', () => {
  it('has what was put into it, and nothing that was taken out', () => {
    fc.assert(
      fc.property(fc.array(deed, { maxLength: 80 }), (deeds) => {
        const table = new SequenceTable();
        const model = new Map<number, Set<number>>();
        for (const { do: what, key: word, sequence: number, by } of deeds) {
          const there = model.get(word) ?? new Set();
          model.set(word, there);
          if (what === 'add' && !there.has(number)) {
            table.add(word, number);
            there.add(number);
          }
          if (what === 'remove') assert.equal(table.remove(word, number), there.delete(number));
          if (what === 'replace' && !there.has(by)) {
            table.replace(word, number, by);
            if (there.delete(number)) there.add(by);
          }
        }
        for (const [word, there] of model)
          assert.deepEqual(
            table.of(word).toSorted((one, other) => one - other),
            [...there].toSorted((one, other) => one - other),
          );
      }),
    );
  });

  it('grows with what is in it, and takes 16 to 24 bytes each', () => {
    const table = new SequenceTable();
    const count = 100_000;
    const keyAt = (index: number): number => HALF + Math.imul(index, 0x9e3779b1) + HALF / 2;
    for (let index = 1; index <= count; index += 1) {
      table.add(keyAt(index), index);
      if (index > 2000) assert.ok(table.bytes <= 24.1 * index, `${table.bytes} bytes for ${index}`);
    }
    for (let index = 1; index <= count; index += 1) assert.deepEqual(table.of(keyAt(index)), [index]);
    for (let index = 1; index <= count; index += 2) assert.ok(table.remove(keyAt(index), index));
    assert.equal(table.size, count / 2);
    for (let index = 1; index <= count; index += 1)
      assert.deepEqual(table.of(keyAt(index)), index % 2 === 0 ? [index] : []);
  });

  it('makes room at once for as many as are told of', () => {
    const table = new SequenceTable();
    table.reserve(10_000);
    const { bytes } = table;
    for (let index = 1; index <= 10_000; index += 1) table.add(HALF + index, index);
    assert.equal(table.bytes, bytes);
  });
});
