import type { Target } from './runner';
import { collectionTarget } from './targets/collection';
import { describeTarget } from './targets/describe';
import { envelopeTarget } from './targets/envelope';
import { errorBodyTarget } from './targets/error-body';
import { contentCodingTarget, retryAfterTarget } from './targets/headers';
import { proofTarget } from './targets/proof';
import { readingTarget } from './targets/reading';
import { rtpTarget } from './targets/rtp';
import { rtspClientTarget } from './targets/rtsp-client';
import { rtspRequestTarget } from './targets/rtsp-request';
import { rtspUrlTarget } from './targets/rtsp-url';
import { slicedJsonTarget } from './targets/sliced-json';

/** Which messages are genuine. */
export function proofTargets(): Target[] {
  return [proofTarget()];
}

/** What the bodies of messages say. */
export function bodyTargets(): Target[] {
  return [readingTarget(), envelopeTarget()];
}

/** What the service answers. */
export function answerTargets(): Target[] {
  return [
    errorBodyTarget(),
    slicedJsonTarget(),
    collectionTarget(),
    retryAfterTarget(),
    contentCodingTarget(),
  ];
}

/** What stands between a request for video and its pictures: URLs, relays, players, and packets. */
export function videoTargets(): Target[] {
  return [rtspUrlTarget(), rtspRequestTarget(), rtspClientTarget(), describeTarget(), rtpTarget()];
}

/** All that is asked: their shares are a million. */
export function everyTarget(): Target[] {
  return [...proofTargets(), ...bodyTargets(), ...answerTargets(), ...videoTargets()];
}
