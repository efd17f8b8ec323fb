import { randomBytes } from 'node:crypto';
import { parseSupportedVersions } from './world/versions';

/** Where clients find a device's remote id, apart from events: every record, only its details, nowhere. */
export const REMOTE_ID_PLACES = ['record', 'details', 'none'] as const;
export type RemoteIdPlace = (typeof REMOTE_ID_PLACES)[number];

/** How clients request live video: without `t` and `search`, or with `t` "live" and `search` "false". */
export const LIVE_STYLES = ['omit', 'live'] as const;
export type LiveStyle = (typeof LIVE_STYLES)[number];

export interface SandboxOptions {
  /** Address to listen on; default 127.0.0.1. */
  host?: string;
  /** Port of the HTTP service; 0 or absent = a free one. */
  port?: number;
  /** Port of the RTSP server; absent = 8554 if free, else any free port; 0 = any free port. */
  rtspPort?: number;
  /** Cameras, spread over the sites; default 24. */
  cameras?: number;
  /** Sites of customers; default 3. */
  sites?: number;
  /** API key; empty or absent = a random one. */
  apiKey?: string;
  /** Alarms per minute; default 1, 0 = only on demand. */
  eventsPerMinute?: number;
  /** Versions of the service, such as `1-3`, `5,6` or `1.2-3`; default `1-3`. */
  versions?: string;
  /** Default `details`. */
  remoteId?: RemoteIdPlace;
  /** The only request form for live video that the sandbox accepts; default `omit`. */
  liveStyle?: LiveStyle;
  /** Seconds after which a webhook request without an answer times out; default 10. */
  sendTimeout?: number;
  /** True = resend after any answer but 200, 201, 202; false = only after connection errors and timeouts. */
  resendOnStatus?: boolean;
  /** How many of the sites are still a Pending Request; default 0. */
  pending?: number;
  /** Additional sites, with cameras of their own, that are still a Pending Request; default 0. */
  furtherPending?: number;
  /** Makes ids, names and the choice of camera repeatable; ids of alarms and messages are always new. */
  seed?: number;
}

export type ResolvedOptions = Required<Omit<SandboxOptions, 'rtspPort'>> & { rtspPort: number | undefined };

/** An invalid option. The message names the option and its valid values. */
export class OptionError extends Error {
  override readonly name = 'OptionError';
}

/** Fixed, so that ids of cameras stay the same after a restart and flows continue to work. */
const DEFAULT_SEED = 1;

/** Fills in the defaults and checks every option. @throws OptionError */
export function resolveOptions(options: SandboxOptions): ResolvedOptions {
  const resolved = {
    host: options.host || '127.0.0.1',
    port: options.port ?? 0,
    rtspPort: options.rtspPort,
    cameras: options.cameras ?? 24,
    sites: options.sites ?? 3,
    apiKey: options.apiKey || randomBytes(24).toString('base64url'),
    eventsPerMinute: options.eventsPerMinute ?? 1,
    versions: options.versions || '1-3',
    remoteId: options.remoteId ?? 'details',
    liveStyle: options.liveStyle ?? 'omit',
    sendTimeout: options.sendTimeout ?? 10,
    resendOnStatus: options.resendOnStatus ?? false,
    pending: options.pending ?? 0,
    furtherPending: options.furtherPending ?? 0,
    seed: options.seed ?? DEFAULT_SEED,
  };
  check(resolved);
  return resolved;
}

function check(options: ResolvedOptions): void {
  wholeNumber('port', options.port, 0, 65_535);
  wholeNumber('rtspPort', options.rtspPort ?? 0, 0, 65_535);
  wholeNumber('cameras', options.cameras, 0, 10_000);
  wholeNumber('sites', options.sites, 1, 1000);
  wholeNumber('pending', options.pending, 0, options.sites);
  wholeNumber('furtherPending', options.furtherPending, 0, 100);
  wholeNumber('seed', options.seed, 0, Number.MAX_SAFE_INTEGER);
  numberBetween('eventsPerMinute', options.eventsPerMinute, 0, 600);
  numberBetween('sendTimeout', options.sendTimeout, 0.05, 600);
  oneOf('remoteId', options.remoteId, REMOTE_ID_PLACES);
  oneOf('liveStyle', options.liveStyle, LIVE_STYLES);
  if (parseSupportedVersions(options.versions) === undefined) {
    throw new OptionError('versions must be a range such as 1-3 or 1.2-3, a version, or a list such as 5,6.');
  }
}

function wholeNumber(name: string, value: number, low: number, high: number): void {
  if (Number.isInteger(value) && value >= low && value <= high) return;
  throw new OptionError(`${name} must be a whole number from ${low} to ${high}.`);
}

function numberBetween(name: string, value: number, low: number, high: number): void {
  if (value >= low && value <= high) return;
  throw new OptionError(`${name} must be a number from ${low} to ${high}.`);
}

function oneOf(name: string, value: string, known: readonly string[]): void {
  if (known.includes(value)) return;
  throw new OptionError(`${name} must be one of ${known.join(', ')}.`);
}
