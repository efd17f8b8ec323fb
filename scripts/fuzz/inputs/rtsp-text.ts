import type { Random } from '../random';

/** A request as a player sends it. */
export interface PlayerRequest {
  method: string;
  uri: string;
  /** In the order in which they stand, names in lower case. */
  headers: [name: string, value: string][];
  body: string;
}

const METHODS = ['OPTIONS', 'DESCRIBE', 'SETUP', 'PLAY', 'PAUSE', 'TEARDOWN', 'GET_PARAMETER', 'x'];
const HEADERS: readonly [string, string][] = [
  ['session', '12345678;timeout=60'],
  ['range', 'npt=0.000-'],
  ['accept', 'application/sdp'],
  ['user-agent', 'player/1.0 (x; y: z)'],
  ['transport', 'RTP/AVP/TCP;unicast;interleaved=0-1'],
  ['x-empty', ''],
];
/** Bytes of a head, near the bound of 16 KiB. */
const HEADS = [16_300, 16_379, 16_380, 16_381, 16_382, 16_383, 16_384, 16_385, 20_000];

export function playerRequest(random: Random): PlayerRequest {
  const headers = HEADERS.filter(() => random.chance(0.4));
  const body = random.chance(0.2) ? `a: b\r\n\r\n${random.text('$xy\r\n', random.below(40))}` : '';
  const uri = `rtsp://127.0.0.1:8554/${random.text('abc/?=&%20', random.below(30))}`;
  return {
    method: random.pick(METHODS),
    uri,
    headers: [['cseq', String(random.below(1000))], ...headers, ...lengthOf(body)],
    body,
  };
}

function lengthOf(body: string): [string, string][] {
  return body === '' ? [] : [['content-length', String(body.length)]];
}

/** Its bytes, with some freedom of letters and blanks. */
export function requestText(random: Random, { method, uri, headers, body }: PlayerRequest): string {
  const lines = headers.map(
    ([name, value]) => `${cased(random, name)}:${random.pick([' ', '', '  '])}${value}`,
  );
  return `${method} ${uri} RTSP/1.0\r\n${lines.map((line) => `${line}\r\n`).join('')}\r\n${body}`;
}

/** A request whose head has about as many bytes as it may have. */
export function longHeadedText(random: Random): string {
  const start = 'OPTIONS * RTSP/1.0\r\nX: ';
  return `${start}${'x'.repeat(random.pick(HEADS) - start.length)}\r\n\r\n`;
}

/** Binary data between requests. */
export function frameBytes(random: Random): Buffer {
  const payload = Buffer.from(random.text('$\r\nO x', random.below(50)));
  const head = Buffer.from([0x24, random.below(4), 0, 0]);
  head.writeUInt16BE(payload.length, 2);
  return Buffer.concat([head, payload]);
}

/** The same bytes in pieces. */
export function piecesOf(random: Random, bytes: Buffer): Buffer[] {
  const pieces: Buffer[] = [];
  const most = random.pick([1, 3, 40, 1500]);
  for (let at = 0; at < bytes.length;) {
    const end = Math.min(bytes.length, at + 1 + random.below(bytes.length > 4000 ? 1500 : most));
    pieces.push(bytes.subarray(at, end));
    at = end;
  }
  return pieces;
}

function cased(random: Random, name: string): string {
  return random.pick([name, name.toUpperCase(), name.charAt(0).toUpperCase() + name.slice(1)]);
}
