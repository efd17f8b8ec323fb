import type { Device } from '../device';
import { RvmError } from '../error';
import type { RvmEvent } from '../event';
import { readTime } from '../time';
import { proxySecrets, type ProxySettings } from './connection/proxy-settings';
import type { TlsSettings } from './connection/tls-settings';
import { requireAgentUser, secretsOf, usableKey, type Credentials } from './credentials';
import { DataSources } from './data-sources';
import { DeviceDirectory } from './device-directory';
import { DIALECT, STATION_TIMING, type StationTiming } from './dialect';
import { EventCamera, idsOf } from './event-camera';
import { asText, firstField } from './json-field';
import { Operation } from './operation';
import { Origins } from './origin';
import { requestTime, type RtspRelay } from './rtsp';
import { RtspSessions } from './rtsp-sessions';
import { SessionKeeper } from './session';
import { StateBoard, type StateListener, type StationState } from './station-state';
import { Transport } from './transport';

export type { StationState } from './station-state';

export interface StationClientOptions extends Credentials {
  /** With or without a trailing slash and a path prefix; `/system` is appended once. */
  baseUrl: string;
  /** Range sent on `GET /system`: integers or dotted. */
  versionLow: string;
  versionHigh: string;
  /** Milliseconds for one request. */
  timeoutMs: number;
  /** Milliseconds between background refreshes of the directory, from its first use on; 0 = none. */
  deviceRefreshMs: number;
  /** Further origins that a returned link may point to. */
  trustedOrigins: readonly string[];
  loginUserField: string;
  loginPasswordField: string;
  /** Adds `Z` to a time of an event that has no zone. */
  appendZ: boolean;
  userAgent: string;
  /** Without it the certificate authorities of the machine vouch for the service. */
  tls?: TlsSettings;
  proxy: ProxySettings;
  /** Live video is asked for without a time, or with the word `live` in its place. */
  liveStyle: 'omit' | 'live';
  /** Relations that are looked for first; empty is none. */
  relations: { details: string; presets: string; tours: string; home: string; snapshot: string };
}

/** An RTSP session that the service has granted. `url` is a short-lived secret. */
export interface RtspSession {
  url: string;
  mode: 'event';
  /** The device's id. */
  cameraId: string;
  /** The id the session was asked for with. */
  cameraRemoteId: string;
  quality: string;
  /** The time that was asked for, as sent. */
  t: string;
  relay: RtspRelay;
  device: { id: string; name: string; status: string };
  /** HTTP requests that this operation caused. */
  requests: number;
  /** Milliseconds it took. */
  ms: number;
}

/** Timers hold no more milliseconds than this; beyond it they would fire without a pause. */
const LONGEST_TIMER = 2 ** 31 - 1;

/** What exists once the settings have been found usable. */
interface Parts {
  transport: Transport;
  session: SessionKeeper;
  directory: DeviceDirectory;
  camera: EventCamera;
  sources: DataSources;
  rtsp: RtspSessions;
}

