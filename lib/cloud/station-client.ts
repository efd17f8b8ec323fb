import type { Device } from '../device';
import { RvmError } from '../error';
import type {
  CallOptions,
  FreeAnswer,
  FreeRequest,
  PtzAccepted,
  PtzCommand,
  PtzList,
  PtzTarget,
  RtspSession,
  RtspWanted,
  Snapshot,
} from './calls';
import { CameraFinder } from './cameras/camera-finder';
import { CameraLinks } from './cameras/camera-links';
import { proxySecrets, type ProxySettings } from './http/connection/proxy-settings';
import type { TlsSettings } from './http/connection/tls-settings';
import { requireAgentUser, secretsOf, usableKey, type Credentials } from './session/credentials';
import { DeviceDirectory } from './cameras/device-directory';
import { DIALECT } from './dialect';
import { FreeRequests } from './functions/free-requests';
import { Operation, type OperationOptions } from './operation';
import { Origins } from './http/origin';
import { Ptz } from './functions/ptz';
import type { LiveStyle } from './functions/rtsp';
import { RtspSessions } from './functions/rtsp-sessions';
import { SessionKeeper } from './session/session';
import { Snapshots } from './functions/snapshots';
import { StateBoard, type StateListener, type StationState } from './session/station-state';
import { STATION_TIMING, type StationTiming } from './timing';
import { Transport } from './http/transport';

export type { StationState } from './session/station-state';

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
  /** Adds `Z` to a time that has no zone. */
  appendZ: boolean;
  liveStyle: LiveStyle;
  /** Relations that are looked for before all others; empty for none. */
  relations: RelationNames;
  userAgent: string;
  /** Without it the certificate authorities of the machine vouch for the service. */
  tls?: TlsSettings;
  proxy: ProxySettings;
}

/** What the specification names without showing its relation. */
export interface RelationNames {
  details: string;
  presets: string;
  tours: string;
  home: string;
  snapshot: string;
}

/** Timers hold no more milliseconds than this; beyond it they would fire without a pause. */
const LONGEST_TIMER = 2 ** 31 - 1;

/** What exists once the settings have been found usable. */
interface Parts {
  transport: Transport;
  session: SessionKeeper;
  directory: DeviceDirectory;
  finder: CameraFinder;
  rtsp: RtspSessions;
  ptz: Ptz;
  snapshots: Snapshots;
  free: FreeRequests;
}

/** The client of one Central Station: its one session and its caches, shared by all who use the station. */
export class StationClient {
  readonly #options: StationClientOptions;
  readonly #timing: StationTiming;
  readonly #board = new StateBoard();
  #parts: Parts | undefined;
  #refreshTimer: NodeJS.Timeout | undefined;
  #tellRefresh: (error: RvmError | undefined) => void = () => undefined;
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

  /** Sets who hears of every background refresh: of its error, or undefined. */
  onRefresh(listener: (error: RvmError | undefined) => void): void {
    this.#tellRefresh = listener;
  }

