import type { IncomingMessage, ServerResponse } from 'node:http';
import { within } from '../../concurrency/timers';
import type { Middleware } from '../endpoint';

/** `passed`: judge the request. `answered`: it was refused by an answer. `failed`: neither came, or an error. */
export type MiddlewareOutcome = 'passed' | 'answered' | 'failed';

/** @param duration milliseconds it may take */
export async function runMiddleware(
  middleware: Middleware,
  exchange: { req: IncomingMessage; res: ServerResponse },
  duration: number,
): Promise<MiddlewareOutcome> {
  const { req, res } = exchange;
  // The mark by which the body parsers of Express know that a body has been read; they would fail on the empty stream.
  Object.assign(req, { _body: true });
  const handedOn = new Promise<MiddlewareOutcome>((resolve, reject) => {
    res.once('close', () => resolve('answered'));
    res.once('finish', () => resolve('answered'));
    const next = (error?: unknown): void =>
      resolve(error === undefined || error === null ? 'passed' : 'failed');
    // What Express 4 leaves unhandled, and with that ends Node-RED: the rejection of an asynchronous function.
    Promise.resolve(middleware(req, res, next)).catch(reject);
  });
  const outcome = await within(handedOn, duration).catch(() => undefined);
  return outcomeOf(outcome ?? 'failed', res);
}

/** An answer that was ended is the middleware's, and one that was only begun can be nobody's any more. */
function outcomeOf(outcome: MiddlewareOutcome, res: ServerResponse): MiddlewareOutcome {
  if (res.writableEnded) return 'answered';
  if (res.headersSent) return outcome === 'answered' ? 'answered' : 'failed';
  // Ours has a length of its own.
  res.removeHeader('Transfer-Encoding');
  return outcome;
}
