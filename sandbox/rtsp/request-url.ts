import { TRACK } from './media/sdp';

/**
 * URL of a session as the player addressed it, without credentials, track and slash at the end.
 * The player's own spelling of the host is kept: it may have come through a forwarded port.
 */
export function sessionUrl(uri: string): string {
  const url = new URL(uri);
  url.username = '';
  url.password = '';
  url.pathname = url.pathname.replace(new RegExp(`(?:/${TRACK})?/?$`), '');
  return url.href.replace(/\/$/, '');
}

/** URL of the one track of a session; a query stays at the end. */
export function trackUrl(uri: string): string {
  const url = new URL(sessionUrl(uri));
  url.pathname = `${url.pathname}/${TRACK}`;
  return url.href;
}
