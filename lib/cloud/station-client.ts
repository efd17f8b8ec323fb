import { Semaphore } from '../concurrency/semaphore';
import { clampTimerMs } from '../concurrency/timers';
import type { Device } from '../device';
import { RvmError } from '../error';
import { meter } from '../meter';
import type { TlsSettings } from '../tls';
import type {
  CallOptions,
  ApiResponse,
  ApiRequest,
  PtzAccepted,
  PtzCommand,
  PtzList,
  PtzTarget,
  RtspSession,
  RtspWanted,
  Snapshot,
} from './calls';
import { CameraHints, type HintOptions, LastRun } from './cameras/camera-cache';
import { CameraResolver } from './cameras/camera-resolver';
import { DeviceDirectory } from './cameras/device-directory';
import { DIALECT } from './dialect';
import { type PtzCommandNames, linksByCommand, PtzClient } from './functions/ptz';
import { ApiRequests } from './functions/requests';
import { RtspSessions, type RtspStyle } from './functions/rtsp';
import { Snapshots } from './functions/snapshots';
import { Origins } from './http/origins';
import { proxySecrets, type ProxySettings } from './http/proxy';
import { Transport } from './http/transport';
import { Operation, type OperationOptions } from './operation';
import { redactError } from './secret-mask';
import { type Credentials, requireAgentUser, secretsOf, usableKey } from './session/login';
import { StationStatus, type StateListener, type StationState } from './session/service-health';
import { IdleProbe, StationSession } from './session/session';
import { isWithin } from './session/system';
import { STATION_TIMING, type StationTiming } from './timing';

/** Settings of the client of one Central Station: where the service is, who logs in, and how this service differs. */
export interface StationClientOptions extends Credentials, RtspStyle {
  /** Short name of the station in the metrics; without it requests are not counted. */
  key?: string;
  /** With or without a trailing slash and a path prefix; `/system` is appended once. */
  baseUrl: string;
  /** Milliseconds for one request. */
  timeoutMs: number;
  /** Milliseconds between background refreshes of the directory, from its first use on; 0 = none. */
  deviceRefreshMs: number;
  /** Milliseconds without any other request before the service is queried for a sign of life; 0 = never. */
  signOfLifeMs: number;
  /** Further origins that a returned link may point to. */
  trustedOrigins: readonly string[];
  /** Relations that are searched before all others; empty for none. */
  relations: RelationNames;
  userAgent: string;
  /** Without it the certificate authorities of the machine are trusted. */
  tls?: TlsSettings;
  proxy: ProxySettings;
  /** Errors contain nothing of an answer's text: it may come from an address that no user has confirmed yet. */
  quotesNothing?: boolean;
  /** Where the camera cache is stored for the next run; undefined stores nothing. */
  hints?: HintOptions;
}

/** Functions that the specification names without showing a relation. */
export interface RelationNames extends PtzCommandNames {
  details: string;
  presets: string;
  tours: string;
  home: string;
  snapshot: string;
}

export type { StationState } from './session/service-health';

/** The client of one Central Station: its one session and its caches, shared by all callers. */
export class StationClient {
  readonly #options: StationClientOptions;
  readonly #timing: StationTiming;
  readonly #secrets: readonly string[];
  readonly #board: StationStatus;
  /** Limits the operations that wait for something that has failed. */
  readonly #capacity: Semaphore;
  #parts: Parts | undefined;
  #refreshTimer: NodeJS.Timeout | undefined;
  #tellRefresh: (error: RvmError | undefined) => void = () => undefined;
  #closed = false;

  constructor(options: StationClientOptions, timing: StationTiming = STATION_TIMING) {
    this.#options = options;
    this.#secrets = [...secretsOf(options), ...proxySecrets(options.proxy)];
    this.#board = new StationStatus(this.#secrets);
    this.#timing = timing;
    this.#capacity = new Semaphore(timing.longestQueue);
  }

  get state(): StationState {
    return this.#board.state;
  }

  /** True while only probes are sent to the service. */
  get isHeldUp(): boolean {
    return this.#parts?.session.isOut === true;
  }

  /**
   * The version that the service has chosen outside of the requested range; it is used anyway (rule T-09). Undefined if the
   * version is within the range, the service named none, or there is no connection.
   */
  get unaskedVersion(): string | undefined {
    const { state } = this;
    const version = state.kind === 'connected' ? state.version : undefined;
    if (version === undefined) return undefined;
    const { versionLow, versionHigh } = this.#options;
    return isWithin(version, versionLow, versionHigh) ? undefined : version;
  }

