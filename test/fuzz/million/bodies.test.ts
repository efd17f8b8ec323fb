import { bodyTargets } from '../../../scripts/fuzz/every-target';
import { testShares } from './share';

describe('what reads the bodies of messages', () => {
  testShares(bodyTargets);
});
