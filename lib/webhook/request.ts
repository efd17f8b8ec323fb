import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { BlockList, isIP, isIPv6, type Socket } from 'node:net';
import { GrowingBuffer } from '../bytes';
import { lenientTimeout } from '../concurrency/timers';
import { RvmError } from '../error';

type BodyReading =
  | { kind: 'complete'; body: Buffer }
  /** More than the limit came; the rest is still on its way. */
  | { kind: 'too-large'; bytes: number }
  /** The deadline passed before the end. */
  | { kind: 'too-slow' }
  /** The sender went away. */
  | { kind: 'aborted' }
  /** Something in front read the stream: the exact bytes are gone. */
  | { kind: 'missing' };

interface BodyLimits {
  /** Longest body, in bytes. */
  bytes: number;
  /** Milliseconds for the whole body. */
  deadline: number;
}

/**
 * Reads the exact bytes of a request. Never rejects. What a parser in front made of a body is no substitute: written
 * anew it would not be the bytes that were signed.
 * @param onGrowth told how many bytes of memory the body takes, whenever that grows
 */
export function readRawBody(
  req: IncomingMessage,
  limits: BodyLimits,
  onGrowth: (held: number) => void,
): Promise<BodyReading> {
  if (req.readableDidRead || req.readableEnded || req.readableEncoding !== null) {
    return Promise.resolve({ kind: 'missing' });
  }
  if (req.destroyed) return Promise.resolve({ kind: 'aborted' });
  return collect(req, limits, onGrowth);
}

function collect(
  req: IncomingMessage,
  limits: BodyLimits,
  onGrowth: (held: number) => void,
): Promise<BodyReading> {
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
      // An error that still comes, such as the reset of the connection, has no other listener.
      req.on('error', () => undefined);
      resolve(reading);
    }
    req.on('data', onData).on('end', onEnd).on('error', onGone).on('close', onGone);
  });
}

/** Bytes that are set aside for a body of which nothing more is known: as many as nearly all of them have. */
const MOST_AT_FIRST = 4096;

/** Longest body, in bytes: events are about 2 kB. */
export const BODY_LIMIT = 1024 * 1024;

/** Why a request is refused by its head alone, before a byte of its body is read. */
export type HeadRejection = 'method' | 'compressed' | 'large';

/** The head of a request, as far as it can refuse one. */
export interface RequestHead {
  method?: string | undefined;
  headers: Pick<IncomingHttpHeaders, 'content-encoding' | 'content-length' | 'transfer-encoding'>;
}

/**
 * Judges the head of a request on a webhook path. Any content type is taken; only a compressed body is not, because it
 * would have to be inflated before it is proven.
 */
export function checkHead(head: RequestHead, bodyLimit: number): HeadRejection | undefined {
  if (head.method !== 'POST') return 'method';
  const coding = head.headers['content-encoding']?.trim().toLowerCase() ?? '';
  if (coding !== '' && coding !== 'identity') return 'compressed';
  // Node's parser undoes chunks alone, and lets what is inside them pass; anything else it refuses by itself.
  if (/,\s*chunked\s*$/i.test(head.headers['transfer-encoding'] ?? '')) return 'compressed';
  const length = declaredLength(head.headers);
  return length !== undefined && length > bodyLimit ? 'large' : undefined;
}

/** Length a request declares, in bytes; undefined where it declares none. */
export function declaredLength(headers: Pick<IncomingHttpHeaders, 'content-length'>): number | undefined {
  const header = headers['content-length'];
  return header === undefined ? undefined : Number(header);
}

/** A request, or a connection, that has not come to its end. */
export interface Unfinished {
  socket: Socket;
  /** Memory held for its body, in bytes. */
  held: number;
  /** When it began, in milliseconds of a clock that never jumps. */
  since: number;
  /** Kept here, because a socket that has gone has none; '' = not counted by address. */
  address: string;
}

