import * as fc from 'fast-check';
import { list, mixed, text } from './any';

/** A request as a player sends it. */
export interface PlayerRequest {
  method: string;
  uri: string;
  /** In the order in which they stand, names in lower case. */
  headers: [name: string, value: string][];
  body: string;
}

/** What a relay sends: an answer, a request of its own, or data on a channel. */
export type Sent =
  | { kind: 'answer'; status: number; body: string }
  | { kind: 'request'; method: string }
  | { kind: 'packet'; channel: number; data: Buffer };

/** With its bytes. */
export interface Written<Kind> {
  sent: Kind;
  bytes: Buffer;
}

const PLAYER_HEADERS: [string, string][] = [
  ['session', '12345678;timeout=60'],
  ['range', 'npt=0.000-'],
  ['accept', 'application/sdp'],
  ['user-agent', 'player/1.0 (x; y: z)'],
  ['transport', 'RTP/AVP/TCP;unicast;interleaved=0-1'],
  ['x-empty', ''],
];

/** Requests, with some freedom of letters and blanks. */
export const PLAYER_REQUEST: fc.Arbitrary<Written<PlayerRequest>> = fc
  .record({
    method: fc.constantFrom(...'OPTIONS DESCRIBE SETUP PLAY PAUSE TEARDOWN GET_PARAMETER x'.split(' ')),
    path: text('abc/?=&%20', 0, 30),
    cseq: fc.nat(999).map(String),
    headers: fc.subarray(PLAYER_HEADERS),
    body: mixed([4, fc.constant('')], [1, text('$xy\r\n', 0, 40).map((rest) => `a: b\r\n\r\n${rest}`)]),
    letters: list(fc.nat(2), 8),
    gaps: list(fc.constantFrom(' ', '', '  '), 8),
  })
  .map(({ method, path, cseq, headers: some, body, letters, gaps }) => {
    const uri = `rtsp://127.0.0.1:8554/${path}`;
    const length: [string, string][] = body === '' ? [] : [['content-length', String(body.length)]];
    const headers: [string, string][] = [['cseq', cseq], ...some, ...length];
    const lines = headers.map(
      ([name, value], at) => `${cased(name, letters[at])}:${gaps[at] ?? ''}${value}\r\n`,
    );
    const bytes = Buffer.from(`${method} ${uri} RTSP/1.0\r\n${lines.join('')}\r\n${body}`);
    return { sent: { method, uri, headers, body }, bytes };
  });

function cased(name: string, letters: number | undefined): string {
  if (letters === 1) return name.toUpperCase();
  return letters === 2 ? name.charAt(0).toUpperCase() + name.slice(1) : name;
}

/** Bytes of a request whose head is so long, near the bound of 16 KiB. */
export const LONG_HEADED = fc
  .constantFrom(16_300, 16_379, 16_380, 16_381, 16_382, 16_383, 16_384, 16_385, 20_000)
  .map(longHeaded);

export function longHeaded(length: number): Buffer {
  const start = 'OPTIONS * RTSP/1.0\r\nX: ';
  return Buffer.from(`${start}${'x'.repeat(length - start.length)}\r\n\r\n`);
}

/** Binary data between requests. */
export const FRAME = fc
  .tuple(fc.nat(3), text('$\r\nO x', 0, 49))
  .map(([channel, data]) => interleaved(channel, Buffer.from(data)));

function interleaved(channel: number, data: Buffer): Buffer {
  return Buffer.concat([Buffer.from([0x24, channel, data.length >>> 8, data.length & 0xff]), data]);
}

const RELAY_HEADERS = [
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
const MEDIA = fc.constantFrom(
  'm=video 0 RTP/AVP 96\r\na=rtpmap:96 H264/90000\r\na=fmtp:96 packetization-mode=1;sprop-parameter-sets=Z0LAFdk=,aM4G4g==\r\na=control:track1\r\n',
  'm=video 0 RTP/AVP 26 97\r\na=rtpmap:97 H265/90000\r\na=control:rtsp://127.0.0.1/a/track1\r\n',
  'm=audio 0 RTP/AVP 8\r\na=control:track2\r\n',
  'm=audio 0 RTP/AVP 98\r\na=rtpmap:98 MPEG4-GENERIC/44100/2\r\na=fmtp:98 mode=AAC-hbr;config=1210;sizelength=13\r\n',
  'm=application 0 RTP/AVP 107\r\n',
);
/** Mostly a description. */
const ANSWER_BODY = mixed(
  [5, fc.constant('')],
  [1, text('$\r\nRTSP/1.0 200', 0, 199)],
  [4, list(MEDIA, 0, 3).map((media) => `v=0\r\ns=x\r\na=control:*\r\na=range:npt=0-60\r\n${media.join('')}`)],
);
const RELAYED = mixed<Sent>(
  [
    2,
    fc.record({
      kind: fc.constant('answer'),
      status: fc.constantFrom(100, 200, 302, 401, 404, 454, 461, 503),
      body: ANSWER_BODY,
    }),
  ],
  [
    1,
    fc.record({
      kind: fc.constant('request'),
      method: fc.constantFrom('OPTIONS', 'ANNOUNCE', 'REDIRECT', 'GET_PARAMETER'),
    }),
  ],
  [
    2,
    fc.record({
      kind: fc.constant('packet'),
      channel: fc.nat(255),
      data: text('$\r\nR\0\u0080', 0, 59).map((data) => Buffer.from(data)),
    }),
  ],
);

/** What a relay sends, with some freedom of headers and ends of lines. */
export const FROM_RELAY: fc.Arbitrary<Written<Sent>> = fc
  .tuple(
    RELAYED,
    fc.nat(99),
    fc.subarray(RELAY_HEADERS, { maxLength: 8 }),
    fc.nat(9),
    mixed([9, fc.constant('\r\n')], [1, fc.constant('\n')]),
  )
  .map(([sent, cseq, some, drawn, end]) => {
    if (sent.kind === 'packet') return { sent, bytes: interleaved(sent.channel, sent.data) };
    const start = sent.kind === 'answer' ? `RTSP/1.0 ${sent.status} OK` : `${sent.method} rtsp://h/ RTSP/1.0`;
    const body = sent.kind === 'answer' ? sent.body : '';
    const length = body !== '' || drawn < 3 ? [`Content-Length: ${Buffer.byteLength(body)}`] : [];
    const lines = [start, `CSeq: ${cseq}`, ...some, ...length, '', ''];
    return { sent, bytes: Buffer.from(lines.join(end) + body) };
  });

/** Cuts bytes into pieces. */
export const CUT = fc
  .tuple(fc.constantFrom(1500, 40, 3, 1), list(fc.nat(1499), 16))
  .map(([most, draws]) => (bytes: Buffer): Buffer[] => {
    const pieces: Buffer[] = [];
    const bound = bytes.length > 4000 ? 1500 : most;
    for (let at = 0; at < bytes.length;) {
      const end = Math.min(bytes.length, at + 1 + ((draws[pieces.length % draws.length] ?? 0) % bound));
      pieces.push(bytes.subarray(at, end));
      at = end;
    }
    return pieces;
  });
