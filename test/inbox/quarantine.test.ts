import assert from 'node:assert/strict';
import { fail } from '../support/inbox/each-store';
import { SpillStand } from '../support/inbox/hooked-inbox';
import { eventually, Gate } from '../support/time/patience';

describe('the quarantine of a store that hangs', () => {
  const stand = new SpillStand();

  it('takes no more than it keeps, until the store has answered', async () => {
    const gate = new Gate();
    let asked = 0;
    const inbox = await stand.works({
      hook: async (name, act) => {
        if (name !== 'quarantine') return act();
        asked += 1;
        await gate.opened;
        return fail();
      },
    });
    const add = (): void =>
      inbox.quarantine({
        endpointId: 'e',
        receivedTime: '2026-03-04T05:06:07.089Z',
        authorization: [],
        body: new Uint8Array(1024 * 1024),
      });
    for (let sent = 0; sent < 20; sent += 1) add();
    assert.equal(asked, 16);
    gate.open();
    await eventually(() => {
      add();
      return asked > 16;
    }, 'the next to be taken');
  });
});
