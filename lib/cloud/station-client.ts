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
import { isWithin } from './http/media-type';
import { meter } from '../meter';
import { fitToTell } from './fit-to-tell';
import { Operation, type OperationOptions } from './operation';
import { StateBoard, type StateListener, type StationState } from './session/station-state';
import type { StationClientOptions } from './station-options';
import { allSecretsOf, makeParts, type Parts } from './station-parts';
import { STATION_TIMING, type StationTiming } from './timing';
import { Places } from '../concurrency/semaphore';
import { timerMs } from '../concurrency/timers';

export type { StationState } from './session/station-state';
export type { StationClientOptions } from './station-options';

/** The client of one Central Station: its one session and its caches, shared by all who use the station. */
export class StationClient {
  readonly #options: StationClientOptions;
  readonly #timing: StationTiming;
  readonly #secrets: readonly string[];
  readonly #board = new StateBoard((error) => this.#fitToTell(error));
  /** Of those who wait for something that has failed. */
  readonly #room: Places;
  #parts: Parts | undefined;
  #refreshTimer: NodeJS.Timeout | undefined;
  #tellRefresh: (error: RvmError | undefined) => void = () => undefined;
  #closed = false;

  constructor(options: StationClientOptions, timing: StationTiming = STATION_TIMING) {
    this.#options = options;
    this.#secrets = allSecretsOf(options);
    this.#timing = timing;
    this.#room = new Places(timing.longestQueue);
  }

  get state(): StationState {
    return this.#board.state;
  }

  /** True while nothing is sent to the service but probes. */
  get isHeldUp(): boolean {
    return this.#parts?.session.isOut === true;
  }

  /**
   * The version that the service has chosen although it lies outside of the range that was asked for: it is used all the same
   * (rule T-09). Undefined where it kept to the range, named none, or is not connected.
   */
  get unaskedVersion(): string | undefined {
    const { state } = this;
    const version = state.kind === 'connected' ? state.version : undefined;
    if (version === undefined) return undefined;
    const { versionLow, versionHigh } = this.#options;
    return isWithin(version, versionLow, versionHigh) ? undefined : version;
  }

  /** Milliseconds that the clock of the service is ahead of that of this machine; undefined where no answer has told. */
  get clockAhead(): number | undefined {
    return this.#parts?.session.clockAhead;
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
   *   LINK_NOT_OFFERED, BAD_RESPONSE, and those of session and transport
   */
  openRtsp(wanted: RtspWanted, options: CallOptions = {}): Promise<RtspSession> {
    return this.#run(options, (operation, { rtsp }) => rtsp.open(operation, wanted));
  }

  /**
   * The presets or tours of a camera.
   * @throws RvmError LINK_NOT_OFFERED for a camera that has none, DEVICE_NOT_FOUND, and those of session and transport
   */
  ptzTargets(camera: string, list: PtzList, options: CallOptions = {}): Promise<PtzTarget[]> {
    return this.#run(options, (operation, { ptz }) => ptz.targets(operation, camera, list));
  }

  /**
   * How many presets and tours a camera has; each could be called, as far as links tell.
   * @throws RvmError LINK_NOT_OFFERED for one that could not: it names what is missing and what is offered; UNTRUSTED_LINK,
   *   DEVICE_NOT_FOUND, and those of session and transport
   */
  checkPtz(camera: string, options: CallOptions = {}): Promise<number> {
    return this.#run(options, (operation, { ptz }) => ptz.check(operation, camera));
  }

  /**
   * Sends a PTZ command, again only where it was surely not carried out. Commands to one camera go out in the order of the
   * calls.
   * @throws RvmError TARGET_NOT_FOUND, CAMERA_BUSY, BAD_INPUT, LINK_NOT_OFFERED, DEVICE_NOT_FOUND, DEVICE_OFFLINE, and
   *   those of session and transport
   */
  ptz(camera: string, command: PtzCommand, options: CallOptions = {}): Promise<PtzAccepted> {
    const { ptzDeadlineMs: deadlineMs } = this.#timing;
    return this.#run({ deadlineMs, ...options }, (operation, { ptz }) =>
      ptz.send(operation, camera, command),
    );
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

  /**
   * Asks the service for a sign of life now, in one attempt, and from then on whenever nothing else was asked for so long as
   * the options say. What comes of it shows in the state.
   */
  async askForLife(): Promise<void> {
    await this.#run({}, (_operation, { signOfLife }) => signOfLife.ask());
  }

  /** Ends what is under way with CANCELLED, keeps what was learned, and leaves no connection and no timer behind. */
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
    const room = this.#room;
    const operation = new Operation({ signal, deadlineMs: timerMs(deadlineMs), once, room });
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
      this.#parts ??= makeParts(this.#options, this.#timing, this.#board);
    } catch (error) {
      if (error instanceof RvmError) this.#board.failed(error, new Date());
      throw error;
    }
    this.#parts.signOfLife.start();
    this.#startRefreshing(this.#parts);
    return this.#parts;
  }

  #fitToTell(error: RvmError): RvmError {
    return fitToTell(error, this.#secrets);
  }

  #startRefreshing({ directory }: Parts): void {
    if (this.#options.deviceRefreshMs <= 0 || this.#refreshTimer !== undefined) return;
    const refresh = (): void => {
      const operation = new Operation({ deadlineMs: timerMs(this.#timing.deadlineMs) });
      const told = directory.refresh(operation).then(
        () => this.#tellRefresh(undefined),
        // The devices known so far stay.
        (error: unknown) => this.#tellRefresh(error instanceof RvmError ? this.#fitToTell(error) : undefined),
      );
      void told.finally(() => operation.end());
    };
    this.#refreshTimer = setInterval(refresh, timerMs(this.#options.deviceRefreshMs));
    this.#refreshTimer.unref();
  }
}
