import { answerTargets } from '../../../scripts/fuzz/every-target';
import { testShares } from '../assert-nothing-found';

describe('what reads answers of the service', () => testShares(answerTargets));
