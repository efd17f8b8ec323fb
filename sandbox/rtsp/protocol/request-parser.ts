/** Bounds on what one client may send; beyond them its connection is closed. */
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
  /** Names in lower case; of repeated ones the values are joined by a comma. */
  headers: ReadonlyMap<string, string>;
  body: Buffer;
}

/** Binary data between requests, such as the receiver reports of a player (RFC 2326, section 10.12). */
export interface InterleavedFrame {
  kind: 'interleaved';
  channel: number;
}

export type Incoming = RtspRequest | InterleavedFrame;

/** What came in is no RTSP: `status` is the answer before the connection is closed. */
export class ProtocolError extends Error {
  readonly status: 400 | 413;

  constructor(status: 400 | 413) {
    super('The client does not speak RTSP.');
    this.status = status;
  }
}

interface Header {
  request: Omit<RtspRequest, 'body'>;
  bytes: number;
  bodyBytes: number;
}

/** Cuts the bytes of a connection into requests and interleaved frames, however they are split into segments. */
export class RequestParser {
  #buffer: Buffer = Buffer.alloc(0);

  /**
   * Takes the next bytes and returns what is complete now.
   * Throws ProtocolError for anything malformed or too large; the parser is unusable afterwards.
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
    const header = this.#header();
    if (header === undefined) return undefined;
    const end = header.bytes + header.bodyBytes;
    if (this.#buffer.length < end) return undefined;
    const body = Buffer.from(this.#buffer.subarray(header.bytes, end));
    this.#buffer = this.#buffer.subarray(end);
    return { ...header.request, body };
  }

  #header(): Header | undefined {
    const end = this.#buffer.indexOf(END_OF_HEADER);
    // Where the end is not there yet, all of it but its last byte may be.
    const bytes = end < 0 ? this.#buffer.length - END_OF_HEADER.length + 1 : end;
    if (bytes > MAX_HEADER_BYTES) throw new ProtocolError(413);
    if (end < 0) return undefined;
    return parseHeader(this.#buffer.toString('utf8', 0, end), end + END_OF_HEADER.length);
  }
}

function parseHeader(text: string, bytes: number): Header {
  const [requestLine = '', ...lines] = text.split('\r\n');
  if (lines.length > MAX_HEADER_LINES) throw new ProtocolError(413);
  const match = /^([A-Z_a-z]{1,32}) (\S+) (RTSP\/\d{1,3}\.\d{1,3})$/.exec(requestLine);
  const [, method, uri, version] = match ?? [];
  if (method === undefined || uri === undefined || version === undefined) throw new ProtocolError(400);
  const headers = parseFields(lines);
  return {
    request: { kind: 'request', method, uri, version, headers },
    bytes,
    bodyBytes: bodyLength(headers),
  };
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
