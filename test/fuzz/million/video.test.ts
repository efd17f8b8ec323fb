import { videoTargets } from '../../../scripts/fuzz/every-target';
import { testShares } from './share';

describe('what reads RTSP and RTP', () => {
  testShares(videoTargets);
});
