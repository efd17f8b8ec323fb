import { TRACKS, type TrackName } from './media/tracks';

const TRACK_AT_END = new RegExp(`(?:/(?:${Object.keys(TRACKS).join('|')}))?/?$`);

/**
 * URL of a session as the player addressed it, without credentials, track and slash at the end.
 * The player's own spelling of the host is kept: it may have come through a forwarded port.
 */
export function sessionUrl(uri: string): string {
  const url = new URL(uri);
  url.username = '';
  url.password = '';
  url.pathname = url.pathname.replace(TRACK_AT_END, '');
  return url.href.replace(/\/$/, '');
}

/** URL of a track of a session; a query stays at the end. */
export function trackUrl(uri: string, track: TrackName): string {
  const url = new URL(sessionUrl(uri));
  url.pathname = `${url.pathname}/${track}`;
  return url.href;
}
