import { setTimeout as sleep } from 'node:timers/promises';
import { AlarmRhythm, Alarms, type AlarmRequest } from './webhooks/alarms';
import { cameraRoutes, systemRoutes } from './api/routes';
import { ClipPages } from './api/clips';
import { Clips, Incidents } from './world/incidents';
import { Clock } from './world/clock';
import { Control, stateReport } from './control';
import { ApiFaultInjector } from './world/faults';
import { HttpServer, type Answer, type Call } from './api/http-server';
import { Onboarding, type CustomerEntry, buildWorld } from './world/world';
import { resolveOptions, type ResolvedOptions, type SandboxOptions } from './options';
import { PtzSimulator } from './api/ptz';
import { RtspServer, type RtspFault } from './rtsp/server';
import { Scenes } from './scene/scenes';
import { WebhookSender, type Endpoint } from './webhooks/sender';
import { Service, type ServiceRoute, LoginSessions } from './api/service';
import { Stations, type StationCredentials, type StationSettings } from './world/stations';
import { parseSupportedVersions } from './world/versions';

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
  readonly #clock = new Clock();
  readonly #stations = new Stations();
  readonly #sessions = new LoginSessions(this.#clock.now);
  readonly #faults = new ApiFaultInjector();
  readonly #ptz = new PtzSimulator();
  readonly #scenes = new Scenes();
  readonly #incidents = new Incidents();
  readonly #clips = new Clips();
  /** Aborted by `close`: ends waits in real time. */
  readonly #closing = new AbortController();
  readonly #world;
  readonly #versions: readonly string[];
  readonly #onboarding;
  readonly #sender;
  readonly #alarms;
  readonly #rhythm;
  #http: HttpServer | undefined;
  #rtsp: RtspServer | undefined;

  private constructor(options: ResolvedOptions) {
    const { seed } = options;
    const timeoutMs = options.sendTimeout * 1000;
    const clock = this.#clock;
    this.apiKey = options.apiKey;
    this.#options = options;
    this.#world = buildWorld(options);
    this.#onboarding = new Onboarding(this.#world);
    this.#versions = parseSupportedVersions(options.versions) ?? [];
    this.#sender = new WebhookSender(clock, this.#stations, {
      timeoutMs,
      resendOnStatus: options.resendOnStatus,
    });
    this.#alarms = new Alarms({
      clock,
      world: this.#world,
      sender: this.#sender,
      clips: this.#clips,
      incidents: this.#incidents,
      clipUri: (clipId) => this.#clipUri(clipId),
      seed,
    });
    this.#rhythm = new AlarmRhythm(
      options.eventsPerMinute,
      () => this.#alarms.raiseAny(),
      () => this.#sender.targets().length > 0,
    );
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
    const before = this.#stations.get(key);
    const credentials = this.#stations.set(key, station);
    const changed = before?.username !== credentials.username || before.password !== credentials.password;
    if (before !== undefined && changed) this.#sessions.endStation(key);
    this.#rhythm.begin();
    return credentials;
  }

  /** Ends the station's sessions and cancels its deliveries. */
  removeStation(key: string): void {
    this.#stations.remove(key);
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
    return this.#onboarding.customers();
  }

  /**
   * Accepts a Pending Request for the provider: from now on the cameras of its site are listed and send events.
   * @throws Refusal if there is no such customer
   */
  acceptCustomer(id: string): CustomerEntry {
    return this.#onboarding.accept(id);
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
    this.#clock.close();
    await Promise.all([this.#http?.close(), this.#rtsp?.close()]);
  }

  async #listen(): Promise<void> {
    const { host, port, rtspPort } = this.#options;
    const rtsp = await RtspServer.start({
      host,
      port: rtspPort ?? DEFAULT_RTSP_PORT,
      fallbackToFreePort: rtspPort === undefined,
      now: this.#clock.now,
      scenes: this.#scenes,
    });
    this.#rtsp = rtsp;
    const routes = this.#routes(rtsp);
    const service = this.#service(routes);
    const control = this.#control(routes, rtsp);
    const clips = new ClipPages({
      clips: this.#clips,
      incidents: this.#incidents,
      scenes: this.#scenes,
      now: this.#clock.now,
    });
    const answerer = (call: Call): Promise<Answer | 'reset'> => {
      if (Control.owns(call.path)) return control.answer(call);
      return ClipPages.owns(call.path) ? clips.answer(call) : service.answer(call);
    };
    this.#http = await HttpServer.start({ host, port, answerer });
  }

  /** The host is neither an IP address nor `localhost`, so that the clip is not taken for a local one. */
  #clipUri(clipId: string): string {
    return `http://sandbox.localhost:${new URL(this.url).port}/clips/${clipId}`;
  }

  #routes(rtsp: RtspServer): ServiceRoute[] {
    const world = this.#world;
    return [
      ...systemRoutes({
        world,
        supportedVersions: this.#versions,
        stations: this.#stations,
        sessions: this.#sessions,
      }),
      ...cameraRoutes({
        world,
        remoteId: this.#options.remoteId,
        liveStyle: this.#options.liveStyle,
        now: this.#clock.now,
        scenes: this.#scenes,
        incidents: this.#incidents,
        grantRtsp: (request) => rtsp.grant(request),
      }),
      ...this.#ptz.routes(),
    ];
  }

  #service(routes: readonly ServiceRoute[]): Service {
    return new Service({
      apiKey: this.apiKey,
      routes,
      supportedVersions: this.#versions,
      sessions: this.#sessions,
      faults: this.#faults,
      world: this.#world,
      wait: (milliseconds) =>
        sleep(milliseconds, undefined, { signal: this.#closing.signal }).catch(() => undefined),
    });
  }

  #control(routes: readonly ServiceRoute[], rtsp: RtspServer): Control {
    const parts = { clock: this.#clock, faults: this.#faults, sender: this.#sender, world: this.#world };
    return new Control({
      ...parts,
      alarms: this.#alarms,
      onboarding: this.#onboarding,
      relations: routes.map(({ relation }) => relation),
      state: () =>
        stateReport({
          ...parts,
          ptz: this.#ptz,
          sessions: this.#sessions,
          stations: this.#stations,
          versions: this.#versions,
          addresses: { url: this.url, rtspUrl: this.rtspUrl },
          video: {
            connections: rtsp.connectionCount,
            sessions: rtsp.sessionCount,
            opened: rtsp.openedCount,
          },
        }),
    });
  }
}