  /**
   * The devices in the order served, after login if need be. The records belong to the client: copy one before
   * it is handed to anybody who may change it.
   * @param options.fresh asks the service now
   * @throws RvmError
   */
  listDevices(options: CallOptions & { fresh?: boolean } = {}): Promise<readonly Device[]> {
    return this.#run(options, (operation, { directory }) =>
      directory.list(operation, options.fresh === true),
    );
  }

  /**
   * All that is known of one camera: its record in the list, and over it what its own resource tells.
   * @param camera id, remote id or unique name, here and in the calls below
   * @throws RvmError DEVICE_NOT_FOUND, and those of session and transport
   */
  getDevice(camera: string, options: CallOptions = {}): Promise<Device> {
    return this.#run(options, async (operation, { directory, finder }) =>
      directory.details(operation, await finder.chosen(operation, camera, 'try')),
    );
  }

  /**
   * An RTSP session: for the recorded video of an event by the specification's sequence (section 4). With warm caches
   * this is one request, the one that opens the session.
   * @throws RvmError EVENT_WITHOUT_CAMERA, BAD_INPUT for a time that cannot be read, DEVICE_NOT_FOUND, DEVICE_OFFLINE,
   *   LINK_NOT_OFFERED, BAD_RESPONSE, TIMEOUT at the deadline, and those of session and transport
   */
  openRtsp(wanted: RtspWanted, options: CallOptions = {}): Promise<RtspSession> {
    const { deadlineMs } = wanted;
    return this.#run({ ...options, deadlineMs }, (operation, { rtsp }) => rtsp.open(operation, wanted));
  }

  /**
   * The presets or tours of a camera.
   * @throws RvmError LINK_NOT_OFFERED for a camera that has none, DEVICE_NOT_FOUND, and those of session and transport
   */
  ptzTargets(camera: string, list: PtzList, options: CallOptions = {}): Promise<PtzTarget[]> {
    return this.#run(options, (operation, { ptz }) => ptz.targets(operation, camera, list));
  }

  /**
   * Sends a PTZ command, never twice. Commands to one camera go out in the order of the calls.
   * @throws RvmError TARGET_NOT_FOUND, CAMERA_BUSY, BAD_INPUT, LINK_NOT_OFFERED, DEVICE_NOT_FOUND, DEVICE_OFFLINE, and
   *   those of session and transport
   */
  ptz(camera: string, command: PtzCommand, options: CallOptions = {}): Promise<PtzAccepted> {
    return this.#run(options, (operation, { ptz }) => ptz.send(operation, camera, command));
  }

  /**
   * The picture of now.
   * @param wanted.width in pixels, if the service can choose
   * @throws RvmError BAD_RESPONSE without a JPEG, BAD_INPUT, LINK_NOT_OFFERED, DEVICE_NOT_FOUND, DEVICE_OFFLINE, and those
   *   of session and transport
   */
  snapshot(camera: string, wanted: { width?: number } = {}, options: CallOptions = {}): Promise<Snapshot> {
    return this.#run(options, (operation, { snapshots }) => snapshots.take(operation, camera, wanted.width));
  }

  /**
   * Any other request, along links of the service.
   * @throws RvmError BAD_INPUT, LINK_NOT_OFFERED, UNTRUSTED_LINK, HTTP_ERROR, DEVICE_NOT_FOUND, and those of session and
   *   transport
   */
  request(wanted: FreeRequest, options: CallOptions = {}): Promise<FreeAnswer> {
    return this.#run(options, (operation, { free }) => free.send(operation, wanted));
  }

  /** Ends what is under way with CANCELLED and leaves no connection and no timer behind. */
  async close(): Promise<void> {
    this.#closed = true;
    clearInterval(this.#refreshTimer);
    this.#board.clear();
    this.#parts?.session.close();
    await this.#parts?.transport.close();
    this.#board.idle();
  }

  async #run<T>(
    { signal, deadlineMs }: OperationOptions,
    work: (operation: Operation, parts: Parts) => Promise<T>,
  ): Promise<T> {
    const operation = new Operation({ signal, deadlineMs: deadlineMs && timerMs(deadlineMs) });
    try {
      return await work(operation, this.#open(operation));
    } finally {
      operation.end();
    }
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
    const transport = new Transport(
      {
        apiKey,
        userAgent: options.userAgent,
        timeoutMs: timerMs(options.timeoutMs),
        secrets,
        proxy: options.proxy,
        ...(options.tls === undefined ? {} : { tls: options.tls }),
      },
      this.#timing,
    );
    const session = new SessionKeeper(transport, origins, options, this.#timing, this.#board);
    const wanted = relationsOf(options.relations);
    const directory = new DeviceDirectory(session, origins, this.#timing, wanted.details);
    const links = new CameraLinks(session, directory, origins);
    const finder = new CameraFinder(directory, links);
    const ptz = new Ptz(session, finder, links, origins, wanted, options.timeoutMs);
    directory.onLoad(() => {
      const present = (id: string) => directory.index.byId(id) !== undefined;
      for (const cache of [links, finder]) cache.forgetAllBut(present);
    });
    return {
      transport,
      session,
      directory,
      finder,
      ptz,
      rtsp: new RtspSessions(session, finder, links, options),
      snapshots: new Snapshots(session, finder, links, origins, wanted.snapshot),
      free: new FreeRequests(session, directory, finder, links, origins),
    };
  }

  #startRefreshing({ directory }: Parts): void {
    if (this.#options.deviceRefreshMs <= 0 || this.#refreshTimer !== undefined) return;
    const refresh = (): void => {
      // Where it fails, the devices known so far stay.
      directory.refresh(new Operation()).then(
        () => this.#tellRefresh(undefined),
        (error: unknown) => this.#tellRefresh(error instanceof RvmError ? error : undefined),
      );
    };
    this.#refreshTimer = setInterval(refresh, timerMs(this.#options.deviceRefreshMs));
    this.#refreshTimer.unref();
  }
}

function timerMs(ms: number): number {
  return Math.min(ms, LONGEST_TIMER);
}

/** What the user names is looked for first, then what is likely. */
function relationsOf(names: RelationNames): Record<keyof RelationNames, readonly string[]> {
  const first = (name: keyof RelationNames): readonly string[] => {
    const own = names[name].trim();
    return own === '' ? DIALECT.relations[name] : [own, ...DIALECT.relations[name]];
  };
  return {
    details: first('details'),
    presets: first('presets'),
    tours: first('tours'),
    home: first('home'),
    snapshot: first('snapshot'),
  };
}
