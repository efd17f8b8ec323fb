import { BlockList, isIP, isIPv6 } from 'node:net';
import { domainToASCII } from 'node:url';

interface NamedException {
  /** A name and all below it, or one address. */
  host: string;
  /** Undefined is any. */
  port: number | undefined;
}

/**
 * The addresses that no proxy is asked for, as in no_proxy: `*`, a name and all below it (`example.com`,
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

  /** What is no range excepts nothing. */
  #addRange(address: string, prefix: number): void {
    const version = isIP(address);
    if (version === 0 || prefix > (version === 6 ? 128 : 32)) return;
    this.#ranges.addSubnet(address, prefix, version === 6 ? 'ipv6' : 'ipv4');
  }
}

/** Some enter addresses as they stand in a browser. */
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

/** As it stands in a URL. */
function canonical(host: string): string {
  if (isIPv6(host)) return new URL(`http://[${host}]`).hostname.slice(1, -1);
  return domainToASCII(host) || host;
}
