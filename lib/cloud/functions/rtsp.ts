import { RvmError } from '../../error';
import { isRecord } from '../../json/json';
import { relayOf, type RtspRelay } from '../../text';
import type { RtspSession, RtspWanted } from '../calls';
import type { LastRun } from '../cameras/camera-cache';
import { type CameraResolver, type EventIds, idsOf } from '../cameras/camera-resolver';
import { type CameraLinks } from '../cameras/camera-links';
import type { DeviceEntry } from '../cameras/device-directory';
import { DIALECT } from '../dialect';
import { type Answer, firstField } from '../http/answer';
import type { TrustedUrl } from '../http/origins';
import { undefinedOnServiceError } from '../http/retry-policy';
import { jsonBody } from '../http/transport';
import type { Operation } from '../operation';
import type { StationSession } from '../session/session';
import { toServiceTime, wantedTimeText } from './recorded-time';

/** How this service expects times and live video. */
interface RtspStyle {
  /** Adds `Z` to a time that has no zone. */
  appendZ: boolean;
  liveStyle: LiveStyle;
}

interface OpenedAt {
  url: TrustedUrl;
  relation: string;
}

/** A session that the service has granted. */
interface Granted {
  camera: DeviceEntry;
  cameraRemoteId: string;
  openedAt: OpenedAt;
  url: string;
  relay: RtspRelay;
}

/** The request body for the video of the camera with this remote id. */
type BodyFor = (remoteId: string) => RtspRequest;

const { relations, rtsp: FACTS } = DIALECT;

/** Opens RTSP sessions. Each call requests a new one: a URL is never cached. */
export class RtspSessions {
  readonly #session: StationSession;
  readonly #finder: CameraResolver;
  readonly #links: CameraLinks;
  readonly #lastRun: LastRun;
  readonly #style: RtspStyle;

  constructor(
    session: StationSession,
    finder: CameraResolver,
    links: CameraLinks,
    lastRun: LastRun,
    style: RtspStyle,
  ) {
    this.#session = session;
    this.#finder = finder;
    this.#links = links;
    this.#lastRun = lastRun;
    this.#style = style;
  }

  /**
   * Opens a session: for the recorded video of an event by the specification's sequence (section 4). With
   * warm caches this is one request; after a restart it is one request and the login, if the last run has
   * opened a session of the camera.
   * @throws RvmError EVENT_WITHOUT_CAMERA, BAD_INPUT for a time that cannot be read, DEVICE_NOT_FOUND,
   *   DEVICE_OFFLINE, LINK_NOT_OFFERED, BAD_RESPONSE, and those of the session
   */
  async open(operation: Operation, wanted: RtspWanted): Promise<RtspSession> {
    const ids = wanted.mode === 'event' ? idsOf(wanted.event) : NO_IDS;
    const time = wantedTimeText(wanted);
    const t = time === undefined ? undefined : toServiceTime(time, this.#style.appendZ);
    const quality = wanted.quality === '' ? FACTS.quality : wanted.quality;
    const bodyFor = (remoteId: string): RtspRequest =>
      t === undefined
        ? liveRequest(remoteId, quality, this.#style.liveStyle)
        : recordedRequest(remoteId, quality, t);
    const { camera, cameraRemoteId, openedAt, url, relay } =
      (this.#lastRun.isOver ? undefined : await this.#asInLastRun(operation, ids, bodyFor)) ??
      (await this.#granted(operation, await this.#camera(operation, wanted, ids), ids, bodyFor));
    this.#finder.learn(camera, ids.remoteId);
    this.#lastRun.learn(camera, ids.remoteId, openedAt);

    const { id, name, status } = camera.device;
    return {
      url,
      mode: wanted.mode,
      cameraId: id,
      cameraRemoteId,
      quality,
      ...(t === undefined ? {} : { t }),
      relay,
      device: { id, name, status },
      requests: operation.requests,
      ms: operation.ms,
    };
  }

  #granted(operation: Operation, entry: DeviceEntry, ids: EventIds, bodyFor: BodyFor): Promise<Granted> {
    return this.#links.call(
      operation,
      entry,
      (camera) => this.#links.offer(operation, camera, [relations.rtsp]),
      async ({ url, relation, remoteId }, camera) => {
        const cameraRemoteId = await this.#finder.remoteId(operation, camera, ids, remoteId);
        return this.#post(operation, camera, { url, relation }, cameraRemoteId, bodyFor);
      },
    );
  }

  /** One attempt at the link of the last run; undefined if that fails, so that the standard steps follow. */
  async #asInLastRun(operation: Operation, ids: EventIds, bodyFor: BodyFor): Promise<Granted | undefined> {
    const hint = await this.#lastRun.video(operation, ids);
    if (hint === undefined || ids.remoteId === undefined) return undefined;
    const { entry, ...openedAt } = hint;
    const { remoteId } = ids;
    const request = operation.hint((once) => this.#post(once, entry, openedAt, remoteId, bodyFor), true);
    const granted = await undefinedOnServiceError(operation, request);
    if (granted === undefined) this.#lastRun.forgetVideo(entry.device.id);
    else this.#lastRun.follow();
    return granted;
  }

  async #post(
    operation: Operation,
    camera: DeviceEntry,
    openedAt: OpenedAt,
    cameraRemoteId: string,
    bodyFor: BodyFor,
  ): Promise<Granted> {
    const body = jsonBody(bodyFor(cameraRemoteId));
    const request = { kind: 'RTSP session', method: 'POST', ...openedAt, body } as const;
    const answer = await this.#session.follow(operation, request);
    return { camera, cameraRemoteId, openedAt, ...rtspUrlOf(answer) };
  }

  #camera(operation: Operation, wanted: RtspWanted, ids: EventIds): Promise<DeviceEntry> {
    if (wanted.mode === 'event') return this.#finder.ofEvent(operation, ids, wanted.whenOffline);
    return this.#finder.chosen(operation, wanted.camera, wanted.whenOffline);
  }
}

const NO_IDS: EventIds = { cameraId: undefined, remoteId: undefined };

/**
 * Body of the RTSP session request (specification, section 2). Time and search are absent for live video, unless `LiveStyle` is
 * `live`.
 */
interface RtspRequest {
  cameraId: string;
  quality: string;
  t?: string;
  search?: string;
}

/** How live video is requested: without time and search, or with the word `live`. */
export type LiveStyle = 'omit' | 'live';

function recordedRequest(remoteId: string, quality: string, t: string): RtspRequest {
  return { cameraId: remoteId, quality, t, search: FACTS.recordedSearch };
}

function liveRequest(remoteId: string, quality: string, style: LiveStyle): RtspRequest {
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

/**
 * @param needed whether a body that is not JSON is an error: if a header has the address, the body may be
 *   anything
 */
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

/** Contains nothing of the answer's body, which may hold the URL. */
function badUrl(message: string): RvmError {
  return new RvmError('BAD_RESPONSE', message, { relation: DIALECT.relations.rtsp, attempts: 1 });
}
