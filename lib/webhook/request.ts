import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { BlockList, isIP, isIPv6, type Socket } from 'node:net';
import { GrowingBuffer } from '../bytes';
import { lenientTimeout } from '../concurrency/timers';
import { RvmError } from '../error';

type BodyReading =
  | { kind: 'complete'; body: Buffer }
  /** The body exceeds the limit; the rest is still being sent. */
  | { kind: 'too-large'; bytes: number }
  /** The deadline passed before the end. */
  | { kind: 'too-slow' }
  /** The sender went away. */
  | { kind: 'aborted' }
  /** An earlier handler read the stream: the exact bytes are lost. */
  | { kind: 'missing' };

interface BodyLimits {
  /** Longest body, in bytes. */
  bytes: number;
  /** Milliseconds for the whole body. */
  deadline: number;
}

/**
 * Reads the exact bytes of a request. Never rejects. A body that an earlier parser has read is no substitute: serialised again,
 * it would not be the bytes that were signed.
 * @param onGrowth called with the memory of the body, in bytes, whenever it grows
 */
export function readRawBody(
  req: IncomingMessage,
  limits: BodyLimits,
  onGrowth: (bytes: number) => void,
): Promise<BodyReading> {
  if (req.readableDidRead || req.readableEnded || req.readableEncoding !== null) {
    return Promise.resolve({ kind: 'missing' });
  }
  if (req.destroyed) return Promise.resolve({ kind: 'aborted' });
  return new Promise((resolve) => {
    const body = new GrowingBuffer(
      Math.min(declaredLength(req.headers) ?? MOST_AT_FIRST, MOST_AT_FIRST),
      onGrowth,
    );
    const timer = lenientTimeout(() => finish({ kind: 'too-slow' }), limits.deadline);
    const onData = (chunk: Buffer): void => {
      const bytes = body.length + chunk.length;
      if (bytes > limits.bytes) finish({ kind: 'too-large', bytes });
      else body.append(chunk);
    };
    const onEnd = (): void =>
      finish(req.complete ? { kind: 'complete', body: body.content() } : { kind: 'aborted' });
    const onGone = (): void => finish({ kind: 'aborted' });

    function finish(reading: BodyReading): void {
      clearTimeout(timer);
      req.off('data', onData).off('end', onEnd).off('error', onGone).off('close', onGone);
      // A later error, such as a reset of the connection, has no other listener.
      req.on('error', () => undefined);
      resolve(reading);
    }
    req.on('data', onData).on('end', onEnd).on('error', onGone).on('close', onGone);
  });
}

/** Bytes allocated at first for a body: enough for nearly all of them. */
const MOST_AT_FIRST = 4096;

/** Longest body, in bytes: events are about 2 kB. */
export const BODY_LIMIT = 1024 * 1024;

/** Why a request is refused by its head alone, before any byte of its body is read. */
export type HeadRejection = 'method' | 'compressed' | 'large';

/** The fields of a head that can cause a refusal. */
export interface RequestHead {
  method?: string | undefined;
  headers: Pick<IncomingHttpHeaders, 'content-encoding' | 'content-length' | 'transfer-encoding'>;
}

/**
 * Checks the head of a request on a webhook path. Any content type is accepted. A compressed body is not, because it would have
 * to be inflated before it is proven.
 */
export function checkHead(head: RequestHead, bodyLimit: number): HeadRejection | undefined {
  if (head.method !== 'POST') return 'method';
  const coding = head.headers['content-encoding']?.trim().toLowerCase() ?? '';
  if (coding !== '' && coding !== 'identity') return 'compressed';
  // Node's parser decodes only `chunked`, and leaves the codings inside it; it refuses any other coding by
  // itself.
  if (/,\s*chunked\s*$/i.test(head.headers['transfer-encoding'] ?? '')) return 'compressed';
  const length = declaredLength(head.headers);
  return length !== undefined && length > bodyLimit ? 'large' : undefined;
}

/** Length a request declares, in bytes; undefined where it declares none. */
export function declaredLength(headers: Pick<IncomingHttpHeaders, 'content-length'>): number | undefined {
  const header = headers['content-length'];
  return header === undefined ? undefined : Number(header);
}

/** Node stores this many raw header entries (1,000 lines); with more lines, some are missing. */
const KEPT_RAW_HEADERS = 2000;

/** Whether a request may have header lines that nobody sees here, such as a second `Authorization`. */
export function mayHideHeaders(req: IncomingMessage): boolean {
  return req.rawHeaders.length >= KEPT_RAW_HEADERS;
}

/** A request, or a connection, that is not complete. */
export interface Unfinished {
  socket: Socket;
  /** Memory of its body, in bytes. */
  bytes: number;
  /** Start, in milliseconds of the monotonic clock. */
  since: number;
  /** Stored here, because a closed socket has no address; '' = not counted by address. */
  address: string;
}

interface UnfinishedBounds {
  /** Memory for all bodies together, in bytes. */
  maxHeld: number;
  /** Limit for all counted addresses together. Default: none. */
  maxCount?: number;
  /** An address that many of them share is not counted. */
  senders: Pick<Senders, 'isShared'>;
  /** Monotonic clock, in milliseconds. */
  monotonic: () => number;
  /** Called for each request that is cut. */
  onCut: () => void;
}

/** Unfinished requests of one unshared address: a sender needs a handful, an attacker many. */
const MAX_FOR_ADDRESS = 50;
/**
 * That limit spares requests younger than this, in milliseconds: all senders may be behind one address, an alarm among them.
 */
const TIME_TO_FINISH = 2000;

