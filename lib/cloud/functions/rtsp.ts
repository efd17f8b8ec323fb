import { RvmError } from '../../error';
import { isRecord } from '../../json/json';
import { relayOf, type RtspRelay } from '../../text';
import type { Answer } from '../http/answer';
import { DIALECT } from '../dialect';
import { firstField } from '../http/json-field';

/** Body of the RTSP session request (specification, section 2); live video is asked for without time and search. */
export interface RtspRequest {
  cameraId: string;
  quality: string;
  t?: string;
  search?: string;
}

/** How live video is asked for: without time and search, or by the word `live`. */
export type LiveStyle = 'omit' | 'live';

const { rtsp: FACTS } = DIALECT;
export function recordedRequest(remoteId: string, quality: string, t: string): RtspRequest {
  return { cameraId: remoteId, quality, t, search: FACTS.recordedSearch };
}

export function liveRequest(remoteId: string, quality: string, style: LiveStyle): RtspRequest {
  if (style === 'omit') return { cameraId: remoteId, quality };
  return { cameraId: remoteId, quality, t: FACTS.liveTime, search: FACTS.liveSearch };
}

/**
 * The RTSP URL of an answer to `rel/rtsp`, unchanged. It is a short-lived secret: it must appear in no log.
 * @throws RvmError BAD_RESPONSE if there is none, or if it is not safe to be handed to a player
 */
export function rtspUrlOf(answer: Answer): { url: string; relay: RtspRelay } {
  const location = locationOf(answer);
  const url = urlInBody(answer, location === undefined) ?? location;
  if (url === undefined) {
    throw badUrl('The service answered without an RTSP URL; try again, or report it to the service.');
  }
  const relay = relayOf(url);
  if (relay !== undefined) return { url, relay };
  throw badUrl(
    'The service answered with an RTSP URL that no player can safely open; report it to the service.',
  );
}

/** @param needed whether a body that is no JSON is an error: where a header has the address, it may be any */
function urlInBody(answer: Answer, needed: boolean): string | undefined {
  if (answer.empty) return undefined;
  try {
    return urlIn(answer.json(), 2);
  } catch (error) {
    if (needed) throw error;
    return undefined;
  }
}

function urlIn(body: unknown, depth: number): string | undefined {
  if (!isRecord(body) || depth === 0) return undefined;
  const own = firstField(body, FACTS.url);
  if (typeof own === 'string') return own;
  for (const name of DIALECT.collection.wrappers) {
    const found = urlIn(firstField(body, [name]), depth - 1);
    if (found !== undefined) return found;
  }
  return undefined;
}

function locationOf(answer: Answer): string | undefined {
  return answer.status === 201 ? answer.location : undefined;
}

/** Made without the answer's body: that may hold the URL. */
function badUrl(message: string): RvmError {
  return new RvmError('BAD_RESPONSE', message, { relation: DIALECT.relations.rtsp, attempts: 1 });
}
