import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Middleware } from './endpoint';
import { within } from './hold';

/** `passed`: judge the request. `answered`: it was refused by an answer. `failed`: neither came, or an error. */
export type MiddlewareOutcome = 'passed' | 'answered' | 'failed';

/** @param duration milliseconds it may take */
export async function runMiddleware(
  middleware: Middleware | undefined,
  exchange: { req: IncomingMessage; res: ServerResponse },
  duration: number,
): Promise<MiddlewareOutcome> {
  if (middleware === undefined) return 'passed';
  const { req, res } = exchange;
  // The mark by which the body parsers of Express know that a body has been read; they would fail on the empty stream.
  Object.assign(req, { _body: true });
  const outcome = new Promise<MiddlewareOutcome>((resolve) => {
    res.once('close', () => resolve('answered'));
    res.once('finish', () => resolve('answered'));
    middleware(req, res, (error) => resolve(error === undefined || error === null ? 'passed' : 'failed'));
  });
  try {
    const settled = (await within(outcome, duration)) ?? 'failed';
    // An answer that has begun cannot be taken back: whatever else happens, it is the middleware's.
    return settled === 'failed' && res.headersSent ? 'answered' : settled;
  } catch {
    return res.headersSent ? 'answered' : 'failed';
  }
}
