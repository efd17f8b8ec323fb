import type { Client } from 'pg';

/** What is read of an answer that is none of PostgreSQL's. */
export const GARBLED = 'garbled answer';
/** It asks for a login that `pg` does not know. */
export const FOREIGN_LOGIN = 'foreign login';

/**
 * `pg` throws where it reads what no PostgreSQL says, or a way to log in that it does not know: in an event of the socket,
 * where nobody catches it and the process would end. The connection ends instead.
 * @param client just told to connect
 */
export function endGarbled({ connection }: Client, isSecure: boolean): void {
  // Before the handshake is over another stream is read, and by nothing that throws.
  if (isSecure) connection.once('sslconnect', () => guard(connection.stream));
  else guard(connection.stream);
}

type Stream = Client['connection']['stream'];

function guard(stream: Stream): void {
  for (const read of stream.listeners('data')) {
    stream.on('data', (piece: Buffer) => {
      try {
        read.call(stream, piece);
      } catch (error) {
        stream.destroy(new Error(kindOf(error)));
      }
    });
    stream.off('data', read as (piece: Buffer) => void);
  }
}

function kindOf(error: unknown): string {
  const isLogin = error instanceof Error && error.message.startsWith('Unknown authenticationOk message type');
  return isLogin ? FOREIGN_LOGIN : GARBLED;
}
