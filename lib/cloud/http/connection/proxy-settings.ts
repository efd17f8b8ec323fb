import { variableIn, basicAuthorization, loginOfUrl, type Login } from '../../../text';
import { RvmError } from '../../../error';
import { ProxyExceptions } from './proxy-exceptions';

/** How the service is reached. */
export type ProxySettings =
  | { kind: 'none' }
  /** By the variables http_proxy, https_proxy and no_proxy, in small letters or capitals. */
  | { kind: 'environment' }
  | {
      kind: 'proxy';
      /** `http://` or `https://`; without a scheme it is `http://`. */
      url: string;
      /** Go before those in the address. */
      username?: string;
      password?: string;
      /** What is reached directly: as in no_proxy. */
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

const SCHEME = /^[a-z][a-z\d+.-]*:\/\//i;

/**
 * Tells for each address of the service by which proxy it is reached, if by any.
 * @throws RvmError CONFIG_MISSING for an address of a proxy that cannot be used; that of a variable only where a
 *   target would need it
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

/** What no error may repeat: passwords of proxies, alone and together with their user. */
export function proxySecrets(settings: ProxySettings): string[] {
  const secrets = proxyLogins(settings).flatMap(({ username, password }) =>
    password === '' ? [] : [password, `${username}:${password}`],
  );
  return [...new Set(secrets)];
}

/** All that may be shown to a proxy. */
export function proxyLogins(settings: ProxySettings): Login[] {
  if (settings.kind === 'none') return [];
  const addresses =
    settings.kind === 'proxy' ? [settings.url] : ['http:', 'https:'].map((scheme) => variable(scheme).value);
  const logins = addresses.map((address) => loginIn(address));
  if (settings.kind === 'proxy') logins.push(loginOf(settings));
  return logins.filter((login) => login !== undefined);
}

/** Each scheme has a variable of its own, as for other programs: http_proxy says nothing about https://. */
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
    port: port === '' ? defaultPort(protocol) : Number(port),
    ...(login === undefined ? {} : { authorization: basicAuthorization(login) }),
  };
}

function defaultPort(protocol: 'http:' | 'https:'): number {
  return protocol === 'https:' ? 443 : 80;
}

function loginOf(settings: { url: string; username?: string; password?: string }): Login | undefined {
  const { username = '', password = '' } = settings;
  return username === '' && password === '' ? loginIn(settings.url) : { username, password };
}

function loginIn(address: string): Login | undefined {
  const url = parseAddress(address);
  return url && loginOfUrl(url);
}

/** Many write `proxy.example:3128`. */
function parseAddress(text: string): URL | undefined {
  const trimmed = text.trim();
  const address = SCHEME.test(trimmed) ? trimmed : `http://${trimmed}`;
  return URL.canParse(address) ? new URL(address) : undefined;
}

/** The address itself may hold a password, so it is not repeated. */
function unusable(where: string, reason: string): RvmError {
  return new RvmError(
    'CONFIG_MISSING',
    `The proxy address ${where} ${reason}: enter one such as http://proxy.example:3128.`,
  );
}
