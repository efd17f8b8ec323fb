import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';

/** Ends a connection with RST, so that the other side sees an error; encrypted ones simply break off. */
export function resetSocket(socket: Socket): void {
  if (socket instanceof TLSSocket) socket.destroy();
  else socket.resetAndDestroy();
}
