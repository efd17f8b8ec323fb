import assert from 'node:assert/strict';
import { request } from 'node:http';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import type { CallOptions, PtzCommand, RtspSession, RtspWanted } from '../../../lib/cloud/calls';
import { StationClient, type StationClientOptions } from '../../../lib/cloud/station-client';
import type { StationTiming } from '../../../lib/cloud/timing';
import type { RvmErrorCode } from '../../../lib/error';
import { Sandbox } from '../../../sandbox';
import type { SeededChoice } from '../../../sandbox/world/seeded';
import { seenCameras, type SandboxCamera, type SandboxState } from '../node-red/station-flow';
import { type ForwardedRequest, RecordingForwarder } from '../network/servers';
import { settingsOf } from '../service/scripted-station';
import { PATIENCE } from '../time/patience';
import { FaultyProxy } from './faulty-proxy';
import { StumblingGateway } from './stumbling-gateway';

/** Calls that are under way at a time. */
export const AT_ONCE = 40;

interface ChaosOptions {
  seed: number;
  /** Each answer brings a cookie that makes the one before invalid. */
  rotates?: boolean;
  settings: Partial<StationClientOptions>;
  timing: StationTiming;
}

/** Time-outs that a call has in all, and a command. */
const CALL = 10;
const COMMAND = 5;

/**
 * client -> faulty proxy -> gateway that answers in the place of the service now and then -> forwarder that notes what arrives
 * -> sandbox. The forwarder passes on whole requests only, so what it has noted is what the sandbox was asked for.
 */
export class ChaosWorld {
  readonly client: StationClient;
  #closed = false;

  private constructor(
    readonly sandbox: Sandbox,
    readonly forwarder: RecordingForwarder,
    readonly gateway: StumblingGateway,
    readonly proxy: FaultyProxy,
    access: StationClientOptions,
    /** Milliseconds that the service has for one answer: many times what it needs, on a busy machine, too. */
    readonly timeoutMs: number,
    { settings, timing }: ChaosOptions,
  ) {
    const deadlines = { deadlineMs: CALL * timeoutMs, ptzDeadlineMs: COMMAND * timeoutMs };
    this.client = new StationClient({ ...access, timeoutMs, ...settings }, { ...timing, ...deadlines });
  }

  deadline(isCommand: boolean): number {
    return (isCommand ? COMMAND : CALL) * this.timeoutMs;
  }

  disturb(): void {
    this.proxy.disturb();
    this.gateway.disturb();
  }

  /** Ends when all is passed on again and every pause is over that was asked for. */
  async calm(): Promise<void> {
    this.proxy.calm();
    await sleep(this.gateway.calm());
  }

  static async start(options: ChaosOptions): Promise<ChaosWorld> {
    const sandbox = await Sandbox.start({ eventsPerMinute: 0, rtspPort: 0, seed: 7, remoteId: 'record' });
    const credentials = sandbox.setStation('a', { scheme: 'http' });
    const forwarder = await RecordingForwarder.start(sandbox.url);
    const chances = { seed: options.seed, connectFaults: 10, exchangeFaults: 10, latencyMs: 200 };
    const { seed, rotates = false } = options;
    const faults = { seed, outages: 3, limits: 10, longestOutageMs: 2_000 };
    const gateway = await StumblingGateway.start(forwarder.url, faults);
    const proxy = await FaultyProxy.start(gateway.url, chances);
    const access = settingsOf({ ...credentials, apiKey: sandbox.apiKey, url: proxy.url });
    const timeoutMs = Math.max(1_000, 10 * (await millisecondsForMany(access)));
    // Not before: requests that go one at a time say nothing of what one answer needs.
    if (rotates) gateway.rotate();
    return new ChaosWorld(sandbox, forwarder, gateway, proxy, access, timeoutMs, options);
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    await this.client.close();
    await this.proxy.close();
    await this.gateway.close();
    await this.forwarder.close();
    await this.sandbox.close();
  }

