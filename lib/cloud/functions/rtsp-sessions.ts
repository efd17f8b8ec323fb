import type { RtspRelay } from '../../text';
import type { RtspSession, RtspWanted } from '../calls';
import { idsOf, type CameraFinder, type EventIds } from '../cameras/camera-finder';
import type { CameraLinks } from '../cameras/camera-links';
import type { DeviceEntry } from '../cameras/device-index';
import type { LastRun } from '../cameras/last-run';
import { orNothing } from '../cameras/or-nothing';
import { DIALECT } from '../dialect';
import type { TrustedUrl } from '../http/origin';
import type { Operation } from '../operation';
import { requestTime } from './recorded-time';
import { wantedTimeText } from './wanted-time';
import { liveRequest, recordedRequest, rtspUrlOf, type LiveStyle, type RtspRequest } from './rtsp';
import type { SessionKeeper } from '../session/session-keeper';
import { jsonBody } from '../http/transport';

/** How this service wants times and live video. */
export interface RtspStyle {
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

/** The body that asks for the video of the camera with this remote id. */
type BodyFor = (remoteId: string) => RtspRequest;

const { relations, rtsp: FACTS } = DIALECT;

/** Asks the service for RTSP sessions. Each is asked for anew: a URL is never cached. */
export class RtspSessions {
  readonly #session: SessionKeeper;
  readonly #finder: CameraFinder;
  readonly #links: CameraLinks;
  readonly #lastRun: LastRun;
  readonly #style: RtspStyle;

  constructor(
    session: SessionKeeper,
    finder: CameraFinder,
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
   * Opens a session: for the recorded video of an event by the specification's sequence (section 4). With warm caches
   * this is one request, and after a restart as much as the login more where the last run has opened a session of the camera.
   * @throws RvmError EVENT_WITHOUT_CAMERA, BAD_INPUT for a time that cannot be read, DEVICE_NOT_FOUND, DEVICE_OFFLINE,
   *   LINK_NOT_OFFERED, BAD_RESPONSE, and those of the session
   */
  async open(operation: Operation, wanted: RtspWanted): Promise<RtspSession> {
    const ids = wanted.mode === 'event' ? idsOf(wanted.event) : NO_IDS;
    const time = wantedTimeText(wanted);
    const t = time === undefined ? undefined : requestTime(time, this.#style.appendZ);
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

  /** Where the last run has opened it, once: undefined where that leads nowhere, and all is asked for afresh. */
  async #asInLastRun(operation: Operation, ids: EventIds, bodyFor: BodyFor): Promise<Granted | undefined> {
    const hint = await this.#lastRun.video(operation, ids);
    if (hint === undefined || ids.remoteId === undefined) return undefined;
    const { entry, ...openedAt } = hint;
    const { remoteId } = ids;
    const asked = operation.hint((once) => this.#post(once, entry, openedAt, remoteId, bodyFor), true);
    const granted = await orNothing(operation, asked);
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
