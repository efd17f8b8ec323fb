import { proofTargets } from '../../../scripts/fuzz/every-target';
import { testShares } from '../assert-nothing-found';

describe('what decides whether a message is genuine', () => testShares(proofTargets));
