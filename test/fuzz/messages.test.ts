import { messageTargets } from '../../fuzz/every-target';
import { slowIt } from '../support/suite/lanes';
import { assertNothingFound } from './assert-nothing-found';

describe('what comes to the webhook', () => {
  slowIt('is judged, read and handed on as the specification says, in 450,000 forms', async function () {
    this.timeout(600_000);
    await assertNothingFound(messageTargets(), 1_000_000);
  });
});
