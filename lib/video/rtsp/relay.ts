import { lookup } from 'node:dns/promises';
import net, { BlockList, isIP, isIPv4 } from 'node:net';
import tls from 'node:tls';
import type { CancelToken } from '../../concurrency/signals';
import { cancellable, withTimeout } from '../../concurrency/timers';
import { RvmError } from '../../error';
import { type Login, loginOfUrl, relayOf } from '../../text';
import { tlsFault, tlsOptions, type TlsSettings } from '../../tls';

/** Which relays a stream may come from, by redirects too. */
export interface RelayRules {
  /**
   * A relay's host must be one of these, or end with a dot and one of these. If empty, the first URL may name any host, since
   * it came in an authenticated answer of the service, and a redirect must stay on that host.
   */
  suffixes: readonly string[];
  /** Whether addresses of this machine and of private networks are allowed. */
  localAllowed: boolean;
  /** A server of this package, such as the sandbox's: allowed at any address. */
  exempt?: { host: string; port: number };
}

interface HostPort {
  host: string;
  port: number;
}

function isExempt({ exempt }: RelayRules, { host, port }: HostPort): boolean {
  return exempt !== undefined && plainHost(exempt.host) === plainHost(host) && exempt.port === port;
}

/**
 * @param first the address of the first URL: the same object, unless a relay redirected to `address`
 * @throws RvmError UNTRUSTED_LINK for a host that is not allowed
 */
export function checkHost(rules: RelayRules, address: HostPort, first: HostPort): void {
  if (isExempt(rules, address)) return;
  const host = plainHost(address.host);
  if (rules.suffixes.length === 0 && host === plainHost(first.host)) return;
  if (rules.suffixes.some((suffix) => isBelow(host, plainHost(suffix)))) return;
  throw new RvmError(
    'UNTRUSTED_LINK',
    address === first
      ? 'The service sent to a video relay that is none of the relay hosts of the cloud; if it is right, add its host there.'
      : 'The video relay sent to another host; if that is right, add both hosts to the relay hosts of the cloud.',
  );
}

function isBelow(host: string, suffix: string): boolean {
  const plain = suffix.replace(/^\./, '');
  return plain !== '' && (host === plain || host.endsWith(`.${plain}`));
}

/** In lower case, without the brackets of IPv6 and the final dot of a fully qualified name. */
function plainHost(host: string): string {
  return host
    .trim()
    .toLowerCase()
    .replace(/^\[(.*)\]$/, '$1')
    .replace(/\.$/, '');
}

/** Milliseconds to connect to one address where there are several. */
const ADDRESS_MS = 1_000;

interface Way {
  host: string;
  port: number;
  isSecure: boolean;
  /** Resolved addresses; the name is not resolved again. Absent: the system resolves it. */
  addresses?: readonly Address[];
  /** TLS settings of the cloud. The certificate is checked against the host of the URL, not the `servername` of the service. */
  tls?: TlsSettings | undefined;
  /** Name of the relay in errors. */
  name: string;
  /** Milliseconds until the connection is established, TLS included. */
  ms: number;
}

/** @throws RvmError NETWORK, TLS, TIMEOUT, CONFIG_MISSING for unusable TLS settings; the reason of the abort */
export async function connect(way: Way, ending?: CancelToken): Promise<net.Socket> {
  const deadline = performance.now() + way.ms;
  const socket = await ready(plainSocket(way), 'connect', way, way.ms, ending);
  socket.setNoDelay(true);
  if (!way.isSecure) return socket;
  const left = Math.max(0, deadline - performance.now());
  return ready(encrypted(way, socket), 'secureConnect', way, left, ending);
}

function plainSocket({ host, port, addresses, isSecure }: Way): net.Socket {
  const [first, second] = addresses ?? [];
  const open = isSecure ? net.connect : connectWithOneBuffer;
  if (first === undefined) return open({ host, port });
  if (second === undefined) return open({ host: first.address, port });
  return open({
    host,
    port,
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: ADDRESS_MS,
    lookup: (_host, _options, found) => found(null, [...(addresses ?? [])]),
  });
}

