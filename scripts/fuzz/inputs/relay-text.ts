import type { Random } from '../random';

/** What a relay sends: an answer, a request of its own, or data on a channel. */
export type Sent =
  | { kind: 'answer'; status: number; body: string }
  | { kind: 'request'; method: string }
  | { kind: 'packet'; channel: number; data: Buffer };

const HEADERS: readonly string[] = [
  'Session: 12345678;timeout=60',
  'Session: a',
  'Public: OPTIONS, DESCRIBE, GET_PARAMETER',
  'Transport: RTP/AVP/TCP;unicast;interleaved=0-1;ssrc=1A2B3C4D;mode="PLAY"',
  'Range: npt=0.000-59.800',
  'Range: npt=now-',
  'RTP-Info: url=rtsp://127.0.0.1/a/track1;seq=1;rtptime=2,url=rtsp://127.0.0.1/a/track2;seq=65535;rtptime=4294967295',
  'WWW-Authenticate: Digest realm="a b", nonce="0\\"1", algorithm=SHA-256, qop="auth,auth-int", stale=true',
  'WWW-Authenticate: Basic realm="x", Digest realm="y", nonce="n"',
  'Content-Base: rtsp://127.0.0.1/a/?token=1',
  'Content-Location: rtsp://u:p@127.0.0.1/b',
  'Location: rtsp://127.0.0.1:8554/c',
  'X-Empty:',
];
const MEDIA: readonly string[] = [
  'm=video 0 RTP/AVP 96\r\na=rtpmap:96 H264/90000\r\na=fmtp:96 packetization-mode=1;sprop-parameter-sets=Z0LAFdk=,aM4G4g==\r\na=control:track1\r\n',
  'm=video 0 RTP/AVP 26 97\r\na=rtpmap:97 H265/90000\r\na=control:rtsp://127.0.0.1/a/track1\r\n',
  'm=audio 0 RTP/AVP 8\r\na=control:track2\r\n',
  'm=audio 0 RTP/AVP 98\r\na=rtpmap:98 MPEG4-GENERIC/44100/2\r\na=fmtp:98 mode=AAC-hbr;config=1210;sizelength=13\r\n',
  'm=application 0 RTP/AVP 107\r\n',
];
const STATUSES = [100, 200, 302, 401, 404, 454, 461, 503];
const METHODS = ['OPTIONS', 'ANNOUNCE', 'REDIRECT', 'GET_PARAMETER'];

export function sentByRelay(random: Random): Sent {
  const kind = random.pick(['answer', 'answer', 'request', 'packet', 'packet'] as const);
  if (kind === 'packet')
    return {
      kind,
      channel: random.below(256),
      data: Buffer.from(random.text('$\r\nR\0\u0080', random.below(60))),
    };
  if (kind === 'request') return { kind, method: random.pick(METHODS) };
  return { kind, status: random.pick(STATUSES), body: bodyOf(random) };
}

/** Mostly a description. */
function bodyOf(random: Random): string {
  if (random.chance(0.5)) return '';
  if (random.chance(0.2)) return random.text('$\r\nRTSP/1.0 200', random.below(200));
  const media = Array.from({ length: random.below(4) }, () => random.pick(MEDIA));
  return `v=0\r\ns=x\r\na=control:*\r\na=range:npt=0-60\r\n${media.join('')}`;
}

/** Its bytes, with some freedom of headers and ends of lines. */
export function relayBytes(random: Random, sent: Sent): Buffer {
  if (sent.kind === 'packet') {
    const { channel, data } = sent;
    return Buffer.concat([Buffer.from([0x24, channel, data.length >>> 8, data.length & 0xff]), data]);
  }
  const start = sent.kind === 'answer' ? `RTSP/1.0 ${sent.status} OK` : `${sent.method} rtsp://h/ RTSP/1.0`;
  const headers = [`CSeq: ${random.below(100)}`, ...HEADERS.filter(() => random.chance(0.3))];
  const body = sent.kind === 'answer' ? sent.body : '';
  if (body !== '' || random.chance(0.3)) headers.push(`Content-Length: ${Buffer.byteLength(body)}`);
  const end = random.chance(0.9) ? '\r\n' : '\n';
  return Buffer.from(`${[start, ...headers, '', ''].join(end)}${body}`);
}
