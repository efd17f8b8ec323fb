import { ClipPages } from './api/clips';
import { HttpServer } from './api/http-server';
import { PtzSimulator } from './api/ptz';
import { cameraRoutes, systemRoutes } from './api/routes';
import { LoginSessions, Service } from './api/service';
import { Control } from './control';
import { resolveOptions, type ResolvedOptions, type SandboxOptions } from './options';
import { RtspServer, type RtspFault } from './rtsp/server';
import { AlarmRhythm, Alarms, type AlarmRequest } from './webhooks/alarms';
import { WebhookSender, type Endpoint } from './webhooks/sender';
import type { StationCredentials, StationSettings } from './world/stations';
import { parseSupportedVersions } from './world/versions';
import { type CustomerEntry, World } from './world/world';

export type { AlarmRequest } from './webhooks/alarms';
export { OptionError, type LiveStyle, type RemoteIdPlace, type SandboxOptions } from './options';
export { Refusal } from './refusal';
export type { RtspFault } from './rtsp/server';
export type { CustomerEntry } from './world/world';
export type { Endpoint } from './webhooks/sender';
export type { StationCredentials, StationSettings } from './world/stations';

const DEFAULT_RTSP_PORT = 8554;

/**
 * A simulator of the service with real HTTP, webhooks and RTSP: for use before the API key arrives, for demos and for tests.
 * The names of all its sites and cameras begin with SANDBOX.
 */
export class Sandbox {
  readonly apiKey: string;
  readonly #options: ResolvedOptions;
  readonly #world: World;
  readonly #sessions: LoginSessions;
  readonly #sender: WebhookSender;
  readonly #alarms: Alarms;
  readonly #rhythm: AlarmRhythm;
  /** Aborted by `close`: ends waits in real time. */
  readonly #closing = new AbortController();
  #http: HttpServer | undefined;
  #rtsp: RtspServer | undefined;

  private constructor(options: ResolvedOptions) {
    this.apiKey = options.apiKey;
    this.#options = options;
    this.#world = new World(options);
    this.#sessions = new LoginSessions(this.#world.clock.now);
    this.#sender = new WebhookSender(this.#world, options);
    this.#alarms = new Alarms(this.#world, this.#sender, options.seed);
    this.#rhythm = new AlarmRhythm(options.eventsPerMinute, this.#alarms);
  }

  /** @throws OptionError for an invalid option; the system's error if a port is in use */
  static async start(options: SandboxOptions = {}): Promise<Sandbox> {
    const sandbox = new Sandbox(resolveOptions(options));
    try {
      await sandbox.#listen();
    } catch (error) {
      await sandbox.close();
      throw error;
    }
    return sandbox;
  }

  /** Base URL of the service, such as `http://127.0.0.1:8088`. */
  get url(): string {
    return this.#http?.url ?? '';
  }

  /** Base URL of the RTSP server, such as `rtsp://127.0.0.1:8554`. */
  get rtspUrl(): string {
    return this.#rtsp?.url ?? '';
  }

  /**
   * Adds or changes a Central Station. For an empty user name, password or phrase the sandbox uses a random value, which stays
   * the same while the sandbox runs.
   * @returns the credentials in force
   */
  setStation(key: string, station: StationSettings): StationCredentials {
    const before = this.#world.stations.get(key);
    const credentials = this.#world.stations.set(key, station);
    const changed = before?.username !== credentials.username || before.password !== credentials.password;
    if (before !== undefined && changed) this.#sessions.endStation(key);
    this.#rhythm.begin();
    return credentials;
  }

  /** Ends the station's sessions and cancels its deliveries. */
  removeStation(key: string): void {
    this.#world.stations.remove(key);
    this.#sessions.endStation(key);
    this.#sender.cancelStation(key);
  }

  /** Adds or changes a webhook endpoint of a station; a station may have several. */
  setEndpoint(id: string, endpoint: Endpoint): void {
    if (this.#closing.signal.aborted) return;
    this.#sender.setEndpoint(id, endpoint);
    this.#rhythm.begin();
  }

  /** Also cancels the deliveries to this endpoint. */
  removeEndpoint(id: string): void {
    this.#sender.removeEndpoint(id);
  }

  /**
   * Raises an alarm now. Every endpoint gets a message of its own; the returned `messageId` is that of the first.
   * @throws Refusal if the camera does not exist, its site is not accepted, or a value is invalid
   */
  raiseAlarm(request: AlarmRequest = {}): { alarmId: string; messageId: string } {
    return this.#alarms.raise(request);
  }

  /** The provider's Customers list: Pending Requests and regular entries. */
  customers(): CustomerEntry[] {
    return this.#world.customers();
  }

  /**
   * Accepts a Pending Request for the provider: from now on the cameras of its site are listed and send events.
   * @throws Refusal if there is no such customer
   */
  acceptCustomer(id: string): CustomerEntry {
    return this.#world.accept(id);
  }

  /** Switches a video fault on, in addition to those already on. */
  setVideoFault(fault: RtspFault): void {
    this.#rtsp?.setFault(fault);
  }

  /** Switches all video faults off; streams that a fault has already changed stay as they are. */
  clearVideoFaults(): void {
    this.#rtsp?.clearFaults();
  }

  /** Closes every socket and timer. May be called more than once. */
  async close(): Promise<void> {
    this.#closing.abort();
    this.#rhythm.stop();
    this.#sender.close();
    this.#world.clock.close();
    await Promise.all([this.#http?.close(), this.#rtsp?.close()]);
  }

  async #listen(): Promise<void> {
    const { host, port, rtspPort } = this.#options;
    const [world, sessions] = [this.#world, this.#sessions];
    const { clock, scenes } = world;
    const rtsp = await RtspServer.start({
      host,
      port: rtspPort ?? DEFAULT_RTSP_PORT,
      fallbackToFreePort: rtspPort === undefined,
      now: clock.now,
      scenes,
    });
    this.#rtsp = rtsp;
    const ptz = new PtzSimulator();
    const versions = parseSupportedVersions(this.#options.versions) ?? [];
    const routes = [
      ...systemRoutes(world, versions, sessions),
      ...cameraRoutes(world, rtsp, this.#options),
      ...ptz.routes(),
    ];
    const { apiKey } = this;
    const closing = this.#closing.signal;
    const service = new Service({ apiKey, routes, supportedVersions: versions, sessions, world, closing });
    const relations = routes.map(({ relation }) => relation);
    const [alarms, sender] = [this.#alarms, this.#sender];
    const parts = { world, alarms, sender, sessions, ptz, rtsp, versions, relations, sandbox: this };
    const control = new Control(parts);
    const clips = new ClipPages(world);
    this.#http = await HttpServer.start(host, port, (call) => {
      if (Control.owns(call.path)) return control.answer(call);
      return ClipPages.owns(call.path) ? clips.answer(call) : service.answer(call);
    });
    // The host is neither an IP address nor `localhost`, so that a clip is not taken for a local one.
    world.clips.origin = `http://sandbox.localhost:${new URL(this.url).port}`;
  }
}