function encrypted({ host, tls: settings }: Way, socket: net.Socket): tls.TLSSocket {
  const { servername: _ofTheService, ...options } = tlsOptions(settings);
  const name = host.replace(/\.$/, '');
  const servername = net.isIP(name) === 0 ? { servername: name } : {};
  return tls.connect({ ...options, ...servername, host: name, socket });
}

async function ready<Kind extends net.Socket>(
  socket: Kind,
  event: string,
  way: Way,
  ms: number,
  ending: CancelToken | undefined,
): Promise<Kind> {
  // The next owner listens for the end; without this listener an `error` event would end the process.
  socket.on('error', () => undefined);
  const opened = new Promise<Kind>((resolve, reject) => {
    const fail = (error = new Error('closed')): void => reject(connectionFault(way, error));
    socket.once(event, () => resolve(socket)).once('error', fail);
    socket.once('close', () => fail());
  });
  try {
    const inTime = withTimeout(opened, ms);
    const outcome = await (ending === undefined ? inTime : cancellable(ending, inTime));
    if (outcome === undefined) throw noAnswer(way);
    return outcome;
  } catch (error) {
    socket.destroy();
    throw error;
  }
}

function noAnswer({ name }: Way): RvmError {
  return new RvmError('TIMEOUT', `No answer from ${name}: a firewall may keep it from this machine.`);
}

function connectionFault(way: Way, error: Error): RvmError {
  const code = 'code' in error && typeof error.code === 'string' ? error.code : '';
  if (code === 'ETIMEDOUT') return noAnswer(way);
  const fault = way.isSecure ? tlsFault(code, error.message, 'relay') : undefined;
  if (fault !== undefined) return new RvmError('TLS', fault);
  const why = code === '' ? '' : ` (${code})`;
  return new RvmError('NETWORK', `No connection to ${way.name}${why}: a firewall may refuse this port.`);
}

/** Addresses of this machine, of private networks and of no single machine (IANA, special-purpose address registries). */
const LOCAL_IPV4: readonly [network: string, prefix: number][] = [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
];
const LOCAL_IPV6: readonly [network: string, prefix: number][] = [
  ['::', 128],
  ['::1', 128],
  ['fc00::', 7],
  ['fe80::', 10],
  ['fec0::', 10],
  ['ff00::', 8],
  // Translation to IPv4 for local use: each network decides where these addresses lead.
  ['64:ff9b:1::', 48],
  // Teredo: the IPv4 address within is obfuscated.
  ['2001::', 32],
];
/** Prefixes that put an IPv4 address into IPv6: as is, mapped, and translated (RFC 4291, section 2.5.5; RFC 2765; RFC 6052). */
const IPV4_WITHIN = ['::', '::ffff:', '::ffff:0:', '64:ff9b::'];
const LOCAL = localList();

function localList(): BlockList {
  const list = new BlockList();
  for (const [network, prefix] of LOCAL_IPV6) list.addSubnet(network, prefix, 'ipv6');
  for (const [network, prefix] of LOCAL_IPV4) {
    list.addSubnet(network, prefix, 'ipv4');
    for (const before of IPV4_WITHIN) list.addSubnet(`${before}${network}`, 96 + prefix, 'ipv6');
    list.addSubnet(`2002:${hexOf(network)}::`, 16 + prefix, 'ipv6');
  }
  return list;
}

/** The IPv4 address in hexadecimal groups, as in 6to4 (RFC 3056, section 2). */
function hexOf(address: string): string {
  const hex = address.split('.').map((part) => Number(part).toString(16).padStart(2, '0'));
  return `${hex.slice(0, 2).join('')}:${hex.slice(2).join('')}`;
}

