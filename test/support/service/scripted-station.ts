import assert from 'node:assert/strict';
import type { ServerOptions } from 'node:https';
import type { ProxySettings } from '../../../lib/cloud/http/proxy';
import type { CallOptions, RtspSession, RtspWanted } from '../../../lib/cloud/calls';
import { STATION_TIMING, type StationTiming } from '../../../lib/cloud/timing';
import {
  StationClient,
  type StationClientOptions,
  type RelationNames,
} from '../../../lib/cloud/station-client';
import { RvmError, type RvmErrorCode } from '../../../lib/error';
import type { RvmEvent } from '../../../lib/event';
import { soon } from '../time/patience';
import { GATE, ScriptedService, YARD } from './scripted-service';

/** A time-out, in milliseconds, that a test can wait for and that an answer meets on a busy machine, too. */
export const SHORT_TIMEOUT = 1_000;

/** Longer than any call has time, in milliseconds. */
const FAR_OFF = 600_000;
/** With these what fails in passing fails at once, for no call has the time to wait for it: for tests of the failure itself. */
export const IMPATIENT: Partial<StationTiming> = {
  retryMs: FAR_OFF,
  longestRetryMs: FAR_OFF,
  loginSettlesMs: 0,
  probeMs: FAR_OFF,
  longestProbeMs: FAR_OFF,
  longestAwaitedProbeMs: FAR_OFF,
};
/** Pauses that a test can wait for. */
export const PATIENT: Partial<StationTiming> = {
  retryMs: 10,
  longestRetryMs: 100,
  probeMs: 20,
  longestProbeMs: 100,
  longestAwaitedProbeMs: 100,
};

/** The services and clients of one test; `close` ends them all. */
export class ScriptedStation {
  readonly #clients: StationClient[] = [];
  readonly #others: ScriptedService[] = [];
  readonly service: ScriptedService;

  /** @param tls makes it a station of an https service */
  constructor(tls?: ServerOptions) {
    this.service = new ScriptedService(tls);
  }

  static async start(tls?: ServerOptions): Promise<ScriptedStation> {
    const station = new ScriptedStation(tls);
    await station.service.begin();
    return station;
  }

  /** One more service, on an origin of its own. */
  async otherService(): Promise<ScriptedService> {
    const service = await ScriptedService.start();
    this.#others.push(service);
    return service;
  }

  /** Unless its timing says otherwise it is impatient. */
  client(options: Partial<StationClientOptions> = {}, timing: Partial<StationTiming> = {}): StationClient {
    const client = new StationClient(
      { ...settingsOf(this.service), ...options },
      { ...STATION_TIMING, ...IMPATIENT, ...timing },
    );
    this.#clients.push(client);
    return client;
  }

  /** A client that has logged in and knows its cameras. */
  async connected(...settings: Parameters<ScriptedStation['client']>): Promise<StationClient> {
    const client = this.client(...settings);
    await client.listDevices();
    return client;
  }

  /** A client that has had the video of Gate. */
  async warm(...settings: Parameters<ScriptedStation['client']>): Promise<StationClient> {
    const client = this.client(...settings);
    await rtspForEvent(client);
    return client;
  }

  async closeClients(): Promise<void> {
    for (const client of this.#clients.splice(0)) await client.close();
  }

  async close(): Promise<void> {
    await this.closeClients();
    for (const service of [this.service, ...this.#others.splice(0)]) await service.close();
  }
}

/** One that begins anew before each test of a suite, and ends with it. */
export function stationOfEachTest(): ScriptedStation {
  const station = new ScriptedStation();
  beforeEach(() => station.service.begin());
  afterEach(() => station.close());
  return station;
}

/** No relation is looked for before the known ones. */
export const NO_RELATIONS: RelationNames = {
  details: '',
  presets: '',
  tours: '',
  home: '',
  snapshot: '',
  gotoPreset: '',
  startTour: '',
  stopTour: '',
};

/** The settings that fit a service as it starts. */
export function settingsOf(
  service: Record<'url' | 'apiKey' | 'username' | 'password', string>,
): StationClientOptions {
  return {
    baseUrl: service.url,
    apiKey: service.apiKey,
    username: service.username,
    password: service.password,
    versionLow: '1',
    versionHigh: '9',
    timeoutMs: 5_000,
    deviceRefreshMs: 0,
    signOfLifeMs: 0,
    trustedOrigins: [],
    loginUserField: 'username',
    loginPasswordField: 'password',
    loginExtra: {},
    appendZ: false,
    liveStyle: 'omit',
    relations: NO_RELATIONS,
    userAgent: 'test',
    proxy: { kind: 'none' },
  };
}

/** An alarm of the camera that a scripted service calls Gate. */
export const EVENT_OF_GATE: RvmEvent = {
  cameraId: GATE,
  cameraRemoteId: 'r',
  eventStartTime: '2026-11-21T10:00:00',
};
export const EVENT_OF_YARD: RvmEvent = { ...EVENT_OF_GATE, cameraId: YARD };

/** The live video of the camera that a scripted service calls Gate. */
export const LIVE = { mode: 'live', camera: 'Gate', quality: '', whenOffline: 'fail' } as const;

/** The recorded video of an event, as get RTSP asks for it unless told otherwise. */
export function rtspForEvent(
  client: StationClient,
  event: RvmEvent = EVENT_OF_GATE,
  { signal, deadlineMs, ...wanted }: Partial<RtspWanted> & CallOptions = {},
): Promise<RtspSession> {
  const defaults = { mode: 'event', event, preRoll: 0, quality: 'high', whenOffline: 'fail' } as const;
  const options = { ...(signal && { signal }), ...(deadlineMs !== undefined && { deadlineMs }) };
  return client.openRtsp({ ...defaults, ...wanted } as RtspWanted, options);
}

/** The setting of a proxy. */
export function through(
  url: string,
  more: Partial<ProxySettings & { kind: 'proxy' }> = {},
): { proxy: ProxySettings } {
  return { proxy: { kind: 'proxy', url, except: [], ...more } };
}

/** The error that a piece of work fails with; fails the test if it succeeds or throws anything else. */
export async function failure(work: Promise<unknown>, code: RvmErrorCode): Promise<RvmError> {
  const outcome: unknown = await work.then(
    () => new Error(`expected ${code}, but it succeeded`),
    (error: unknown) => error,
  );
  if (outcome instanceof RvmError && outcome.code === code) return outcome;
  throw outcome instanceof Error ? outcome : new Error(String(outcome));
}

/** Milliseconds, as the time of the test goes: the time-out of a request. */
const SOON = 5000;

/** The milliseconds that a piece of work takes to fail with a code: less than what would be said to be waiting. */
export async function failsSoon(work: Promise<unknown>, code: RvmErrorCode): Promise<number> {
  const begun = performance.now();
  await soon(failure(work, code));
  const took = performance.now() - begun;
  assert.ok(took < SOON, `failed after ${took} ms`);
  return took;
}
