import type { Answer } from './http-server';
import { parseIsoTime } from './iso-time';
import { jsonBody, optionalText, requiredText } from './json-body';
import { badRequest, Refusal } from './refusal';
import type { Camera } from './world';

/** Gives an RTSP URL for one session; `start` in milliseconds since 1970 = recorded video, absent = live. */
export type GrantRtsp = (request: { cameraId: string; cameraName: string; start?: number }) => string;

const QUALITIES = ['high', 'low'];

/**
 * An RTSP session, live or recorded (specification, section 2, RTSP session request): recorded takes `t` and the text
 * `true` in `search`, live has neither. `cameraId` is the remote id; the id of the device is refused.
 */
export function rtspSession(camera: Camera, bytes: Buffer, grantRtsp: GrantRtsp): Answer {
  const body = jsonBody(bytes);
  checkCamera(camera, requiredText(body, 'cameraId'));
  const quality = requiredText(body, 'quality');
  if (!QUALITIES.includes(quality)) throw badRequest('quality must be high or low.', 'quality');
  const start = recordedStart(body);
  const request = { cameraId: camera.id, cameraName: camera.name };
  const url = grantRtsp(start === undefined ? request : { ...request, start });
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

function recordedStart(body: Readonly<Record<string, unknown>>): number | undefined {
  const { search } = body;
  const t = optionalText(body, 't');
  if (search === undefined && t === undefined) return undefined;
  if (search !== 'true') throw badRequest('search must be the text "true" for recorded video.', 'search');
  const start = t === undefined ? undefined : parseIsoTime(t);
  if (start === undefined) throw badRequest('t must be an ISO 8601 time for recorded video.', 't');
  return start;
}