  /** What the sandbox says of its cameras, asked for past the proxy. */
  async cameras(): Promise<SandboxCamera[]> {
    return (await this.#state()).cameras;
  }

  async listedCameras(): Promise<SandboxCamera[]> {
    return seenCameras(await this.#state());
  }

  async loseSession(): Promise<void> {
    await this.#ask('faults', { kind: 'session-expiry' });
  }

  async #state(): Promise<SandboxState> {
    return JSON.parse(await this.#ask('state')) as SandboxState;
  }

  /** On a connection of its own: those that are kept would count among what is left over. */
  #ask(path: string, body?: object): Promise<string> {
    return new Promise((resolve, reject) => {
      const method = body === undefined ? 'GET' : 'POST';
      const headers = body === undefined ? {} : { 'Content-Type': 'application/json' };
      const url = `${this.sandbox.url}/sandbox/${path}`;
      const asking = request(url, { method, headers, agent: false }, (answer) => {
        text(answer).then(resolve, reject);
      });
      asking.on('error', reject);
      asking.end(body === undefined ? undefined : JSON.stringify(body));
    });
  }
}

/** How long as many requests take as are under way at a time, while nothing disturbs them. */
async function millisecondsForMany(access: StationClientOptions): Promise<number> {
  const client = new StationClient({ ...access, timeoutMs: PATIENCE });
  const ask = (): Promise<unknown> => client.request({ start: 'system', rels: [], method: 'GET' });
  await ask();
  const begun = performance.now();
  await Promise.all(Array.from({ length: AT_ONCE }, ask));
  const taken = performance.now() - begun;
  await client.close();
  return taken;
}

export interface Deed {
  name: string;
  /** The POST that it is to cause; absent where it asks only. */
  post?: string;
  /** The code that is right where nothing is disturbed; absent where the call succeeds then. */
  fails?: RvmErrorCode;
  /** The time it is allowed, in milliseconds. */
  deadlineMs?: number;
  /** Deeds of one lane are done one after the other. */
  lane?: string;
  /** Does it. @returns the check of the result */
  act: (client: StationClient, options: CallOptions) => Promise<() => void | Promise<void>>;
}

/** @param check of what it gave */
function deed<Result>(
  name: string,
  ask: (client: StationClient, options: CallOptions) => Promise<Result>,
  check: (result: Result) => void | Promise<void>,
  more: Partial<Deed> = {},
): Deed {
  const act: Deed['act'] = async (client, options) => {
    const result = await ask(client, options);
    return () => check(result);
  };
  return { name, act, ...more };
}

const PRESETS = ['Entrance', 'Fence Line', 'Far Corner', 'Loading Ramp'];
const TOURS = ['Perimeter', 'Night Round'];
const DAY = Date.UTC(2026, 10, 21);

export class ChaosDeeds {
  #moments = 0;

  constructor(
    private readonly choice: SeededChoice,
    private readonly world: ChaosWorld,
    private readonly cameras: readonly SandboxCamera[],
  ) {}

  /** @param impatient some have little time */
  next(impatient: boolean): Deed {
    const kinds = [
      () => this.#list(),
      () => this.#details(),
      () => this.#targets(),
      () => this.#move(),
      () => this.#move(),
      () => this.#snapshot(),
      () => this.#rtsp(this.#event(), impatient),
      () => this.#rtsp(this.#recorded(), impatient),
      () => this.#rtsp(this.#live(), impatient),
      () => this.#offline(),
      () => this.#request(),
    ];
    return this.#pick(kinds)();
  }

  #pick<T>(list: readonly T[]): T {
    return this.choice.pick(list) ?? assert.fail('nothing to pick from');
  }

