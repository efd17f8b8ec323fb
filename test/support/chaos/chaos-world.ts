import { request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { StationClient, type StationClientOptions } from '../../../lib/cloud/station-client';
import type { StationTiming } from '../../../lib/cloud/timing';
import { Sandbox } from '../../../sandbox';
import { FaultyProxy } from './faulty-proxy';
import { StumblingGateway } from './stumbling-gateway';
import { PATIENCE } from '../time/patience';
import { RecordingForwarder } from '../rtsp/recording-forwarder';
import { settingsOf } from '../service/scripted-station';

/** Calls that are under way at a time. */
export const AT_ONCE = 40;

/** A camera as the sandbox itself knows it. */
export interface KnownCamera {
  id: string;
  remoteId: string;
  name: string;
  siteId: string;
  status: string;
  /** What it was last told; null for a fixed camera. */
  ptz: { position: string; tour: number | null } | null;
}

interface SandboxState {
  cameras: KnownCamera[];
  sites: { id: string; state: string }[];
}

export interface ChaosOptions {
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
 * client -> faulty proxy -> gateway that answers in the place of the service now and then -> forwarder that notes what arrives -> sandbox. The forwarder passes on whole requests only, so
 * what it has noted is what the sandbox was asked for.
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

  /** Milliseconds that a call has, and a command. */
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

  /** A second call changes nothing. */
  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    await this.client.close();
    await this.proxy.close();
    this.gateway.close();
    this.forwarder.close();
    await this.sandbox.close();
  }

  /** What the sandbox says of its cameras, asked for past the proxy. */
  async cameras(): Promise<KnownCamera[]> {
    const { cameras } = JSON.parse(await this.#ask('state')) as SandboxState;
    return cameras;
  }

  /** Those of them that the service lists for a client. */
  async listedCameras(): Promise<KnownCamera[]> {
    const { cameras, sites } = JSON.parse(await this.#ask('state')) as SandboxState;
    const accepted = new Set(sites.filter(({ state }) => state === 'accepted').map(({ id }) => id));
    return cameras.filter(({ siteId }) => accepted.has(siteId));
  }

  /** The session of the client is lost with the next request. */
  async loseSession(): Promise<void> {
    await this.#ask('faults', { kind: 'session-expiry' });
  }

  #ask(path: string, body?: object): Promise<string> {
    return new Promise((resolve, reject) => {
      const method = body === undefined ? 'GET' : 'POST';
      const headers = body === undefined ? {} : { 'Content-Type': 'application/json' };
      const url = `${this.sandbox.url}/sandbox/${path}`;
      const asking = request(url, { method, headers, agent: false }, (answer) => {
        let text = '';
        answer.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
        answer.on('end', () => resolve(text));
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
