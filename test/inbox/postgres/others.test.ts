import assert from 'node:assert/strict';
import { Others, type OtherInstance } from '../../../lib/inbox/postgres/instance/others';

const TTL = 10_000;
const GAP = 5000;
const BEAT = 2500;

function row(changes: Partial<OtherInstance> = {}): OtherInstance {
  return { epoch: 'b', name: 'other', beats: '7', ttl: TTL, sinceBeat: 60_000, ...changes };
}

/** Looks every 2.5 s from a time to another, in milliseconds; the names of those that are dead at the last look. */
function looks(others: Others, from: number, to: number, rows: (at: number) => OtherInstance[]): string[] {
  let dead: OtherInstance[] = [];
  for (let at = from; at <= to; at += BEAT) dead = others.look(rows(at), at, at);
  return dead.map(({ name }) => name);
}

describe('another instance', () => {
  it('is dead once it has not beaten for its time to live while this one did', () => {
    const others = new Others(GAP);
    assert.deepEqual(
      looks(others, 0, 7500, () => [row()]),
      [],
    );
    assert.deepEqual(
      looks(others, 10_000, 10_000, () => [row()]),
      ['other'],
    );
  });

  it('lives as long as it beats', () => {
    const beats = (at: number): OtherInstance[] => [row({ beats: String(Math.floor(at / 9000)) })];
    assert.deepEqual(looks(new Others(GAP), 0, 100_000, beats), []);
  });

  it('is not dead after a gap in which this one had no answer itself', () => {
    const others = new Others(GAP);
    looks(others, 0, 7500, () => [row()]);
    assert.deepEqual(
      looks(others, 60_000, 67_500, () => [row()]),
      [],
    );
    assert.deepEqual(
      looks(others, 70_000, 70_000, () => [row()]),
      ['other'],
    );
  });

  it('is not dead while its last beat is young by the clock of the database', () => {
    assert.deepEqual(
      looks(new Others(GAP), 0, 30_000, () => [row({ sinceBeat: 9000 })]),
      [],
    );
  });

  it('is not dead for its beat being old by the clock of the database alone, which may have been set', () => {
    assert.deepEqual(
      looks(new Others(GAP), 0, 7500, () => [row({ sinceBeat: 3_600_000 })]),
      [],
    );
  });

  it('is dead as well where its last beat is of the future, for the clock of the database was set back', () => {
    assert.deepEqual(
      looks(new Others(GAP), 0, 10_000, () => [row({ sinceBeat: -3_600_000 })]),
      ['other'],
    );
  });

  it('is known anew when it was gone meanwhile', () => {
    const others = new Others(GAP);
    looks(others, 0, 5000, () => [row()]);
    others.look([], 7500, 7500);
    assert.deepEqual(
      looks(others, 10_000, 17_500, () => [row()]),
      [],
    );
  });

  it('is seen from the answer on that showed it first, until the question of the last', () => {
    const others = new Others(GAP);
    others.look([row()], 0, 2000);
    for (const asked of [4000, 8000]) others.look([row()], asked, asked + 2000);
    assert.equal(others.look([row()], 11_900, 20_000).length, 0);
    assert.equal(others.look([row()], 21_000, 21_000).length, 1);
  });
});
