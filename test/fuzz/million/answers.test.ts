import { answerTargets } from '../../../scripts/fuzz/every-target';
import { testShares } from './share';

describe('what reads answers of the service', () => {
  testShares(answerTargets);
});
