import type { RvmEvent } from '../event';
import type { RtspRelay } from '../text';
import type { PTZ_ACTIONS, REQUEST_METHODS, REQUEST_STARTS } from '../limits';

/** What goes with any call of a station's client. */
export interface CallOptions {
  /** Ends the call with CANCELLED, or with the `RvmError` that is its reason. */
  signal?: AbortSignal;
  /**
   * Milliseconds for the whole call: until then what fails in passing is tried again. 30 s unless said, a PTZ command 5 s.
   * After it the call ends with the last failure, or with TIMEOUT.
   */
  deadlineMs?: number;
  /** Nothing is tried again: somebody looks on, and can ask again. */
  once?: boolean;
}

/** What happens with a camera that is not online: the specification's sequence, or the session is asked for all the same. */
export type WhenOffline = 'fail' | 'try';

interface RtspChoice {
  /** Free text; empty is `high`. */
  quality: string;
  whenOffline: WhenOffline;
}

/** The recorded video of an event, some seconds before its start if wanted. */
export interface EventRtsp extends RtspChoice {
  mode: 'event';
  event: RvmEvent;
  /** Seconds; a negative one is time after the start. */
  preRoll: number;
}

/** Recorded video of a camera that is chosen by id, remote id or unique name. */
interface RecordedRtsp extends RtspChoice {
  mode: 'recorded';
  camera: string;
  /** ISO 8601, milliseconds since 1970, or a Date: anything else is BAD_INPUT. */
  time: unknown;
  /** Seconds; a negative one is time after it. */
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
  /** The id the session was asked for with. */
  cameraRemoteId: string;
  quality: string;
  /** The time that was asked for, as sent; absent for live video. */
  t?: string;
  relay: RtspRelay;
  device: { id: string; name: string; status: string };
  /** HTTP requests that this call caused. */
  requests: number;
  /** Milliseconds it took. */
  ms: number;
}

/** A preset or tour, as users see it. */
export interface PtzTarget {
  /** As the service sent it; 0 is one. */
  id: string | number;
  /** Empty where the service names none. */
  name: string;
}

export type PtzList = 'presets' | 'tours';

export type PtzAction = (typeof PTZ_ACTIONS)[number];

export interface PtzCommand {
  action: PtzAction;
  /** Preset or tour by id or name; `goto-home` takes none, and `stop-tour` may do without. */
  target?: string;
}

/** The service has accepted a command; whether the camera has moved it does not say. */
export interface PtzAccepted {
  action: PtzAction;
  /** The device's id. */
  cameraId: string;
  target: PtzTarget | null;
  accepted: true;
}

/** The picture of now. */
export interface Snapshot {
  jpeg: Buffer;
  /** Made of camera and time, safe as the name of a file. */
  filename: string;
  /** The device's id. */
  cameraId: string;
  /** ISO 8601, UTC: as the service says, else when the picture came. */
  time: string;
}

/** A request that follows links from a known place; only to trusted origins. */
export interface ApiRequest {
  start: (typeof REQUEST_STARTS)[number];
  /** For `device` and `data-sources`: id, remote id or unique name. */
  camera?: string;
  /** For `url`: a link, absolute or relative to the service. */
  url?: string;
  /** Names of relations, followed one after the other; the last one with `method`. */
  rels: readonly string[];
  method: (typeof REQUEST_METHODS)[number];
  /** A text or Buffer is sent as it is, undefined is no body, all else is sent as JSON. */
  body?: unknown;
}

export interface ApiResponse {
  /** JSON, text or Buffer, by the content type. */
  payload: unknown;
  statusCode: number;
  /** Names in lower case; cookies, and what belongs to the transfer alone, are left out. */
  headers: Record<string, string | string[]>;
  /** Absolute addresses by relation, as the answer names it. */
  links: Record<string, string>;
}
