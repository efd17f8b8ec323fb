import type { SecureContextOptions } from 'node:tls';

import type { Authentication } from './authentication';
import type { TransportKind } from './protocol';
import { Scenes } from '../scene/scenes';

/** Where the server listens, and what of the real service's video is not known: one switch each. */
export interface RtspServerOptions {
  host: string;
  /** 0 = any free one. */
  port: number;
  /** Take any free port where `port` is taken; otherwise `start` fails. */
  fallbackToFreePort: boolean;
  /** The sandbox's clock, epoch milliseconds; it may be advanced. */
  now: () => number;
  /** Milliseconds of a clock that never jumps, by which signs of life are timed. Default: that of the process. */
  steady?: () => number;
  /** The recordings that are played. Default: those of the package, read anew. */
  scenes?: Scenes;
  /** Ways the stream can be sent. Default: both. */
  transports?: readonly TransportKind[];
  /** User name and password for the RTSP URLs, which then carry them. Default: none. */
  authentication?: Authentication;
  /** Makes it `rtsps`: key and certificate. */
  tls?: SecureContextOptions;
  /** Where the token stands in a URL. Default: the path, which works with every player. */
  tokenPlace?: 'path' | 'query';
  /**
   * `a=control` of the track. Default: relative with the token in the path, absolute with the token in the query,
   * because players lose the token or the track where a relative one meets a query.
   */
  trackControl?: 'relative' | 'absolute';
  /** Seconds a URL is good for before its first PLAY. Default 300. */
  urlLifetimeSeconds?: number;
  /** RTSP sessions one URL is good for. Default 1. */
  uses?: number;
  /** 1 = real time (default), 2 = twice as fast, Infinity = as fast as the player reads. */
  pace?: number;
  /** Length of a recording. Default 60. */
  recordingSeconds?: number;
  /** RTSP sessions of one owner at once, else 503. Default 8. */
  maxSessions?: number;
  /** Connections at once; for one more, the one goes that has been idle for the longest time. Default 64. */
  maxConnections?: number;
  /** Seconds without a sign of life after which a session ends. Default 60. */
  sessionTimeoutSeconds?: number;
}

export type EffectiveOptions = Required<Omit<RtspServerOptions, 'authentication' | 'tls'>> &
  Pick<RtspServerOptions, 'authentication' | 'tls'>;

/** The options with their defaults. */
export function withDefaults(options: RtspServerOptions): EffectiveOptions {
  const tokenPlace = options.tokenPlace ?? 'path';
  return {
    ...options,
    steady: options.steady ?? (() => performance.now()),
    tokenPlace,
    scenes: options.scenes ?? new Scenes(),
    transports: options.transports ?? ['tcp', 'udp'],
    trackControl: options.trackControl ?? (tokenPlace === 'path' ? 'relative' : 'absolute'),
    urlLifetimeSeconds: options.urlLifetimeSeconds ?? 300,
    uses: options.uses ?? 1,
    pace: options.pace ?? 1,
    recordingSeconds: options.recordingSeconds ?? 60,
    maxSessions: options.maxSessions ?? 8,
    maxConnections: options.maxConnections ?? 64,
    sessionTimeoutSeconds: options.sessionTimeoutSeconds ?? 60,
  };
}
