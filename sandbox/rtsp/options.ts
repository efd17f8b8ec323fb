import type { SecureContextOptions } from 'node:tls';

import type { Authentication } from './authentication';
import type { TransportKind } from './protocol';
import { Scenes } from '../scene/scenes';

/** Where the server listens, and one option for each property of the real service's video that is unknown. */
export interface RtspServerOptions {
  host: string;
  /** 0 = any free port. */
  port: number;
  /** True = use any free port if `port` is in use; false = `start` fails. */
  fallbackToFreePort: boolean;
  /** The sandbox's clock, epoch milliseconds; it may be advanced. */
  now: () => number;
  /** Monotonic clock in milliseconds, used for timeouts. Default: that of the process. */
  monotonic?: () => number;
  /** The recordings to play. Default: a new instance with those of the package. */
  scenes?: Scenes;
  /** Allowed transports. Default: both. */
  transports?: readonly TransportKind[];
  /** User name and password, which the RTSP URLs then contain. Default: none. */
  authentication?: Authentication;
  /** Key and certificate; if present, the server speaks `rtsps`. */
  tls?: SecureContextOptions;
  /** Position of the token in a URL. Default: the path, which works with every player. */
  tokenPlace?: 'path' | 'query';
  /**
   * `a=control` of a track. Default: relative if the token is in the path, absolute if it is in the query, because players lose
   * the token or the track when they combine a relative URL with a query.
   */
  trackControl?: 'relative' | 'absolute';
  /** Seconds that a URL is valid before its first PLAY. Default 300. */
  urlLifetimeSeconds?: number;
  /** RTSP sessions that one URL allows. Default 1. */
  uses?: number;
  /** 1 = real time (default), 2 = twice as fast, Infinity = as fast as the player reads. */
  pace?: number;
  /** Length of a recording in seconds. Default 60. */
  recordingSeconds?: number;
  /** Concurrent RTSP sessions of one owner; beyond that SETUP is answered with 503. Default 8. */
  maxSessions?: number;
  /** Concurrent connections; one more replaces the connection that has been idle longest. Default 64. */
  maxConnections?: number;
  /** Seconds without a sign of life after which a session ends. Default 60. */
  sessionTimeoutSeconds?: number;
}

export type EffectiveOptions = Required<Omit<RtspServerOptions, 'authentication' | 'tls'>> &
  Pick<RtspServerOptions, 'authentication' | 'tls'>;

/** The options with their defaults. */
export function withDefaults(options: RtspServerOptions): EffectiveOptions {
  const { tokenPlace = 'path' } = options;
  return {
    monotonic: () => performance.now(),
    tokenPlace,
    scenes: new Scenes(),
    transports: ['tcp', 'udp'],
    trackControl: tokenPlace === 'path' ? 'relative' : 'absolute',
    urlLifetimeSeconds: 300,
    uses: 1,
    pace: 1,
    recordingSeconds: 60,
    maxSessions: 8,
    maxConnections: 64,
    sessionTimeoutSeconds: 60,
    ...options,
  };
}
