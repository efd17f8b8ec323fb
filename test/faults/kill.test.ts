import assert from 'node:assert/strict';
import { inject } from '../support/node-red/node-red';
import { POINT_NAMES, POINTS, Victim } from '../support/inbox/victim';
import { nightlyIt } from '../support/suite/lanes';

/** Alarms raised for one kill at most. */
const MOST = 60;

for (const handledWhen of ['sent', 'settled'] as const) {
  describe(`Node-RED killed by kill -9, with handledWhen '${handledWhen}'`, () => {
    let victim: Victim;

    before(async () => {
      victim = new Victim(handledWhen);
      await victim.start();
    });
    after(() => victim.end());

    beforeEach(async () => {
      if (!victim.nodeRed.isRunning) await victim.startAgain();
    });

    for (const point of POINT_NAMES) {
      // Each takes a start of Node-RED.
      const test = point === 'committed' ? it : nightlyIt;
      test(`C-126 ${point}: delivers every event where the kill comes when ${POINTS[point]}`, async () => {
        const before = victim.sandbox.raised.length;
        victim.arm(point, 2);
        while (victim.nodeRed.isRunning && victim.sandbox.raised.length < before + MOST)
          await victim.sandbox.raise();
        await victim.nodeRed.ended();
        assert.equal(victim.isArmed, false, 'it ended for another reason');
        await victim.startAgain();
        await victim.checkAll();
      });
    }

    nightlyIt(
      'C-134 delivers every event where an uncaught exception of another node ends Node-RED',
      async () => {
        for (let count = 0; count < 10; count += 1) await victim.sandbox.raise();
        await inject(victim.nodeRed, 'throw', {});
        for (let count = 0; count < 10; count += 1) await victim.sandbox.raise();
        await victim.nodeRed.ended();
        assert.match(victim.nodeRed.log, /Uncaught Exception/);
        await victim.startAgain();
        await victim.checkAll();
      },
    );

    it('C-126 ends with nothing open, each event in the store once', () => victim.checkStore());
  });
}
