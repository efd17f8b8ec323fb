import { videoTargets } from '../../../scripts/fuzz/every-target';
import { testShares } from '../assert-nothing-found';

describe('what reads RTSP and RTP', () => testShares(videoTargets));
