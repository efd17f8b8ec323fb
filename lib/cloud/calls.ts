import type { RvmEvent } from '../event';
import type { RtspRelay } from '../text';
import type { PTZ_ACTIONS, REQUEST_METHODS, REQUEST_STARTS } from '../limits';

/** Options of every call of a station's client. */
export interface CallOptions {
  /** Ends the call with CANCELLED, or with the `RvmError` that is its reason. */
  signal?: AbortSignal;
  /**
   * Milliseconds for the whole call; transient failures are retried until then. Default: 30 s, for a PTZ command 5 s. After
   * that the call ends with the last failure, or with TIMEOUT.
   */
  deadlineMs?: number;
  /** No retries: a user is watching, and can repeat the call. */
  once?: boolean;
}

/**
 * What happens if a camera is not online: the call fails (the specification's sequence), or the session is requested anyway.
 */
export type WhenOffline = 'fail' | 'try';

interface RtspChoice {
  /** Free text; empty is `high`. */
  quality: string;
  whenOffline: WhenOffline;
}

/** The recorded video of an event, optionally from some seconds before its start. */
interface EventRtsp extends RtspChoice {
  mode: 'event';
  event: RvmEvent;
  /** Seconds before the start; negative is after it. */
  preRoll: number;
}

/** Recorded video of a camera that is chosen by id, remote id or unique name. */
interface RecordedRtsp extends RtspChoice {
  mode: 'recorded';
  camera: string;
  /** ISO 8601, milliseconds since 1970, or a Date: anything else is BAD_INPUT. */
  time: unknown;
  /** Seconds before `time`; negative is after it. */
  preRoll: number;
}

interface LiveRtsp extends RtspChoice {
  mode: 'live';
  camera: string;
}

export type RtspWanted = EventRtsp | RecordedRtsp | LiveRtsp;

/** An RTSP session that the service has granted. `url` is a short-lived secret. */
export interface RtspSession {
  url: string;
  mode: RtspWanted['mode'];
  /** The device's id. */
  cameraId: string;
  /** The camera id that the session request contained. */
  cameraRemoteId: string;
  quality: string;
  /** The requested time as sent; absent for live video. */
  t?: string;
  relay: RtspRelay;
  device: { id: string; name: string; status: string };
  /** HTTP requests that this call caused. */
  requests: number;
  /** Duration of this call in milliseconds. */
  ms: number;
}

/** A preset or tour, as users see it. */
export interface PtzTarget {
  /** As the service sent it; 0 is a valid id. */
  id: string | number;
  /** Empty if the service sends no name. */
  name: string;
}

export type PtzList = 'presets' | 'tours';

export type PtzAction = (typeof PTZ_ACTIONS)[number];

export interface PtzCommand {
  action: PtzAction;
  /** Preset or tour, by id or name; `goto-home` has none, and for `stop-tour` it is optional. */
  target?: string;
}

/** The service has accepted a command; it does not say whether the camera has moved. */
export interface PtzAccepted {
  action: PtzAction;
  /** The device's id. */
  cameraId: string;
  target: PtzTarget | null;
  accepted: true;
}

/** A current picture. */
export interface Snapshot {
  jpeg: Buffer;
  /** Made of camera and time; safe as a file name. */
  filename: string;
  /** The device's id. */
  cameraId: string;
  /** ISO 8601, UTC: from the service, else the time of receipt. */
  time: string;
}

/** A request that follows links from a starting point, to trusted origins only. */
export interface ApiRequest {
  start: (typeof REQUEST_STARTS)[number];
  /** For `device` and `data-sources`: id, remote id or unique name. */
  camera?: string;
  /** For `url`: a link, absolute or relative to the service. */
  url?: string;
  /** Relations that are followed one after the other; `method` applies to the last one. */
  rels: readonly string[];
  method: (typeof REQUEST_METHODS)[number];
  /** A text or Buffer is sent unchanged, undefined means no body, anything else is sent as JSON. */
  body?: unknown;
}

export interface ApiResponse {
  /** JSON, text or Buffer, depending on the content type. */
  payload: unknown;
  statusCode: number;
  /** Names in lower case; without cookies and without headers of the transfer. */
  headers: Record<string, string | string[]>;
  /** Absolute addresses by relation, named as in the answer. */
  links: Record<string, string>;
}
