import type { MediaDescription } from '../../../lib/video/media';

/** The media of a description that is known to be right. */
export function sdpMedia(sdp: string): MediaDescription[] {
  return sdp
    .split(/^(?=m=)/m)
    .slice(1)
    .map(mediumIn);
}

function mediumIn(text: string): MediaDescription {
  const [, kind] = /^m=(video|audio)/.exec(text) ?? [];
  const [, type = '', encoding = '', rate = '', channels = '1'] =
    /^a=rtpmap:(\d+) ([^/\s]+)\/(\d+)(?:\/(\d+))?/m.exec(text) ?? [];
  const parameters = (/^a=fmtp:\d+ (.*)$/m.exec(text)?.[1] ?? '').split(';').map((each): [string, string] => {
    const [name = '', ...value] = each.trim().split('=');
    return [name.toLowerCase(), value.join('=')];
  });
  return {
    kind: kind === 'audio' ? 'audio' : 'video',
    payloadType: Number(type),
    encoding: encoding.toUpperCase(),
    clockRate: Number(rate),
    channels: Number(channels),
    parameters: new Map(parameters),
  };
}
