import assert from 'node:assert/strict';
import { type Sent, type HandOver, tallyOf, type Records } from '../support/cluster/records';

/** An alarm of two events, `a` and `b`, each acknowledged, handed over and confirmed once. */
function calm(): Records {
  return {
    sent: [sent('a', 0), sent('b', 1)],
    handOvers: [handOver('a', 1), handOver('b', 3)],
    confirmations: [confirmed('a', 2), confirmed('b', 4)],
  };
}

function sent(messageId: string, place: number): Sent {
  return { messageId, alarmId: 'alarm', place, tries: 1, acknowledgedAt: 0 };
}

function handOver(messageId: string, at: number, more: Partial<HandOver> = {}): HandOver {
  return { instance: 'one', messageId, deliveryId: `of ${messageId}`, attempt: 1, at, ...more };
}

function confirmed(messageId: string, at: number): Records['confirmations'][number] {
  return { instance: 'one', messageId, at };
}

describe('the tally of a cluster', () => {
  it('is all zero where each event came once, the later one after the earlier one was confirmed', () => {
    const { sent, acknowledged, ...faults } = tallyOf(calm());
    assert.deepEqual([sent, acknowledged], [2, 2]);
    assert.deepEqual(faults, { refused: 0, lost: 0, doubled: 0, again: 0, unmarked: 0, outOfOrder: 0 });
  });

  it('counts as lost what was acknowledged and never confirmed', () => {
    const records = calm();
    assert.equal(tallyOf({ ...records, confirmations: records.confirmations.slice(0, 1) }).lost, 1);
  });

  it('counts no event as lost that was never acknowledged', () => {
    const { confirmations, handOvers, sent: all } = calm();
    const late = all.map((each, place) => (place === 1 ? { ...each, acknowledgedAt: undefined } : each));
    const { lost, acknowledged } = tallyOf({
      confirmations: confirmations.slice(0, 1),
      handOvers,
      sent: late,
    });
    assert.deepEqual([lost, acknowledged], [0, 1]);
  });

  it('counts as doubled what was confirmed twice', () => {
    const records = calm();
    assert.equal(
      tallyOf({ ...records, confirmations: [...records.confirmations, confirmed('b', 9)] }).doubled,
      1,
    );
  });

  it('counts a second hand-over as unmarked where it does not say that it is one', () => {
    const records = calm();
    const again = (more: Partial<HandOver>): number =>
      tallyOf({ ...records, handOvers: [...records.handOvers, handOver('b', 5, more)] }).unmarked;
    assert.equal(again({ attempt: 2, again: 'restart' }), 0);
    assert.equal(again({ attempt: 2 }), 1);
    assert.equal(again({}), 1);
  });

  it('counts as out of order an event that came before the one before it was confirmed', () => {
    const records = calm();
    assert.equal(tallyOf({ ...records, handOvers: [handOver('a', 1), handOver('b', 1.5)] }).outOfOrder, 1);
  });

  it('counts as out of order an event that came again behind a later one of its alarm', () => {
    const records = calm();
    const late = handOver('a', 5, { attempt: 2, again: 'restart' });
    assert.equal(tallyOf({ ...records, handOvers: [...records.handOvers, late] }).outOfOrder, 1);
  });
});
