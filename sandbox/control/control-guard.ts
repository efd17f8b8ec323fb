import type { Call } from '../api/http-server';
import { isLoopback } from '../loopback';
import { Refusal } from '../refusal';

/**
 * The control calls need no key, so they are for programs on this machine only: not for other machines, not for web
 * pages open in a browser here, and not for pages that point a name of their own at this machine (DNS rebinding).
 * @throws Refusal 403
 */
export function guardControl(call: Call): void {
  const host = URL.parse(`http://${call.headers.host ?? ''}`);
  if (!isLoopback(call.remoteAddress)) throw forbidden('Control calls are for this machine only.');
  if (host === null || !isLoopback(host.hostname)) throw forbidden('Use 127.0.0.1 or localhost as the host.');
  const { origin } = call.headers;
  if (origin !== undefined && origin !== host.origin) throw forbidden('Not for pages of another origin.');
  const site = call.headers['sec-fetch-site'];
  if (site !== undefined && site !== 'same-origin' && site !== 'none') {
    throw forbidden('Not for pages of another origin.');
  }
}

function forbidden(message: string): Refusal {
  return new Refusal(403, 'Forbidden', message);
}