/** The client of one Central Station: its one session and its caches, shared by all who use the station. */
export class StationClient {
  readonly #options: StationClientOptions;
  readonly #timing: StationTiming;
  readonly #board = new StateBoard();
  #parts: Parts | undefined;
  #refreshTimer: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(options: StationClientOptions, timing: StationTiming = STATION_TIMING) {
    this.#options = options;
    this.#timing = timing;
  }

  get state(): StationState {
    return this.#board.state;
  }

  /**
   * Hears of every change of state.
   * @returns a function that ends the listening
   */
  onState(listener: StateListener): () => void {
    return this.#board.onState(listener);
  }

  /**
   * The devices in the order served, after login if need be. The records belong to the client: copy one before
   * it is handed to anybody who may change it.
   * @param options.fresh asks the service now
   * @throws RvmError
   */
  async listDevices(options: { fresh?: boolean; signal?: AbortSignal } = {}): Promise<readonly Device[]> {
    const operation = new Operation(options.signal);
    const { directory } = this.#open(operation);
    return directory.list(operation, options.fresh === true);
  }

  /**
   * The recorded video of an event: the specification's sequence (section 4). With warm caches this is one
   * request, the one that opens the RTSP session.
   * @throws RvmError EVENT_WITHOUT_CAMERA, BAD_INPUT without a start time, DEVICE_NOT_FOUND, DEVICE_OFFLINE,
   *   LINK_NOT_OFFERED, BAD_RESPONSE, and those of session and transport
   */
  async rtspForEvent(
    event: RvmEvent,
    options: { quality: string; signal?: AbortSignal },
  ): Promise<RtspSession> {
    const operation = new Operation(options.signal);
    const { camera, sources, rtsp } = this.#open(operation);
    const ids = idsOf(event);
    const t = requestTime(startTimeOf(event), this.#options.appendZ);
    const quality = options.quality === '' ? DIALECT.rtsp.quality : options.quality;

    const entry = await camera.find(operation, ids);
    const offer = await sources.offer(operation, entry, DIALECT.relations.rtsp);
    const cameraRemoteId = await camera.remoteId(operation, entry, ids, offer.remoteId);
    const granted = await rtsp.openRecorded(operation, entry, { cameraRemoteId, quality, t });
    camera.learn(entry, ids.remoteId);

    const { id, name, status } = entry.device;
    const { requests, ms } = operation;
    return {
      url: granted.url,
      mode: 'event',
      cameraId: id,
      cameraRemoteId,
      quality,
      t,
      relay: granted.relay,
      device: { id, name, status },
      requests,
      ms,
    };
  }

  /** Ends what is under way with CANCELLED and leaves no connection and no timer behind. */
  async close(): Promise<void> {
    this.#closed = true;
    clearInterval(this.#refreshTimer);
    this.#board.clear();
    await this.#parts?.transport.close();
    this.#board.idle();
  }

  #open(operation: Operation): Parts {
    if (this.#closed) {
      throw new RvmError('CANCELLED', 'The Central Station is closed; deploy its node again.');
    }
    operation.checkAlive();
    try {
      this.#parts ??= this.#makeParts();
    } catch (error) {
      if (error instanceof RvmError) this.#board.failed(error, new Date());
      throw error;
    }
    this.#startRefreshing(this.#parts);
    return this.#parts;
  }

  #makeParts(): Parts {
    const options = this.#options;
    const secrets = [...secretsOf(options), ...proxySecrets(options.proxy)];
    const origins = new Origins(options.baseUrl, options.trustedOrigins, secrets);
    const apiKey = usableKey(options.apiKey);
    requireAgentUser(options);
    const transport = new Transport({
      apiKey,
      userAgent: options.userAgent,
      timeoutMs: Math.min(options.timeoutMs, LONGEST_TIMER),
      secrets,
      proxy: options.proxy,
      ...(options.tls === undefined ? {} : { tls: options.tls }),
    });
    const session = new SessionKeeper(transport, origins, options, this.#timing, this.#board);
    const directory = new DeviceDirectory(session, origins, this.#timing);
    const sources = new DataSources(session, directory, origins);
    const camera = new EventCamera(directory, sources);
    directory.onLoad(() => {
      const present = (id: string) => directory.byId(id) !== undefined;
      sources.forgetAllBut(present);
      camera.forgetAllBut(present);
    });
    return { transport, session, directory, camera, sources, rtsp: new RtspSessions(session, sources) };
  }

  #startRefreshing({ directory }: Parts): void {
    if (this.#options.deviceRefreshMs <= 0 || this.#refreshTimer !== undefined) return;
    this.#refreshTimer = setInterval(
      () => {
        // A refresh that fails shows in the state; the devices known so far stay.
        directory.refresh(new Operation()).catch(() => undefined);
      },
      Math.min(this.#options.deviceRefreshMs, LONGEST_TIMER),
    );
    this.#refreshTimer.unref();
  }
}

function startTimeOf(event: RvmEvent): string {
  const text = asText(firstField(event, ['eventStartTime']));
  if (text !== undefined && readTime(text) !== undefined) return text;
  throw new RvmError(
    'BAD_INPUT',
    text === undefined
      ? 'The event has no eventStartTime, so it is not known which video to ask for.'
      : 'The eventStartTime of the event is no ISO 8601 time such as 2026-03-04T05:06:07, so it is not known which video to ask for.',
  );
}
