import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import type { StationClientOptions } from '../../../lib/cloud/station-client';
import type { RvmEvent } from '../../../lib/event';
import { settingsOf } from './scripted-station';

/** What a stumbling service does wrong for a while, and then no more. */
export type Trouble =
  /** Nothing of it answers as it should, for so many milliseconds. */
  | { kind: 'outage'; how: 'unavailable' | 'reset' | 'hang'; ms: number }
  /** The list of devices answers 503 so often. */
  | { kind: 'devices'; times: number }
  /** So many requests for video are answered 429, with the pause that is to be kept, once all that are expected are there. */
  | { kind: 'limit'; times: number; expected: number; seconds: number }
  /** So many `/system` after the login show nothing of it. */
  | { kind: 'blind'; times: number }
  /** Each answer of a session brings a cookie that makes the one before invalid: when the request comes, or when it is answered. */
  | { kind: 'rotation'; when: 'request' | 'answer'; clears: boolean }
  /** All is well again, and what was is forgotten. */
  | { kind: 'none' };

/** A request as the service saw it. */
export interface Seen {
  method: string;
  path: string;
  status: number;
  /** Milliseconds, by the clock of the service: when it came, and when it was answered. */
  at: number;
  answeredAt: number;
}

/** What goes to and fro between the test and the process of the service. */
export type Order = Trouble | { kind: 'tell' };
export type Report = { url: string } | { seen: Seen[] };

export const CAMERAS = ['Gate', 'Yard', 'Dock', 'Hall', 'Roof', 'Ramp'] as const;
export const ACCESS = { apiKey: 'key-4711', username: 'agent7', password: 'Pass+word&1' } as const;

/** A service in a process of its own, six cameras wide, that stumbles when it is told to. */
export class StumblingService {
  private constructor(
    private readonly child: ChildProcess,
    readonly url: string,
  ) {}

  static async start(): Promise<StumblingService> {
    const program = path.join(__dirname, 'stumbling-program.ts');
    const child = fork(program, { execArgv: ['--import=tsx'] });
    const [{ url }] = (await once(child, 'message')) as [{ url: string }];
    return new StumblingService(child, url);
  }

  /** Settings of a client that fit it. */
  get settings(): StationClientOptions {
    return settingsOf({ url: this.url, ...ACCESS });
  }

  /** From now on it is in trouble. */
  async stumble(trouble: Trouble): Promise<void> {
    await this.#order(trouble);
  }

  /** All requests since the start, or the last `none`. */
  async seen(): Promise<Seen[]> {
    const { seen } = (await this.#order({ kind: 'tell' })) as { seen: Seen[] };
    return seen;
  }

  async stop(): Promise<void> {
    if (this.child.exitCode !== null) return;
    this.child.kill();
    await once(this.child, 'exit');
  }

  async #order(order: Order): Promise<Report> {
    const answer = once(this.child, 'message') as Promise<[Report]>;
    this.child.send(order);
    const [report] = await answer;
    return report;
  }
}

/** An alarm of each camera. */
export function alarms(): RvmEvent[] {
  return CAMERAS.map((name) => ({
    cameraId: `id-of-${name}`,
    cameraRemoteId: `remote-${name}`,
    eventStartTime: '2026-11-21T10:00:00',
  }));
}

export function videoOf(cameraRemoteId: string): string {
  return `rtsp://relay.example:8554/${cameraRemoteId}`;
}
