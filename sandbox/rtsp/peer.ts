import type { Socket } from 'node:net';

import type { RtspSession } from './session';

/** What of a connection a request needs to know. */
export interface Peer {
  readonly socket: Socket;
  /** Ties a session to the connection: interleaved channels, sign of life, end. */
  carry(session: RtspSession, channels: readonly [number, number]): void;
  /** A pair of interleaved channels that is free, the wanted one if possible. */
  freeChannels(wanted?: readonly [number, number]): readonly [number, number];
}
