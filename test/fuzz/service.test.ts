import { serviceTargets } from '../../fuzz/every-target';
import { slowIt } from '../support/suite/lanes';
import { assertNothingFound } from './assert-nothing-found';

describe('what the service, its relays and players send', () => {
  slowIt('is read without an exception, a secret or a wrong answer, in 550,000 forms', async function () {
    this.timeout(600_000);
    await assertNothingFound(serviceTargets(), 1_000_000);
  });
});
