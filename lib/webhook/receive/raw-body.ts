import type { IncomingMessage } from 'node:http';
import { GrowingBuffer } from '../../bytes';
import { declaredLength } from '../bounds/refusal';
import { lateTimeout } from '../../concurrency/timers';

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

export interface BodyLimits {
  /** Longest body, in bytes. */
  bytes: number;
  /** Milliseconds for the whole body. */
  deadline: number;
}

/**
 * Reads the exact bytes of a request. Never rejects. What a parser in front made of a body is no substitute: written
 * anew it would not be the bytes that were signed.
 * @param onGrowth told how many bytes of memory the body takes, whenever that grows
 */
export function readRawBody(
  req: IncomingMessage,
  limits: BodyLimits,
  onGrowth: (held: number) => void,
): Promise<BodyReading> {
  if (req.readableDidRead || req.readableEnded || req.readableEncoding !== null) {
    return Promise.resolve({ kind: 'missing' });
  }
  if (req.destroyed) return Promise.resolve({ kind: 'aborted' });
  return collect(req, limits, onGrowth);
}

function collect(
  req: IncomingMessage,
  limits: BodyLimits,
  onGrowth: (held: number) => void,
): Promise<BodyReading> {
  return new Promise((resolve) => {
    const body = new GrowingBuffer(
      Math.min(declaredLength(req.headers) ?? MOST_AT_FIRST, MOST_AT_FIRST),
      onGrowth,
    );
    const timer = lateTimeout(() => finish({ kind: 'too-slow' }), limits.deadline);
    const onData = (chunk: Buffer): void => {
      const bytes = body.length + chunk.length;
      if (bytes > limits.bytes) finish({ kind: 'too-large', bytes });
      else body.append(chunk);
    };
    const onEnd = (): void =>
      finish(req.complete ? { kind: 'complete', body: body.content() } : { kind: 'aborted' });
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

/** Bytes that are set aside for a body of which nothing more is known: as many as nearly all of them have. */
const MOST_AT_FIRST = 4096;
