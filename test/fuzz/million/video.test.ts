import { videoTargets } from '../../../fuzz/every-target';
import { testShares } from './share';

describe('what reads RTSP', () => {
  testShares(videoTargets);
});
