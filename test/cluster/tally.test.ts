import assert from 'node:assert/strict';
import { type HandOver, type Records, tallyOf } from '../support/cluster/records';

const IDS = ['a', 'b'];

function handOver(messageId: string, at: number, more: Partial<HandOver> = {}): HandOver {
  return { instance: 'one', messageId, deliveryId: `of ${messageId}`, attempt: 1, at, ...more };
}

/** An alarm of two events, `a` and `b`, each acknowledged, handed over and confirmed once. */
const sent = IDS.map((messageId, place) => ({
  messageId,
  alarmId: 'alarm',
  place,
  tries: 1,
  acknowledgedAt: 0,
}));
const handOvers = [handOver('a', 1), handOver('b', 3)];
const confirmations = IDS.map((messageId, index) => ({ instance: 'one', messageId, at: 2 * index + 2 }));
const CALM: Records = { sent, handOvers, confirmations };
const NO_FAULTS = { refused: 0, lost: 0, doubled: 0, again: 0, unmarked: 0, outOfOrder: 0 };
const again = { attempt: 2, again: 'restart' as const };

describe('the tally of a cluster', () => {
  const CASES: [title: string, records: Partial<Records>, counts: Partial<ReturnType<typeof tallyOf>>][] = [
    ['is all zero where each event came once, the later one after the earlier one was confirmed', {}, {}],
    [
      'counts as lost what was acknowledged and never confirmed',
      { confirmations: confirmations.slice(0, 1) },
      { lost: 1 },
    ],
    [
      'counts no event as lost that was never acknowledged',
      {
        confirmations: confirmations.slice(0, 1),
        sent: sent.map(({ acknowledgedAt, ...each }, place) =>
          place === 0 ? { ...each, acknowledgedAt } : each,
        ),
      },
      { acknowledged: 1 },
    ],
    [
      'counts as doubled what was confirmed twice',
      { confirmations: [...confirmations, { instance: 'one', messageId: 'b', at: 9 }] },
      { doubled: 1 },
    ],
    ['counts a second hand-over', { handOvers: [...handOvers, handOver('b', 5, again)] }, { again: 1 }],
    [
      'counts it as unmarked where it does not say why it comes',
      { handOvers: [...handOvers, handOver('b', 5, { attempt: 2 })] },
      { again: 1, unmarked: 1 },
    ],
    [
      'counts it as unmarked where it does not say that it is one',
      { handOvers: [...handOvers, handOver('b', 5)] },
      { again: 1, unmarked: 1 },
    ],
    [
      'counts as out of order an event that came before the one before it was confirmed',
      { handOvers: [handOver('a', 1), handOver('b', 1.5)] },
      { outOfOrder: 1 },
    ],
    [
      'counts as out of order an event that came again behind a later one of its alarm',
      { handOvers: [...handOvers, handOver('a', 5, again)] },
      { again: 1, outOfOrder: 1 },
    ],
  ];
  for (const [title, records, counts] of CASES)
    it(title, () => {
      assert.deepEqual(tallyOf({ ...CALM, ...records }), {
        sent: 2,
        acknowledged: 2,
        ...NO_FAULTS,
        ...counts,
      });
    });
});
