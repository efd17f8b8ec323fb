import assert from 'node:assert/strict';
import { deliveryOf, newMessage } from '../../lib/inbox/store/stored-message';
import type { LeasedMessage } from '../../lib/inbox/store/port';
import { proven } from './samples';

/** An event as a store gives it. */
function leased(changes: Partial<LeasedMessage>): LeasedMessage {
  return {
    ...newMessage(proven()),
    sequence: 1,
    deliveryId: 'delivery',
    attempt: 1,
    first: true,
    ended: false,
    state: 'leased',
    again: undefined,
    warnings: ['may-repeat'],
    ...changes,
  };
}

describe('an event that a damaged disk has changed', () => {
  it('is delivered where it can be read, whatever else has changed', () => {
    const facts = JSON.stringify({ kind: 'event', proof: 'hmac' });
    const delivery = deliveryOf(leased({ facts, received: 1e20 }));
    assert.deepEqual(delivery?.message.warnings, ['may-repeat']);
    assert.equal(delivery.message.receivedTime, '1970-01-01T00:00:00.000Z');
  });

  for (const facts of ['{"kind":', 'null', '7', '[]'])
    it(`is none any more where what stands beside its body is ${facts}`, () =>
      assert.equal(deliveryOf(leased({ facts })), undefined));
});
