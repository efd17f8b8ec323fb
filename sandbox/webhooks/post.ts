import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { isLoopback } from '../loopback';

/** The status of an answer, or why there was none. */
export type PostResult = { status: number } | { error: string };

/**
 * One POST over a connection of its own. Never rejects. Redirects are not followed. The certificate of a loopback
 * endpoint is not checked, because Node-RED on the same machine often has a self-signed one.
 */
export function post(
  target: string | undefined,
  message: { body: Buffer; headers: Record<string, string> },
  options: { timeoutMs: number; signal: AbortSignal },
): Promise<PostResult> {
  const url = target === undefined ? null : URL.parse(target);
  if (url === null) return Promise.resolve({ error: 'the endpoint is not reachable yet' });
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    return Promise.resolve({ error: 'the endpoint has no http or https address' });
  }
  return new Promise((resolve) => {
    const send = url.protocol === 'https:' ? httpsRequest : httpRequest;
    const request = send(url, {
      method: 'POST',
      headers: { ...message.headers, 'User-Agent': 'rvm-sandbox' },
      agent: false,
      rejectUnauthorized: !isLoopback(url.hostname),
      signal: options.signal,
    });
    const deadline = setTimeout(() => request.destroy(new Error('time-out')), options.timeoutMs);
    request.once('close', () => clearTimeout(deadline));
    request.once('response', (response) => {
      response.on('error', () => undefined);
      response.resume();
      resolve({ status: response.statusCode ?? 0 });
    });
    request.on('error', (error) => resolve({ error: reasonOf(error) }));
    request.end(message.body);
  });
}

/** A short reason that holds no address: the path of an endpoint is half a secret. */
function reasonOf(error: Error & { code?: string }): string {
  return error.message === 'time-out' ? 'time-out' : (error.code ?? 'connection error');
}