/**
 * Guards the requests whose body is still being sent, or the connections without a complete request. Above a limit the oldest
 * are cut, and a new one is never turned away: a real alarm is complete in a moment, and a slow request is not worth waiting
 * for. Shared addresses, such as that of a reverse proxy, are limited by memory alone.
 */
export class SlowRequestGuard {
  /** Oldest first, as in the sets by address. */
  readonly #requests = new Set<Unfinished>();
  readonly #ofAddress = new Map<string, Set<Unfinished>>();
  #bytes = 0;
  #counted = 0;

  constructor(private readonly bounds: UnfinishedBounds) {}

  /** @param sender address it is counted by; undefined where the connection is closed already */
  add(socket: Socket, sender = ''): Unfinished {
    const address = this.bounds.senders.isShared(sender) ? '' : sender;
    const request = { socket, bytes: 0, since: this.bounds.monotonic(), address };
    this.#requests.add(request);
    if (address !== '') this.#addTo(address, request);
    return request;
  }

  /** Records that the memory of a body has grown to `bytes` bytes. */
  grow(request: Unfinished, bytes: number): void {
    if (!this.#requests.has(request)) return;
    this.#bytes += bytes - request.bytes;
    request.bytes = bytes;
    for (const oldest of this.#requests) {
      if (this.#bytes <= this.bounds.maxHeld) return;
      this.#cut(oldest);
    }
  }

  remove(request: Unfinished): void {
    if (!this.#requests.delete(request)) return;
    this.#bytes -= request.bytes;
    const requests = this.#ofAddress.get(request.address);
    if (requests?.delete(request)) this.#counted -= 1;
    if (requests?.size === 0) this.#ofAddress.delete(request.address);
  }

  #addTo(address: string, request: Unfinished): void {
    const requests = this.#ofAddress.get(address) ?? new Set<Unfinished>();
    this.#ofAddress.set(address, requests);
    requests.add(request);
    this.#counted += 1;
    if (this.#counted > (this.bounds.maxCount ?? Infinity)) this.#cutOfLargest();
    const latest = request.since - TIME_TO_FINISH;
    for (const oldest of requests) {
      if (requests.size <= MAX_FOR_ADDRESS || oldest.since > latest) return;
      this.#cut(oldest);
    }
  }

  /** Of the address with the most requests, so that it cannot drive out the only request of another. */
  #cutOfLargest(): void {
    let largest: Set<Unfinished> | undefined;
    for (const requests of this.#ofAddress.values())
      if (largest === undefined || requests.size > largest.size) largest = requests;
    for (const oldest of largest ?? []) return this.#cut(oldest);
  }

  #cut(request: Unfinished): void {
    this.remove(request);
    request.socket.destroy();
    this.bounds.onCut();
  }
}

/** The parts that tell where a request comes from; before its head is read, only its connection. */
export type RequestSource = Pick<IncomingMessage, 'socket' | 'headers'>;

const LOOPBACK = /^(?:::ffff:)?127\.|^::1$/;
/** Longest address, its zone included, that is accepted from a header. */
const MAX_LENGTH = 64;
/** Some proxies append the port to the address. */
const WITH_PORT = /^(?:\[([^\]]+)\](?::\d+)?|([\d.]+):\d+)$/;

/**
 * The sender of a request, for problems, logs and limits; never a reason to trust the request. It is the peer of the connection
 * or, where that is a configured reverse proxy, the address that the proxy names in `X-Forwarded-For`.
 */
export class Senders {
  /** Undefined where there are none, which saves the checks. */
  #proxies: BlockList | undefined;

  /** @throws RvmError BAD_INPUT that names the text which is no IP address; the former proxies then stay in force */
  setProxies(addresses: readonly string[]): void {
    const proxies = new BlockList();
    for (const address of addresses) {
      if (isIP(address) === 0) throw noAddress(address);
      proxies.addAddress(withoutZone(address), familyOf(address));
    }
    this.#proxies = addresses.length === 0 ? undefined : proxies;
  }

  /** Undefined once the connection is closed. */
  addressOf(req: RequestSource): string | undefined {
    let sender = req.socket.remoteAddress;
    if (this.#proxies === undefined) return sender;
    // Each proxy appends its peer: entries before the last one that is no proxy of ours may be invented.
    const claimed = [req.headers['x-forwarded-for'] ?? []].flat().join(',').split(',').reverse();
    for (const entry of claimed) {
      const address = addressIn(entry);
      if (sender === undefined || !this.#isProxy(sender) || address === undefined) break;
      sender = address;
    }
    return sender;
  }

  /** True for an address of many senders, that is, this machine or a proxy: no limit counts by it. */
  isShared(address: string): boolean {
    return LOOPBACK.test(address) || this.#isProxy(address);
  }

  #isProxy(address: string): boolean {
    const proxies = this.#proxies;
    if (proxies === undefined || isIP(address) === 0) return false;
    return proxies.check(withoutZone(address), familyOf(address));
  }
}

function addressIn(entry: string): string | undefined {
  const text = entry.trim();
  const [, inBrackets, beforePort] = WITH_PORT.exec(text) ?? [];
  const address = inBrackets ?? beforePort ?? text;
  return isIP(address) !== 0 && address.length <= MAX_LENGTH ? address : undefined;
}

function familyOf(address: string): 'ipv4' | 'ipv6' {
  return isIPv6(address) ? 'ipv6' : 'ipv4';
}

function withoutZone(address: string): string {
  return address.replace(/%.*$/, '');
}

function noAddress(text: string): RvmError {
  return new RvmError(
    'BAD_INPUT',
    `"${text}" is no address of a reverse proxy: enter IP addresses such as 10.0.0.5 in the listener, separated by commas.`,
  );
}