/** Whether an IP address leads to this machine, to a private network or to none. */
export function isLocal(address: string): boolean {
  if (isIPv4(address)) return LOCAL.check(address, 'ipv4');
  const [plain = ''] = address.split('%');
  return LOCAL.check(plain, 'ipv6');
}

/** Bytes: as much as Node.js reads at a time. */
const SIZE = 64 * 1024;

/**
 * Connects with one read buffer that is reused: the bytes of a `data` event are valid until its listeners return. With a buffer
 * per read, the default of Node.js, a clip leaves megabytes of garbage before collection.
 */
function connectWithOneBuffer(options: net.TcpNetConnectOpts): net.Socket {
  const buffer = Buffer.allocUnsafeSlow(SIZE);
  const emitData = (length: number): boolean => {
    socket.emit('data', buffer.subarray(0, length));
    return true;
  };
  const socket: net.Socket = net.connect({ ...options, onread: { buffer, callback: emitData } });
  return socket;
}

/** Addresses tried per relay. */
const MOST = 4;

interface Address {
  address: string;
  family: number;
}

/**
 * The addresses of a relay that the rules allow. Connect to these only: the next resolution of the name may return others.
 * @throws RvmError NETWORK where the name has no address, UNTRUSTED_LINK where it has none that is allowed
 */
export async function resolveRelay(
  address: { host: string; port: number },
  rules: RelayRules,
): Promise<readonly Address[]> {
  const found = await addressesOf(address.host);
  const isFree = rules.localAllowed || isExempt(rules, address);
  const allowed = found.filter(({ address }) => isFree || !isLocal(address));
  if (allowed.length > 0) return allowed.slice(0, MOST);
  throw new RvmError(
    'UNTRUSTED_LINK',
    'The video relay has an address of this machine or of a private network; if it stands there, allow local relays in the cloud.',
  );
}

async function addressesOf(host: string): Promise<Address[]> {
  const family = isIP(host);
  if (family !== 0) return [{ address: host, family }];
  const found = await lookup(host, { all: true }).catch(() => []);
  if (found.length > 0) return found;
  throw new RvmError(
    'NETWORK',
    'The name of the video relay cannot be resolved: check the DNS of this machine and its way to the internet.',
  );
}

/** The parts of an RTSP URL. The login must not appear in a request line. */
export interface Target {
  /** The URL without its login. */
  url: string;
  isSecure: boolean;
  /** Without the brackets of IPv6. */
  host: string;
  port: number;
  login: Login | undefined;
}

/** @returns undefined where the text is not an RTSP URL, or one that no player can safely open */
export function targetOf(text: string): Target | undefined {
  const relay = relayOf(text);
  if (relay === undefined) return undefined;
  const url = new URL(text);
  const login = loginOfUrl(url);
  url.username = '';
  url.password = '';
  return {
    url: url.href,
    isSecure: relay.scheme === 'rtsps',
    host: relay.host.replace(/^\[(.*)\]$/, '$1'),
    port: relay.port,
    login,
  };
}

/**
 * The target of a redirect. The login stays on the same host, unless the redirect contains its own (RFC 2326,
 * section 11.3).
 * @throws RvmError VIDEO_FAILED where the location is not an RTSP URL; UNTRUSTED_LINK where it would give up
 *   encryption
 */
export function redirectedTo(location: string, from: Target): Target {
  const target = targetOf(location);
  if (target === undefined) {
    throw new RvmError(
      'VIDEO_FAILED',
      'The video relay sends to an address that is no RTSP URL; report it to the service.',
    );
  }
  if (from.isSecure && !target.isSecure) {
    throw new RvmError(
      'UNTRUSTED_LINK',
      'The video relay sends from an encrypted connection to one in clear; report it to the service.',
    );
  }
  const isSameHost = target.host.toLowerCase() === from.host.toLowerCase();
  return { ...target, login: target.login ?? (isSameHost ? from.login : undefined) };
}
