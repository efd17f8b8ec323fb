import assert from 'node:assert/strict';
import type { QuarantinedMessage } from '../../lib/inbox/inbox';
import { PatientReading } from '../../lib/inbox/patient-reading';
import { InboxQuarantine } from '../../lib/inbox/quarantine';
import type { AnyStore } from '../../lib/inbox/store/port';
import { eventually } from '../support/time/patience';

describe('the quarantine of a store that hangs', () => {
  it('takes no more than it keeps, until the store has answered', async () => {
    const answers: (() => void)[] = [];
    const store: AnyStore = {
      call: () => new Promise<never>((_resolve, reject) => answers.push(() => reject(new Error('late')))),
      close: async () => undefined,
    };
    const state = () => ({ durable: true });
    const reading = new PatientReading(store, { state, hasMore: () => false, patience: 50 });
    const quarantine = new InboxQuarantine(store, reading, state);
    const message: QuarantinedMessage = {
      endpointId: 'e',
      receivedTime: '2026-03-04T05:06:07.089Z',
      authorization: [],
      body: new Uint8Array(1024 * 1024),
    };
    for (let sent = 0; sent < 20; sent += 1) quarantine.add(message);
    assert.equal(answers.length, 16);
    for (const answer of answers.splice(0)) answer();
    await eventually(() => {
      quarantine.add(message);
      return answers.length > 0;
    }, 'the next to be taken');
  });
});
