import assert from 'node:assert/strict';
import { alarmStateFlow, eventMessage } from '../support/alarms/alarm-flow';
import { inject, NodeRed } from '../support/node-red/node-red';
import { inboxesOpen } from '../support/node-red/inboxes-open';
import { sharedInbox } from '../support/node-red/flows';
import { SharedServer } from '../support/postgres/shared-server';
import { needs } from '../support/suite/programs';

describe('an alarm state of two Node-RED on one inbox in PostgreSQL', () => {
  let server: SharedServer;
  let first: NodeRed;
  let second: NodeRed;
  before(async function () {
    needs(this, 'postgres');
    server = await SharedServer.use();
    const connection = await server.database('alarms');
    [first, second] = await Promise.all([NodeRed.start(), NodeRed.start()]);
    for (const nodeRed of [first, second]) {
      await nodeRed.deploy(alarmStateFlow({ inbox: 'inbox', hold: 4 }, sharedInbox(connection)));
      await inboxesOpen(nodeRed);
    }
  });
  after(async () => {
    await first?.stopAndRemove();
    await second?.stopAndRemove();
    await server?.remove();
  });

  const sent = (group: string): unknown[] =>
    [...first.at('state'), ...second.at('state')].flatMap(({ topic, payload }) =>
      topic === group ? [payload] : [],
    );
  const at = (group: string) => eventMessage({ event: { locationName: group } });
  const released = async (group: string): Promise<void> => {
    const isReleased = () => sent(group).includes(false);
    await Promise.race(
      [first, second]
        .filter(({ isRunning }) => isRunning)
        .map((each) => each.until(isReleased, 'the release')),
    );
  };

  it('is extended at one where the other has raised it, and released once', async () => {
    const raising = at('Depot');
    await inject(first, 'in', raising);
    await first.message('state');
    await inject(second, 'in', at('Depot'));
    await second.message('extended');
    assert.deepEqual(sent('Depot'), [true]);
    await released('Depot');
    assert.deepEqual(sent('Depot').length, 2);
    const last = [...first.at('state'), ...second.at('state')].find(({ payload }) => payload === false);
    assert.deepEqual(last?.webhook, raising['webhook']);
  });

  it('is disarmed at one for both', async () => {
    await inject(second, 'in', { topic: 'disarm', group: 'Yard' });
    const outputs = (): number =>
      ['held', 'state', 'extended'].reduce((sum, probe) => sum + first.at(probe).length, 0);
    while (first.at('held').length === 0) {
      const before = outputs();
      await inject(first, 'in', at('Yard'));
      await first.until(() => outputs() > before, 'an output');
    }
    assert.equal(first.at('held')[0]?.reason, 'disarmed');
  });

  it('is released by the other one where the one that has raised it is killed', async () => {
    await inject(first, 'in', at('Quay'));
    await first.message('state', ({ topic }) => topic === 'Quay');
    await first.stop('SIGKILL');
    await released('Quay');
    assert.deepEqual(sent('Quay'), [true, false]);
    assert.equal(second.at('state').at(-1)?.topic, 'Quay');
  });
});
