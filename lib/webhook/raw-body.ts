import type { IncomingMessage } from 'node:http';

export type BodyReading =
  | { kind: 'complete'; body: Buffer }
  /** More than the limit came; the rest is still on its way. */
  | { kind: 'too-large'; bytes: number }
  /** The deadline passed before the end. */
  | { kind: 'too-slow' }
  /** The sender went away. */
  | { kind: 'aborted' }
  /** Something in front read the stream: the exact bytes are gone. */
  | { kind: 'missing' };

/** Length a request declares, in bytes; undefined where it declares none. */
export function declaredLength(req: IncomingMessage): number | undefined {
  const header = req.headers['content-length'];
  return header === undefined ? undefined : Number(header);
}

/**
 * Reads the exact bytes of a request, at most `limit` of them. Never rejects. What a parser in front made of a body is
 * no substitute: written anew it would not be the bytes that were signed.
 * @param deadline milliseconds for the whole body
 */
export function readRawBody(req: IncomingMessage, limit: number, deadline: number): Promise<BodyReading> {
  if (req.readableDidRead || req.readableEnded || req.readableEncoding !== null) {
    return Promise.resolve({ kind: 'missing' });
  }
  if (req.destroyed) return Promise.resolve({ kind: 'aborted' });
  return collect(req, limit, deadline);
}

function collect(req: IncomingMessage, limit: number, deadline: number): Promise<BodyReading> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    const timer = setTimeout(() => finish({ kind: 'too-slow' }), deadline);
    const onData = (chunk: Buffer): void => {
      bytes += chunk.length;
      if (bytes > limit) finish({ kind: 'too-large', bytes });
      else chunks.push(chunk);
    };
    const onEnd = (): void =>
      finish(req.complete ? { kind: 'complete', body: Buffer.concat(chunks, bytes) } : { kind: 'aborted' });
    const onGone = (): void => finish({ kind: 'aborted' });

    function finish(reading: BodyReading): void {
      clearTimeout(timer);
      req.off('data', onData).off('end', onEnd).off('error', onGone).off('close', onGone);
      // An error that still comes, such as the reset of the connection, has no other listener.
      req.on('error', () => undefined);
      resolve(reading);
    }
    req.on('data', onData).on('end', onEnd).on('error', onGone).on('close', onGone);
  });
}