  #camera(fits: (camera: SandboxCamera) => boolean = () => true): SandboxCamera {
    return this.#pick(this.cameras.filter((camera) => camera.status === 'online' && fits(camera)));
  }

  #called({ id, remoteId, name }: SandboxCamera): string {
    return this.#pick([id, remoteId, name]);
  }

  #moment(): string {
    this.#moments += 1;
    return new Date(DAY + this.#moments * 1000).toISOString().slice(0, 19);
  }

  #list(): Deed {
    const expected = this.cameras.map(({ id, name, status }) => ({ id, name, online: status === 'online' }));
    return deed(
      'list',
      (client, options) => client.listDevices({ fresh: true, ...options }),
      (devices) =>
        assert.deepEqual(
          devices.map(({ id, name, online }) => ({ id, name, online })),
          expected,
        ),
    );
  }

  #details(): Deed {
    const camera = this.#pick(this.cameras);
    const text = this.#called(camera);
    return deed(
      'details',
      (client, options) => client.getDevice(text, options),
      ({ id, manufacturer }) => assert.deepEqual([id, manufacturer], [camera.id, 'SANDBOX']),
    );
  }

  #targets(): Deed {
    const camera = this.#camera(({ ptz }) => ptz !== null);
    const [list, names] = this.#pick([['presets', PRESETS] as const, ['tours', TOURS] as const]);
    const expected = names.map((name, id) => ({ id, name }));
    return deed(
      list,
      (client, options) => client.ptzTargets(camera.name, list, options),
      (targets) => assert.deepEqual(targets, expected),
    );
  }

  #move(): Deed {
    const camera = this.#camera(({ ptz }) => ptz !== null);
    const [preset, tour] = [this.choice.below(PRESETS.length), this.choice.below(TOURS.length)];
    const tours = `ptz-tours/${tour}`;
    type Move = { command: PtzCommand; post: string; after: Partial<NonNullable<SandboxCamera['ptz']>> };
    const { command, post, after } = this.#pick<Move>([
      {
        command: { action: 'goto-preset', target: PRESETS[preset] ?? '' },
        post: `ptz-presets/${preset}/trigger`,
        after: { position: `preset ${preset}`, tour: null },
      },
      { command: { action: 'goto-home' }, post: 'ptz-home', after: { position: 'home', tour: null } },
      { command: { action: 'start-tour', target: `${tour}` }, post: `${tours}/start`, after: { tour } },
      { command: { action: 'stop-tour', target: TOURS[tour] ?? '' }, post: `${tours}/stop`, after: {} },
    ]);
    return {
      name: command.action,
      post: `devices/${camera.id}/${post}`,
      lane: camera.id,
      act: async (client, options) => {
        const accepted = await client.ptz(this.#called(camera), command, options);
        // In its lane nobody else moves the camera, so the sandbox must know it as it was told.
        const now = (await this.world.cameras()).find(({ id }) => id === camera.id)?.ptz;
        return () => {
          const { action } = command;
          assert.partialDeepStrictEqual(accepted, { accepted: true, action, cameraId: camera.id });
          assert.deepEqual({ ...now, ...after }, now);
          if (action === 'stop-tour') assert.notEqual(now?.tour, tour);
        };
      },
    };
  }

  #snapshot(): Deed {
    const camera = this.#camera();
    const wanted = this.#pick([{}, { width: 160 }]);
    return deed(
      'snapshot',
      (client, options) => client.snapshot(this.#called(camera), wanted, options),
      ({ jpeg, cameraId, filename, time }) => {
        assert.equal(jpeg.subarray(0, 2).toString('hex'), 'ffd8');
        assert.equal(jpeg.subarray(-2).toString('hex'), 'ffd9');
        assert.equal(cameraId, camera.id);
        assert.match(filename, /\.jpe?g$/);
        assert.ok(Math.abs(Date.parse(time) - Date.now()) < 60_000, time);
      },
    );
  }

  #event(camera = this.#camera()): [SandboxCamera, RtspWanted] {
    const event = { cameraId: camera.id, cameraRemoteId: camera.remoteId, eventStartTime: this.#moment() };
    return [camera, { mode: 'event', event, preRoll: 0, quality: 'high', whenOffline: 'fail' }];
  }

  #recorded(): [SandboxCamera, RtspWanted] {
    const camera = this.#camera();
    const where = { camera: this.#called(camera), time: this.#moment() };
    return [camera, { mode: 'recorded', ...where, preRoll: 0, quality: 'low', whenOffline: 'fail' }];
  }

  #live(): [SandboxCamera, RtspWanted] {
    const camera = this.#camera();
    return [camera, { mode: 'live', camera: this.#called(camera), quality: '', whenOffline: 'fail' }];
  }

  #rtsp([camera, wanted]: [SandboxCamera, RtspWanted], impatient: boolean): Deed {
    const t = timeOf(wanted);
    // Of one request to two.
    const deadlineMs = this.world.timeoutMs * (1 + this.choice.below(1_000) / 1_000);
    const deadline = impatient && this.choice.below(3) === 0 ? { deadlineMs } : {};
    const post = `devices/${camera.id}/rtsp${t === undefined ? '' : ` ${t}`}`;
    return deed(
      `rtsp ${wanted.mode}`,
      (client, options) => client.openRtsp(wanted, { ...options, ...deadline }),
      (session) => this.#checkSession(session, camera, post, wanted),
      // Only a moment tells two of one camera apart.
      { post, ...deadline, ...(t === undefined && { lane: post }) },
    );
  }

  /** The session is of this camera, and of the request that asked for it. */
  #checkSession(session: RtspSession, camera: SandboxCamera, post: string, wanted: RtspWanted): void {
    const { url, mode, cameraId, cameraRemoteId, t, device } = session;
    const { id, remoteId, name } = camera;
    assert.deepEqual(
      [mode, cameraId, cameraRemoteId, t, device.name],
      [wanted.mode, id, remoteId, timeOf(wanted), name],
    );
    const granted = this.world.forwarder.requests.filter((request) => keyOf(request) === post);
    assert.ok(
      granted.some(({ answer }) => answer.includes(url)),
      'a session that was granted to somebody else',
    );
  }

  #offline(): Deed {
    const camera = this.#pick(this.cameras.filter(({ status }) => status !== 'online'));
    const [, wanted] = this.#event(camera);
    return deed(
      'rtsp offline',
      (client, options) => client.openRtsp(wanted, options),
      () => assert.fail('a session of a camera that is offline'),
      { fails: 'DEVICE_OFFLINE' },
    );
  }

  #request(): Deed {
    const camera = this.#camera();
    const links = (body: unknown) => Object.keys(Object(field(body, '_links')) as object);
    const places = [
      ['device', [], (body: unknown) => field(body, 'id') === camera.id],
      ['data-sources', [], (body: unknown) => field(body, 'deviceId') === camera.id],
      ['data-sources', ['rel/snapshot'], (body: unknown) => Buffer.isBuffer(body)],
      ['system', [], (body: unknown) => links(body).includes('rel/devices')],
      ['system', ['devices'], (body: unknown) => field(body, 'total') === this.cameras.length],
    ] as const;
    const [start, rels, right] = this.#pick<(typeof places)[number]>(places);
    const at = start === 'system' ? {} : { camera: this.#called(camera) };
    return deed(
      `request ${start}`,
      (client, options) => client.request({ start, rels, method: 'GET', ...at }, options),
      ({ payload, statusCode }) => assert.ok(statusCode === 200 && right(payload), 'another resource'),
    );
  }
}

/** What tells apart the POSTs that deeds cause: the link without the parts that are new at each start, and the moment. */
export function keyOf({ method, path, body }: ForwardedRequest): string | undefined {
  const [, , , ...parts] = path.split('/');
  if (method !== 'POST' || parts[0] !== 'devices') return undefined;
  const t = /"t":"([^"]+)"/.exec(body)?.[1];
  return t === undefined ? parts.join('/') : `${parts.join('/')} ${t}`;
}

function timeOf(wanted: RtspWanted): string | undefined {
  if (wanted.mode === 'live') return undefined;
  return String(wanted.mode === 'event' ? wanted.event['eventStartTime'] : wanted.time);
}

function field(body: unknown, name: string): unknown {
  return typeof body === 'object' && body !== null ? (body as Record<string, unknown>)[name] : undefined;
}
