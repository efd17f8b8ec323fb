import { BlockList, isIP, isIPv6 } from 'node:net';
import { domainToASCII } from 'node:url';
import { RvmError, type RvmErrorCause } from '../../error';
import { basicAuthorization, type Login, loginOfUrl, variableIn } from '../../text';
import { tlsFault } from '../../tls';

/** How the service is reached. */
export type ProxySettings =
  | { kind: 'none' }
  /** From the variables http_proxy, https_proxy and no_proxy, in lower or upper case. */
  | { kind: 'environment' }
  | {
      kind: 'proxy';
      /** `http://` or `https://`; without a scheme it is `http://`. */
      url: string;
      /** Take precedence over those in the address. */
      username?: string;
      password?: string;
      /** Addresses that are reached directly, as in no_proxy. */
      except: readonly string[];
    };

/** A forward proxy. */
export interface Proxy {
  readonly protocol: 'http:' | 'https:';
  /** Without the brackets of IPv6. */
  readonly hostname: string;
  readonly port: number;
  /** Value of `Proxy-Authorization`, where there is a user. */
  readonly authorization?: string;
}

type ProxyChoice = (target: URL) => Proxy | undefined;

const DEFAULT_PORTS = { 'http:': 80, 'https:': 443 } as const;
const SCHEME = /^[a-z][a-z\d+.-]*:\/\//i;

/**
 * Returns the function that selects the proxy, if any, for an address of the service.
 * @throws RvmError CONFIG_MISSING for an unusable address of a proxy; that of a variable only when a target
 *   needs it
 */
export function proxyChoice(settings: ProxySettings): ProxyChoice {
  switch (settings.kind) {
    case 'none':
      return () => undefined;
    case 'environment':
      return environmentChoice();
    case 'proxy': {
      const proxy = parseProxy(settings.url, 'of the proxy node', loginOf(settings));
      const exceptions = new ProxyExceptions(settings.except);
      return (target) => (exceptions.has(target) ? undefined : proxy);
    }
    default:
      return settings satisfies never;
  }
}

/** Texts that no error may repeat: passwords of proxies, alone and together with their user. */
export function proxySecrets(settings: ProxySettings): string[] {
  const secrets = proxyLogins(settings).flatMap(({ username, password }) =>
    password === '' ? [] : [password, `${username}:${password}`],
  );
  return [...new Set(secrets)];
}

/** All logins that a proxy may receive. */
export function proxyLogins(settings: ProxySettings): Login[] {
  if (settings.kind === 'none') return [];
  const addresses =
    settings.kind === 'proxy' ? [settings.url] : ['http:', 'https:'].map((scheme) => variable(scheme).value);
  const logins = addresses.map((address) => loginIn(address));
  if (settings.kind === 'proxy') logins.push(loginOf(settings));
  return logins.filter((login) => login !== undefined);
}

/** Each scheme has its own variable, as in other programs: http_proxy does not apply to https://. */
function environmentChoice(): ProxyChoice {
  const exceptions = new ProxyExceptions(valueOf('no_proxy').value.split(/[,\s]+/));
  return (target) => {
    const { name, value } = variable(target.protocol);
    if (value === '' || exceptions.has(target)) return undefined;
    return parseProxy(value, `in the variable ${name}`);
  };
}

function variable(protocol: string): { name: string; value: string } {
  return valueOf(protocol === 'https:' ? 'https_proxy' : 'http_proxy');
}

/** An empty variable counts as none. */
function valueOf(name: string): { name: string; value: string } {
  const names = [name, name.toUpperCase()];
  const found = names.find((candidate) => (process.env[candidate] ?? '').trim() !== '') ?? name;
  return { name: found, value: (process.env[found] ?? '').trim() };
}

function parseProxy(text: string, where: string, login = loginIn(text)): Proxy {
  const unset = variableIn(text);
  if (unset !== undefined)
    throw unusable(where, `stands for the environment variable ${unset}, which is not set`);
  if (text.trim() === '') throw unusable(where, 'is empty');
  const url = parseAddress(text);
  if (url === undefined) throw unusable(where, 'cannot be read');
  const { protocol, hostname, port } = url;
  if (protocol !== 'http:' && protocol !== 'https:') throw unusable(where, `begins with ${protocol}//`);
  return {
    protocol,
    hostname: hostname.replace(/^\[(.*)\]$/, '$1'),
    port: Number(port === '' ? DEFAULT_PORTS[protocol] : port),
    ...(login === undefined ? {} : { authorization: basicAuthorization(login) }),
  };
}

function loginOf(settings: { url: string; username?: string; password?: string }): Login | undefined {
  const { username = '', password = '' } = settings;
  return username === '' && password === '' ? loginIn(settings.url) : { username, password };
}

function loginIn(address: string): Login | undefined {
  const url = parseAddress(address);
  return url && loginOfUrl(url);
}

/** The scheme is optional: many users write `proxy.example:3128`. */
function parseAddress(text: string): URL | undefined {
  const trimmed = text.trim();
  const address = SCHEME.test(trimmed) ? trimmed : `http://${trimmed}`;
  return URL.canParse(address) ? new URL(address) : undefined;
}

/** Does not repeat the address, which may contain a password. */
function unusable(where: string, reason: string): RvmError {
  return new RvmError(
    'CONFIG_MISSING',
    `The proxy address ${where} ${reason}: enter one such as http://proxy.example:3128.`,
  );
}

interface NamedException {
  /** A name including all its subdomains, or one address. */
  host: string;
  /** Undefined means any port. */
  port: number | undefined;
}

