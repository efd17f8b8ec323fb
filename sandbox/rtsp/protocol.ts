import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';

export const PUBLIC_METHODS = [
  'OPTIONS',
  'DESCRIBE',
  'SETUP',
  'PLAY',
  'PAUSE',
  'GET_PARAMETER',
  'TEARDOWN',
] as const;
export type ServedMethod = (typeof PUBLIC_METHODS)[number] | 'SET_PARAMETER';

/** The range that a PLAY requests, in seconds from the start of the recording. */
type RequestedRange = { kind: 'now' } | { kind: 'from'; start: number; end?: number };

/**
 * Reads a `Range` header with normal play time (RFC 2326, section 3.6). Returns a status if the range cannot be served: 501 for
 * another unit, 457 for an unreadable or empty range.
 */
export function parseRange(header: string): RequestedRange | 457 | 501 {
  const [unit = '', value = ''] = (header.split(';')[0] ?? '').split('=').map((part) => part.trim());
  if (unit.toLowerCase() !== 'npt') return 501;
  const [from = '', to = ''] = value.split('-').map((part) => part.trim());
  if (!value.includes('-')) return 457;
  if (from === 'now') return { kind: 'now' };
  const start = from === '' ? 0 : seconds(from);
  const end = to === '' ? undefined : seconds(to);
  if (Number.isNaN(start) || Number.isNaN(end)) return 457;
  if (end === undefined) return { kind: 'from', start };
  return end > start ? { kind: 'from', start, end } : 457;
}

/** Normal play time with milliseconds. */
export function formatSeconds(value: number): string {
  return value.toFixed(3);
}

// `12.5` or `0:00:12.5`
function seconds(text: string): number {
  const clock = /^(\d{1,6}):([0-5]?\d):([0-5]?\d(?:\.\d*)?)$/.exec(text);
  if (clock !== null) return Number(clock[1]) * 3600 + Number(clock[2]) * 60 + Number(clock[3]);
  return /^\d{1,9}(?:\.\d*)?$/.test(text) ? Number(text) : Number.NaN;
}

/** Limits of one request; beyond them the connection is closed. */
const MAX_HEADER_BYTES = 16 * 1024;
const MAX_HEADER_LINES = 100;
const MAX_BODY_BYTES = 64 * 1024;

const DOLLAR = 0x24;
const CARRIAGE_RETURN = 0x0d;
const LINE_FEED = 0x0a;
const END_OF_HEADER = Buffer.from('\r\n\r\n');

export interface RtspRequest {
  kind: 'request';
  method: string;
  uri: string;
  /** Such as `RTSP/1.0`. */
  version: string;
  /** Names in lower case; the values of repeated headers are joined by a comma. */
  headers: ReadonlyMap<string, string>;
  body: Buffer;
}

/** Binary data between requests, such as the receiver reports of a player (RFC 2326, section 10.12). */
interface InterleavedFrame {
  kind: 'interleaved';
  channel: number;
}

export type Incoming = RtspRequest | InterleavedFrame;

/** The received data is not RTSP, or too large: `status` is the answer before the connection is closed. */
export class ProtocolError extends Error {
  readonly status: 400 | 413;

  constructor(status: 400 | 413) {
    super('The client does not speak RTSP.');
    this.status = status;
  }
}

/** Parses the bytes of a connection, in segments of any size, into requests and interleaved frames. */
export class RequestParser {
  #buffer: Buffer = Buffer.alloc(0);

