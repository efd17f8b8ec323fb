import { proofTargets } from '../../../scripts/fuzz/every-target';
import { testShares } from './share';

describe('what decides whether a message is genuine', () => {
  testShares(proofTargets);
});
