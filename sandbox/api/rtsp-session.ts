import type { Answer } from './http-server';
import { parseIsoTime } from '../iso-time';
import { jsonBody, optionalText, requiredText } from './json-body';
import type { LiveStyle } from '../options';
import { badRequest, Refusal } from '../refusal';
import type { GrantRequest } from '../rtsp/server';
import type { ServiceRequest } from './service';
import type { Incidents } from '../world/incidents';
import { viewOf } from '../world/views';
import type { Camera } from '../world/world';

/** Gives an RTSP URL for one session. */
export type GrantRtsp = (request: GrantRequest) => string;

interface SessionOptions {
  grantRtsp: GrantRtsp;
  liveStyle: LiveStyle;
  incidents: Incidents;
  now: () => number;
}

const QUALITIES = ['high', 'low'];
const LIVE_HINTS: Record<LiveStyle, string> = {
  omit: 'Live video is asked for without t and search.',
  live: 'Live video is asked for with t "live" and search "false".',
};

/**
 * An RTSP session, live or recorded (specification, section 2, RTSP session request): recorded takes `t` and the text
 * `true` in `search`. How live video is asked for is not shown there: here in the one way of `liveStyle`. `cameraId` is the
 * remote id; the id of the device is refused.
 */
export function rtspSession(request: ServiceRequest, options: SessionOptions): Answer {
  const camera = request.onlineCamera();
  const body = jsonBody(request.call.body);
  checkCamera(camera, requiredText(body, 'cameraId'));
  const quality = requiredText(body, 'quality');
  if (!QUALITIES.includes(quality)) throw badRequest('quality must be high or low.', 'quality');
  const start = recordedStart(body, options.liveStyle);
  const late = request.lateness(camera);
  if (late?.way === 'code' && start !== undefined) checkIsThere(start, options.now() - late.seconds * 1000);
  const url = options.grantRtsp({
    cameraId: camera.id,
    cameraName: camera.name,
    // The players of one station cannot use up the places of another.
    owner: request.station,
    view: viewOf(camera, options.incidents),
    ...(late === undefined || late.way === 'code' ? {} : { late: { seconds: late.seconds, way: late.way } }),
    ...(start === undefined ? {} : { start }),
  });
  return { status: 200, body: { rtspRelayURL: url } };
}

function checkCamera(camera: Camera, cameraId: string): void {
  if (cameraId === camera.remoteId) return;
  if (cameraId.toLowerCase() === camera.id) {
    throw badRequest('cameraId must be the remote id of the camera, not the id of the device.', 'cameraId');
  }
  throw new Refusal(404, 'CameraNotFound', 'No camera behind this link has this remote id.', {
    field: 'cameraId',
  });
}

/** The service knows of no recording from this moment yet: one of the codes that it has for that. */
function checkIsThere(start: number, recordedTo: number): void {
  if (start <= recordedTo) return;
  throw new Refusal(404, 'NoAvailableStreams', 'There is no recording of this time yet.', { field: 't' });
}

/** Undefined for live video. */
function recordedStart(body: Readonly<Record<string, unknown>>, liveStyle: LiveStyle): number | undefined {
  const { search } = body;
  const t = optionalText(body, 't');
  if (isLive(t, search, liveStyle)) return undefined;
  if (search !== 'true') {
    const message = `search must be the text "true" for recorded video. ${LIVE_HINTS[liveStyle]}`;
    throw badRequest(message, 'search');
  }
  const start = t === undefined ? undefined : parseIsoTime(t);
  if (start === undefined) throw badRequest('t must be an ISO 8601 time for recorded video.', 't');
  return start;
}

function isLive(t: string | undefined, search: unknown, liveStyle: LiveStyle): boolean {
  if (liveStyle === 'omit') return t === undefined && search === undefined;
  return t === 'live' && search === 'false';
}
