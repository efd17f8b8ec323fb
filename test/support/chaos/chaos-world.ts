import { request } from 'node:http';
import { StationClient, type StationClientOptions } from '../../../lib/cloud/station-client';
import type { StationTiming } from '../../../lib/cloud/timing';
import { Sandbox } from '../../../sandbox';
import { FaultyProxy } from './faulty-proxy';
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
  settings: Partial<StationClientOptions>;
  timing: StationTiming;
}

/**
 * client -> faulty proxy -> forwarder that notes what arrives -> sandbox. The forwarder passes on whole requests only, so
 * what it has noted is what the sandbox was asked for.
 */
export class ChaosWorld {
  readonly client: StationClient;
  #closed = false;

  private constructor(
    readonly sandbox: Sandbox,
    readonly forwarder: RecordingForwarder,
    readonly proxy: FaultyProxy,
    access: StationClientOptions,
    /** Milliseconds that the service has for one answer: many times what it needs, on a busy machine, too. */
    readonly timeoutMs: number,
    { settings, timing }: ChaosOptions,
  ) {
    this.client = new StationClient({ ...access, timeoutMs, ...settings }, timing);
  }

  static async start(options: ChaosOptions): Promise<ChaosWorld> {
    const sandbox = await Sandbox.start({ eventsPerMinute: 0, rtspPort: 0, seed: 7, remoteId: 'record' });
    const credentials = sandbox.setStation('a', { scheme: 'http' });
    const forwarder = await RecordingForwarder.start(sandbox.url);
    const chances = { seed: options.seed, connectFaults: 10, exchangeFaults: 10, latencyMs: 200 };
    const proxy = await FaultyProxy.start(forwarder.url, chances);
    const access = settingsOf({ ...credentials, apiKey: sandbox.apiKey, url: proxy.url });
    const timeoutMs = Math.max(1_000, 10 * (await millisecondsForMany(access)));
    return new ChaosWorld(sandbox, forwarder, proxy, access, timeoutMs, options);
  }

  /** A second call changes nothing. */
  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    await this.client.close();
    await this.proxy.close();
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