  /** Milliseconds that the clock of the service is ahead of that of this machine; undefined if no answer has shown it. */
  get clockAhead(): number | undefined {
    return this.#parts?.session.clockAhead;
  }

  /**
   * Calls the listener at every change of state.
   * @returns a function that removes the listener
   */
  onState(listener: StateListener): () => void {
    return this.#board.onState(listener);
  }

  /** Sets the callback for every background refresh; it gets the error, or undefined. */
  onRefresh(listener: (error: RvmError | undefined) => void): void {
    this.#tellRefresh = listener;
  }

  /**
   * The devices in the order served, after login if necessary. The records belong to the client: copy one before passing it to
   * code that may change it.
   * @param options.fresh queries the service now
   * @throws RvmError
   */
  listDevices(options: CallOptions & { fresh?: boolean } = {}): Promise<readonly Device[]> {
    return this.#run(options, (operation, { directory }) =>
      directory.list(operation, options.fresh === true),
    );
  }

  /**
   * All known fields of one camera: its record in the list, overwritten by its own resource.
   * @param camera id, remote id or unique name, here and in the calls below
   * @throws RvmError DEVICE_NOT_FOUND, and those of session and transport
   */
  getDevice(camera: string, options: CallOptions = {}): Promise<Device> {
    return this.#run(options, async (operation, { directory, cameras }) =>
      directory.details(operation, await cameras.chosen(operation, camera, 'try')),
    );
  }

  /**
   * An RTSP session: for the recorded video of an event by the specification's sequence (section 4). With
   * warm caches this is one request, the one that opens the session.
   * @throws RvmError EVENT_WITHOUT_CAMERA, BAD_INPUT for a time that cannot be read, DEVICE_NOT_FOUND,
   *   DEVICE_OFFLINE, LINK_NOT_OFFERED, BAD_RESPONSE, and those of session and transport
   */
  openRtsp(wanted: RtspWanted, options: CallOptions = {}): Promise<RtspSession> {
    return this.#run(options, (operation, { rtsp }) => rtsp.open(operation, wanted));
  }

  /**
   * The presets or tours of a camera.
   * @throws RvmError LINK_NOT_OFFERED for a camera that has none, DEVICE_NOT_FOUND, and those of session and
   *   transport
   */
  ptzTargets(camera: string, list: PtzList, options: CallOptions = {}): Promise<PtzTarget[]> {
    return this.#run(options, (operation, { ptz }) => ptz.targets(operation, camera, list));
  }

  /**
   * The number of presets and tours of a camera; according to their links, each can be called.
   * @throws RvmError LINK_NOT_OFFERED for one that cannot: it names what is missing and what is offered;
   *   UNTRUSTED_LINK, DEVICE_NOT_FOUND, and those of session and transport
   */
  checkPtz(camera: string, options: CallOptions = {}): Promise<number> {
    return this.#run(options, (operation, { ptz }) => ptz.check(operation, camera));
  }

  /**
   * Sends a PTZ command; sent again only if it was certainly not carried out. Commands to one camera are sent
   * in the order of the calls.
   * @throws RvmError TARGET_NOT_FOUND, CAMERA_BUSY, BAD_INPUT, LINK_NOT_OFFERED, DEVICE_NOT_FOUND,
   *   DEVICE_OFFLINE, and those of session and transport
   */
  ptz(camera: string, command: PtzCommand, options: CallOptions = {}): Promise<PtzAccepted> {
    const { ptzDeadlineMs: deadlineMs } = this.#timing;
    return this.#run({ deadlineMs, ...options }, (operation, { ptz }) =>
      ptz.send(operation, camera, command),
    );
  }

  /**
   * A current picture.
   * @param wanted.width in pixels, if the service supports a choice
   * @throws RvmError BAD_RESPONSE without a JPEG, BAD_INPUT, LINK_NOT_OFFERED, DEVICE_NOT_FOUND,
   *   DEVICE_OFFLINE, and those of session and transport
   */
  snapshot(camera: string, wanted: { width?: number } = {}, options: CallOptions = {}): Promise<Snapshot> {
    return this.#run(options, (operation, { snapshots }) => snapshots.take(operation, camera, wanted.width));
  }

  /**
   * Any other request, along links of the service.
   * @throws RvmError BAD_INPUT, LINK_NOT_OFFERED, UNTRUSTED_LINK, HTTP_ERROR, DEVICE_NOT_FOUND, and those of
   *   session and transport
   */
  request(wanted: ApiRequest, options: CallOptions = {}): Promise<ApiResponse> {
    return this.#run(options, (operation, { free }) => free.send(operation, wanted));
  }

  /**
   * Queries the service for a sign of life now, in one attempt, and from then on whenever there was no other request for
   * `signOfLifeMs`. The result shows in the state.
   */
  async askForLife(): Promise<void> {
    await this.#run({}, (_operation, { signOfLife }) => signOfLife.ask());
  }

  /** Ends running calls with CANCELLED, stores the camera cache, and leaves no connection and no timer. */
  async close(): Promise<void> {
    this.#closed = true;
    clearInterval(this.#refreshTimer);
    this.#board.clear();
    this.#parts?.signOfLife.close();
    this.#parts?.session.close();
    await this.#parts?.transport.close();
    await this.#parts?.hints.close();
    this.#board.idle();
  }

  async #run<T>(
    { signal, deadlineMs = this.#timing.deadlineMs, once }: OperationOptions,
    work: (operation: Operation, parts: Parts) => Promise<T>,
  ): Promise<T> {
    const capacity = this.#capacity;
    const operation = new Operation({ signal, deadlineMs: clampTimerMs(deadlineMs), once, capacity });
    try {
      return await work(operation, this.#open(operation));
    } catch (error) {
      if (!(error instanceof RvmError)) throw error;
      if (this.#options.key !== undefined) meter()?.failed(this.#options.key, error.code);
      throw this.#fitToTell(error);
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
      this.#parts ??= makeParts(this.#options, this.#timing, this.#board, this.#secrets);
    } catch (error) {
      if (error instanceof RvmError) this.#board.failed(error, new Date());
      throw error;
    }
    this.#parts.signOfLife.start();
    this.#startRefreshing(this.#parts);
    return this.#parts;
  }

  #fitToTell(error: RvmError): RvmError {
    return redactError(error, this.#secrets);
  }

  #startRefreshing({ directory }: Parts): void {
    if (this.#options.deviceRefreshMs <= 0 || this.#refreshTimer !== undefined) return;
    const refresh = (): void => {
      const operation = new Operation({ deadlineMs: clampTimerMs(this.#timing.deadlineMs) });
      const outcome = directory.refresh(operation).then(
        () => this.#tellRefresh(undefined),
        // The devices known so far are retained.
        (error: unknown) => this.#tellRefresh(error instanceof RvmError ? this.#fitToTell(error) : undefined),
      );
      void outcome.finally(() => operation.end());
    };
    this.#refreshTimer = setInterval(refresh, clampTimerMs(this.#options.deviceRefreshMs));
    this.#refreshTimer.unref();
  }
}

/** The collaborators of the client; created once the settings were found usable. */
type Parts = ReturnType<typeof makeParts>;

/** Relations of a camera. Those of PTZ commands are separate: they may be on several resources. */
type ListedName = Exclude<keyof RelationNames, keyof PtzCommandNames>;

/**
 * @param board is notified of every change of state
 * @throws RvmError CONFIG_MISSING or BAD_INPUT for settings that cannot be used
 */
function makeParts(
  options: StationClientOptions,
  timing: StationTiming,
  board: StationStatus,
  secrets: readonly string[],
) {
  const origins = new Origins(options.baseUrl, options.trustedOrigins, secrets);
  const apiKey = usableKey(options.apiKey);
  requireAgentUser(options);
  const transport = new Transport(
    { ...options, apiKey, timeoutMs: clampTimerMs(options.timeoutMs), secrets },
    timing,
  );
  const session = new StationSession(transport, origins, options, timing, board);
  const wanted = relationsOf(options.relations);
  const directory = new DeviceDirectory(session, origins, timing, wanted.details);
  const hints = new CameraHints(
    { system: origins.system, username: options.username, secrets },
    options.hints,
  );
  const lastRun = new LastRun(hints, session, directory, origins);
  const cameras = new CameraResolver(session, directory, lastRun, origins);
  const ptzRelations = { ...wanted, commands: linksByCommand(options.relations) };
  const ptz = new PtzClient(session, cameras, origins, ptzRelations, options.timeoutMs);
  directory.onLoad(() => {
    cameras.forgetAllBut((id) => directory.index.byId(id) !== undefined);
    hints.listed(directory.index);
  });
  return {
    transport,
    session,
    signOfLife: new IdleProbe(options.signOfLifeMs, transport, session),
    directory,
    hints,
    cameras,
    ptz,
    rtsp: new RtspSessions(session, cameras, options),
    snapshots: new Snapshots(session, cameras, origins, wanted.snapshot),
    free: new ApiRequests(session, directory, cameras, origins),
  };
}

/** Relations set by the user come first, then the likely ones. */
function relationsOf(names: RelationNames): Record<ListedName, readonly string[]> {
  const first = (name: ListedName): readonly string[] => {
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
