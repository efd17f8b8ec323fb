import { bodyTargets } from '../../../scripts/fuzz/every-target';
import { testShares } from '../assert-nothing-found';

describe('what reads the bodies of messages', () => testShares(bodyTargets));
