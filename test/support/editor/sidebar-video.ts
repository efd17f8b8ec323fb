import assert from 'node:assert/strict';
import { Sandbox } from '../../../sandbox';
import { PHRASE, webhookFlow } from '../node-red/flows';
import type { FlowNode } from '../node-red/node-red';
import type { SandboxCamera } from '../node-red/station-flow';

/** RTSP sessions of a sandbox: those that are open, and all that there ever were. */
export interface VideoCount {
  sessions: number;
  opened: number;
}

/** A sandbox on its own, so that a test sees which sessions are open there, and a flow that takes its alarms. */
export class VideoService {
  private constructor(
    readonly sandbox: Sandbox,
    readonly cameras: readonly SandboxCamera[],
  ) {}

  static async start(): Promise<VideoService> {
    const sandbox = await Sandbox.start({ eventsPerMinute: 0, seed: 7, rtspPort: 0 });
    const { cameras, sites } = (await stateOf(sandbox)) as {
      cameras: SandboxCamera[];
      sites: { id: string; state: string }[];
    };
    const seen = new Set(sites.filter(({ state }) => state === 'accepted').map(({ id }) => id));
    return new VideoService(
      sandbox,
      cameras.filter(({ siteId }) => seen.has(siteId)),
    );
  }

  /** Two cameras that are on line. */
  get online(): [SandboxCamera, SandboxCamera] {
    const [first, second] = this.cameras.filter(({ status }) => status === 'online');
    assert.ok(first !== undefined && second !== undefined);
    return [first, second];
  }

  get flow(): FlowNode[] {
    const { username, password } = this.sandbox.setStation('north', { scheme: 'http' });
    return webhookFlow({
      cloud: {
        url: this.sandbox.url,
        localRelays: true,
        credentials: { apiKey: this.sandbox.apiKey },
      },
      station: { credentials: { username, password, secret: PHRASE } },
    });
  }

  async video(): Promise<VideoCount> {
    const { video } = (await stateOf(this.sandbox)) as { video: VideoCount };
    return video;
  }
}

async function stateOf(sandbox: Sandbox): Promise<unknown> {
  return (await fetch(`${sandbox.url}/sandbox/state`)).json();
}
