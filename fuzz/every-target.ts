import type { Target } from './target';
import { collectionTarget } from './targets/collection';
import { describeTarget } from './targets/describe';
import { envelopeTarget } from './targets/envelope';
import { errorBodyTarget } from './targets/error-body';
import { contentCodingTarget, retryAfterTarget } from './targets/headers';
import { proofTarget } from './targets/proof';
import { readingTarget } from './targets/reading';
import { rtspRequestTarget } from './targets/rtsp-request';
import { rtspUrlTarget } from './targets/rtsp-url';
import { slicedJsonTarget } from './targets/sliced-json';

/** What comes to the webhook. */
export function messageTargets(): Target[] {
  return [proofTarget(), readingTarget(), envelopeTarget()];
}

/** What the service, its relays and players say. */
export function serviceTargets(): Target[] {
  return [
    errorBodyTarget(),
    slicedJsonTarget(),
    collectionTarget(),
    retryAfterTarget(),
    contentCodingTarget(),
    rtspUrlTarget(),
    rtspRequestTarget(),
    describeTarget(),
  ];
}

/** All that is asked: their shares are a million. */
export function everyTarget(): Target[] {
  return [...messageTargets(), ...serviceTargets()];
}