/**
 * Addresses that are reached without a proxy, as in no_proxy: `*`, a name including its subdomains (`example.com`,
 * `.example.com`, `*.example.com`), an address (`10.0.0.5`, `::1`), each with or without a port, or a range of addresses
 * (`10.0.0.0/8`).
 */
export class ProxyExceptions {
  readonly #names: NamedException[] = [];
  readonly #ranges = new BlockList();
  #all = false;

  constructor(entries: readonly string[]) {
    for (const entry of entries) this.#add(withoutScheme(entry.trim().toLowerCase()));
  }

  has(target: URL): boolean {
    if (this.#all) return true;
    const host = target.hostname.replace(/^\[(.*)\]$/, '$1');
    const port = Number(target.port) || (target.protocol === 'https:' ? 443 : 80);
    if (isIP(host) !== 0 && this.#ranges.check(host, isIPv6(host) ? 'ipv6' : 'ipv4')) return true;
    return this.#names.some(
      (entry) =>
        (entry.port === undefined || entry.port === port) &&
        (host === entry.host || host.endsWith(`.${entry.host}`)),
    );
  }

  #add(entry: string): void {
    if (entry === '') return;
    if (entry === '*') {
      this.#all = true;
      return;
    }
    const range = /^([\d.]+|[\da-f:.]+)\/(\d{1,3})$/.exec(entry);
    if (range !== null) this.#addRange(range[1] ?? '', Number(range[2]));
    else this.#names.push(namedException(entry));
  }

  /** An invalid range is ignored. */
  #addRange(address: string, prefix: number): void {
    const version = isIP(address);
    if (version === 0 || prefix > (version === 6 ? 128 : 32)) return;
    this.#ranges.addSubnet(address, prefix, version === 6 ? 'ipv6' : 'ipv4');
  }
}

/** Some users enter addresses as in a browser. */
function withoutScheme(entry: string): string {
  const address = /^[a-z]+:\/\/([^/]*)/.exec(entry);
  return address?.[1] ?? entry;
}

function namedException(entry: string): NamedException {
  const inBrackets = /^\[([^\]]*)\](?::(\d+))?$/.exec(entry);
  if (inBrackets !== null) return { host: canonical(inBrackets[1] ?? ''), port: portOf(inBrackets[2]) };
  if (isIPv6(entry)) return { host: canonical(entry), port: undefined };
  const [host = '', port] = entry.split(':');
  return { host: canonical(host.replace(/^\*?\.?/, '')), port: portOf(port) };
}

function portOf(text: string | undefined): number | undefined {
  return text === undefined ? undefined : Number(text);
}

/** In the form that it has in a URL. */
function canonical(host: string): string {
  if (isIPv6(host)) return new URL(`http://[${host}]`).hostname.slice(1, -1);
  return domainToASCII(host) || host;
}

/** Why the proxy, or the connection to it, failed: a status of its answer, or an error code. */
type Reason = { status: number } | { code: string; message: string };

/** Codes of a connection that was not answered in time. */
export const TIMEOUTS: ReadonlySet<string> = new Set(['UND_ERR_CONNECT_TIMEOUT', 'ETIMEDOUT']);
/** Some proxies answer 401 to a wrong login. */
const LOGIN_WANTED: readonly number[] = [407, 401];

/**
 * The proxy provides no connection to the service. This error passes through the HTTP client unchanged and becomes an
 * `RvmError` where the request is known.
 */
export class ProxyFault extends Error {
  override readonly name = 'ProxyFault';
  readonly #proxy: Proxy;
  readonly #reason: Reason;

  constructor(proxy: Proxy, reason: Reason) {
    super('The proxy gives no connection.');
    this.#proxy = proxy;
    this.#reason = reason;
  }

  static from(proxy: Proxy, error: Error): ProxyFault {
    const code = 'code' in error && typeof error.code === 'string' ? error.code : '';
    return new ProxyFault(proxy, { code, message: error.message });
  }

  toRvmError(cause: RvmErrorCause): RvmError {
    if ('status' in this.#reason) {
      const { status } = this.#reason;
      return new RvmError('NETWORK', this.#refusal(status), { ...cause, status });
    }
    const { code, message } = this.#reason;
    if (TIMEOUTS.has(code)) {
      return new RvmError(
        'TIMEOUT',
        `The proxy ${this.#address} did not answer in time; check that it works.`,
        cause,
      );
    }
    const tls = this.#proxy.protocol === 'https:' ? tlsFault(code, message, 'proxy') : undefined;
    if (tls !== undefined) return new RvmError('TLS', tls, cause);
    if (code.startsWith('HPE_')) {
      return new RvmError(
        'NETWORK',
        `What answers at ${this.#address} is no proxy (${code}); check its address.`,
        cause,
      );
    }
    return new RvmError(
      'NETWORK',
      `The proxy ${this.#address} cannot be reached${code === '' ? '' : ` (${code})`}; check its address and the network.`,
      cause,
    );
  }

  #refusal(status: number): string {
    if (LOGIN_WANTED.includes(status)) {
      return this.#proxy.authorization === undefined
        ? `The proxy ${this.#address} asks for a user and a password: enter them with its address.`
        : `The proxy ${this.#address} does not accept its user and password: correct them (it must allow a basic login).`;
    }
    return status >= 500
      ? `The proxy ${this.#address} does not reach the service (status ${status}); check the address of the cloud, then the proxy.`
      : `The proxy ${this.#address} refuses a connection to the service (status ${status}): have its address and port allowed there.`;
  }

  get #address(): string {
    const { hostname, port } = this.#proxy;
    return `${hostname.includes(':') ? `[${hostname}]` : hostname}:${port}`;
  }
}
