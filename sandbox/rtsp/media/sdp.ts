import { FRAMES_PER_SECOND, type Fixture } from './fixture';
import { CLOCK_RATE, PAYLOAD_TYPE } from './packetiser';

/** Name of the one track below the URL of a session. */
export const TRACK = 'track1';

export interface SdpRequest {
  fixture: Fixture;
  /** Shown by players as the title. */
  title: string;
  /** IP address of the server. */
  address: string;
  /** Seconds of recorded video; absent = live. */
  length?: number;
  /** `a=control` of the track, relative or absolute. */
  trackControl: string;
  /** Parameter sets in the SDP; without them a player has to find them in the stream. */
  parameterSets: boolean;
}

/** Session description (RFC 4566) with the H.264 parameters of RFC 6184, section 8.2.1. */
export function describeSession(request: SdpRequest): string {
  const family = request.address.includes(':') ? 'IP6' : 'IP4';
  const lines = [
    'v=0',
    `o=- 1 1 IN ${family} ${request.address}`,
    `s=${oneLine(request.title)}`,
    `c=IN ${family} ${family === 'IP6' ? '::' : '0.0.0.0'}`,
    't=0 0',
    'a=control:*',
    `a=range:npt=${request.length === undefined ? 'now-' : `0-${request.length}`}`,
    `m=video 0 RTP/AVP ${PAYLOAD_TYPE}`,
    `a=rtpmap:${PAYLOAD_TYPE} H264/${CLOCK_RATE}`,
    `a=fmtp:${PAYLOAD_TYPE} ${formatParameters(request)}`,
    `a=framerate:${FRAMES_PER_SECOND}`,
    `a=control:${request.trackControl}`,
  ];
  return `${lines.join('\r\n')}\r\n`;
}

function formatParameters({ fixture, parameterSets }: SdpRequest): string {
  const profile = fixture.sps.toString('hex', 1, 4).toUpperCase();
  const base = `packetization-mode=1;profile-level-id=${profile}`;
  if (!parameterSets) return base;
  return `${base};sprop-parameter-sets=${fixture.sps.toString('base64')},${fixture.pps.toString('base64')}`;
}

// A camera's name comes from outside: a line break in it would forge lines of the description.
function oneLine(text: string): string {
  const line = text
    .replaceAll(/\p{Cc}+/gu, ' ')
    .trim()
    .slice(0, 200);
  return line === '' ? '-' : line;
}
