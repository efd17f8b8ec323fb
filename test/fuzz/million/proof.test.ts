import { proofTargets } from '../../../fuzz/every-target';
import { testShares } from './share';

describe('what decides whether a message is genuine', () => {
  testShares(proofTargets);
});