interface UnfinishedBounds {
  /** Memory for all bodies together, in bytes. */
  maxHeld: number;
  /** Of all addresses that are counted, together. Default: no bound. */
  maxCount?: number;
  /** True for an address that many share, which is not counted. */
  isShared: (address: string) => boolean;
  /** Milliseconds of a clock that never jumps. */
  steady: () => number;
  /** Told of each request that is cut. */
  onCut: () => void;
}

/** Unfinished requests of one address that is not shared: a sender needs a handful, an attacker many. */
const MAX_FOR_ADDRESS = 50;
/** Younger ones are spared by that bound, in milliseconds: behind one address may be everybody, an alarm among them. */
const TIME_TO_FINISH = 2000;

/**
 * The requests whose body is still on its way, or the connections without a complete request. Above a bound the oldest
 * are cut, and never a new one turned away: a real alarm is complete in a moment, and what lingers is not worth waiting
 * for. Addresses that many share, as behind a reverse proxy, are bound by memory alone.
 */
export class SlowRequestGuard {
  /** Oldest first, as in the sets of the addresses. */
  readonly #requests = new Set<Unfinished>();
  readonly #ofAddress = new Map<string, Set<Unfinished>>();
  #held = 0;
  #counted = 0;

  constructor(private readonly bounds: UnfinishedBounds) {}

  /** @param sender address it is counted by; undefined where the connection is gone already */
  add(socket: Socket, sender = ''): Unfinished {
    const address = this.bounds.isShared(sender) ? '' : sender;
    const request = { socket, held: 0, since: this.bounds.steady(), address };
    this.#requests.add(request);
    if (address !== '') this.#addTo(address, request);
    return request;
  }

  /** Notes that memory for a body has grown to `held` bytes. */
  grow(request: Unfinished, held: number): void {
    if (!this.#requests.has(request)) return;
    this.#held += held - request.held;
    request.held = held;
    for (const oldest of this.#requests) {
      if (this.#held <= this.bounds.maxHeld) return;
      this.#cut(oldest);
    }
  }

  remove(request: Unfinished): void {
    if (!this.#requests.delete(request)) return;
    this.#held -= request.held;
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

  /** One address that has many cannot drive out the only one of another. */
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

/** What tells where a request comes from; of one that is not read yet, its connection. */
export type RequestSource = Pick<IncomingMessage, 'socket' | 'headers'>;

const LOOPBACK = /^(?:::ffff:)?127\.|^::1$/;
/** The longest address, its zone included, that is shown. */
const MAX_LENGTH = 64;
/** Some proxies write the port behind the address. */
const WITH_PORT = /^(?:\[([^\]]+)\](?::\d+)?|([\d.]+):\d+)$/;

/**
 * Who sent a request, for problems, logs and bounds; never a reason to trust it. The peer of the connection, or, where
 * that is a configured reverse proxy, the address that the proxy names in `X-Forwarded-For`.
 */
export class Senders {
  /** Undefined where there are none: then nothing has to be looked up. */
  #proxies: BlockList | undefined;

  /** @throws RvmError BAD_INPUT that names what is no IP address; then those of before go on to count. */
  setProxies(addresses: readonly string[]): void {
    const proxies = new BlockList();
    for (const address of addresses) {
      if (isIP(address) === 0) throw noAddress(address);
      proxies.addAddress(withoutZone(address), familyOf(address));
    }
    this.#proxies = addresses.length === 0 ? undefined : proxies;
  }

  /** Undefined once the connection is gone. */
  addressOf(req: RequestSource): string | undefined {
    let sender = req.socket.remoteAddress;
    if (this.#proxies === undefined) return sender;
    // Each proxy adds its peer at the end: what stands before the last one that is not ours may be anybody's invention.
    const claimed = [req.headers['x-forwarded-for'] ?? []].flat().join(',').split(',').reverse();
    for (const entry of claimed) {
      const address = addressIn(entry);
      if (sender === undefined || !this.#isProxy(sender) || address === undefined) break;
      sender = address;
    }
    return sender;
  }

  /** True for an address that many may send from, this machine or a proxy: no bound counts by it. */
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