  /**
   * Takes the next bytes and returns the requests and frames that are complete now.
   * @throws ProtocolError for malformed or too large data; the parser is unusable afterwards
   */
  push(chunk: Buffer): Incoming[] {
    this.#buffer = this.#buffer.length === 0 ? chunk : Buffer.concat([this.#buffer, chunk]);
    const complete: Incoming[] = [];
    for (let next = this.#next(); next !== undefined; next = this.#next()) complete.push(next);
    return complete;
  }

  #next(): Incoming | undefined {
    this.#skipEmptyLines();
    if (this.#buffer.length === 0) return undefined;
    return this.#buffer[0] === DOLLAR ? this.#frame() : this.#request();
  }

  #skipEmptyLines(): void {
    let at = 0;
    while (this.#buffer[at] === CARRIAGE_RETURN || this.#buffer[at] === LINE_FEED) at++;
    if (at > 0) this.#buffer = this.#buffer.subarray(at);
  }

  #frame(): InterleavedFrame | undefined {
    if (this.#buffer.length < 4) return undefined;
    const end = 4 + this.#buffer.readUInt16BE(2);
    if (this.#buffer.length < end) return undefined;
    const channel = this.#buffer.readUInt8(1);
    this.#buffer = this.#buffer.subarray(end);
    return { kind: 'interleaved', channel };
  }

  #request(): RtspRequest | undefined {
    const head = this.#buffer.indexOf(END_OF_HEADER);
    // If the end mark is not found, all but its last byte may already be in the buffer.
    const bytes = head < 0 ? this.#buffer.length - END_OF_HEADER.length + 1 : head;
    if (bytes > MAX_HEADER_BYTES) throw new ProtocolError(413);
    if (head < 0) return undefined;
    const request = parseHeader(this.#buffer.toString('utf8', 0, head));
    const begin = head + END_OF_HEADER.length;
    const end = begin + bodyLength(request.headers);
    if (this.#buffer.length < end) return undefined;
    const body = Buffer.from(this.#buffer.subarray(begin, end));
    this.#buffer = this.#buffer.subarray(end);
    return { ...request, body };
  }
}

function parseHeader(text: string): Omit<RtspRequest, 'body'> {
  const [requestLine = '', ...lines] = text.split('\r\n');
  if (lines.length > MAX_HEADER_LINES) throw new ProtocolError(413);
  const match = /^([A-Z_a-z]{1,32}) (\S+) (RTSP\/\d{1,3}\.\d{1,3})$/.exec(requestLine);
  const [, method, uri, version] = match ?? [];
  if (method === undefined || uri === undefined || version === undefined) throw new ProtocolError(400);
  return { kind: 'request', method, uri, version, headers: parseFields(lines) };
}

function parseFields(lines: readonly string[]): Map<string, string> {
  const headers = new Map<string, string>();
  for (const line of lines) {
    const colon = line.indexOf(':');
    if (colon < 1) throw new ProtocolError(400);
    const name = line.slice(0, colon).trim().toLowerCase();
    const value = line.slice(colon + 1).trim();
    const former = headers.get(name);
    headers.set(name, former === undefined ? value : `${former}, ${value}`);
  }
  return headers;
}

function bodyLength(headers: ReadonlyMap<string, string>): number {
  const text = headers.get('content-length') ?? '0';
  if (!/^\d{1,15}$/.test(text)) throw new ProtocolError(400);
  const length = Number(text);
  if (length > MAX_BODY_BYTES) throw new ProtocolError(413);
  return length;
}

/** Ends a connection with RST, so that the peer sees an error; a TLS connection is only destroyed. */
export function resetSocket(socket: Socket): void {
  if (socket instanceof TLSSocket) socket.destroy();
  else socket.resetAndDestroy();
}

const REASONS: Readonly<Record<number, string>> = {
  200: 'OK',
  301: 'Moved Permanently',
  302: 'Moved Temporarily',
  400: 'Bad Request',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'Not Found',
  405: 'Method Not Allowed',
  406: 'Not Acceptable',
  413: 'Request Entity Too Large',
  451: 'Parameter Not Understood',
  453: 'Not Enough Bandwidth',
  454: 'Session Not Found',
  455: 'Method Not Valid in This State',
  457: 'Invalid Range',
  461: 'Unsupported Transport',
  500: 'Internal Server Error',
  501: 'Not Implemented',
  503: 'Service Unavailable',
  505: 'RTSP Version Not Supported',
  551: 'Option Not Supported',
};

export interface RtspResponse {
  status: number;
  headers?: Readonly<Record<string, string>>;
  body?: string;
  /** Called once the answer is written: the first packet must not overtake the answer to PLAY. */
  afterwards?: () => void;
}

/** An answer as text; `Content-Length` counts bytes. `cseq` is undefined only if the client sent none. */
export function formatResponse(response: RtspResponse, cseq: string | undefined): string {
  const reason = REASONS[response.status] ?? 'Status';
  const body = response.body ?? '';
  const lines = [`RTSP/1.0 ${response.status} ${reason}`];
  if (cseq !== undefined) lines.push(`CSeq: ${cseq}`);
  for (const [name, value] of Object.entries(response.headers ?? {})) lines.push(`${name}: ${value}`);
  if (body !== '') lines.push(`Content-Length: ${Buffer.byteLength(body)}`);
  return `${lines.join('\r\n')}\r\n\r\n${body}`;
}

export type TransportKind = 'tcp' | 'udp';

/** One alternative of a `Transport` header that the server supports. */
export type TransportChoice =
  | { kind: 'tcp'; channels?: readonly [number, number] }
  | { kind: 'udp'; clientPorts: readonly [number, number] };

/**
 * The first alternative that is allowed and complete; undefined = none (461). `RTP/AVP` and `RTP/AVP/UDP` mean the same (RFC
 * 2326, section 12.39). A `destination` is ignored: packets go only to the address that the client's connection came from.
 */
export function chooseTransport(
  header: string,
  allowed: readonly TransportKind[],
): TransportChoice | undefined {
  for (const alternative of header.split(',')) {
    const choice = parseAlternative(alternative.trim());
    if (choice !== undefined && allowed.includes(choice.kind)) return choice;
  }
  return undefined;
}

function parseAlternative(text: string): TransportChoice | undefined {
  const [protocol = '', ...parameters] = text.split(';').map((part) => part.trim());
  const names = parameters.map((parameter) => parameter.toLowerCase());
  if (names.includes('multicast')) return undefined;
  const mode = names.find((name) => name.startsWith('mode='));
  if (mode !== undefined && !/^mode="?play"?$/.test(mode)) return undefined;
  switch (protocol.toUpperCase()) {
    case 'RTP/AVP/TCP':
      return interleaved(names);
    case 'RTP/AVP':
    case 'RTP/AVP/UDP':
      return datagrams(names);
    default:
      return undefined;
  }
}

function interleaved(names: readonly string[]): TransportChoice | undefined {
  const wanted = names.find((name) => name.startsWith('interleaved='));
  if (wanted === undefined) return { kind: 'tcp' };
  const channels = pair(wanted, 255);
  return channels && { kind: 'tcp', channels };
}

function datagrams(names: readonly string[]): TransportChoice | undefined {
  const clientPorts = pair(
    names.find((name) => name.startsWith('client_port=')),
    65_535,
  );
  return clientPorts && clientPorts[0] > 0 ? { kind: 'udp', clientPorts } : undefined;
}

// `name=5` means 5 and 6.
function pair(parameter: string | undefined, max: number): readonly [number, number] | undefined {
  const match = /^[a-z_]+=(\d{1,5})(?:-(\d{1,5}))?$/.exec(parameter ?? '');
  if (match === null) return undefined;
  const first = Number(match[1]);
  const second = match[2] === undefined ? first + 1 : Number(match[2]);
  return first <= max && second <= max && first !== second ? [first, second] : undefined;
}
