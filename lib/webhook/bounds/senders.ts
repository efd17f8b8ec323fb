import type { IncomingMessage } from 'node:http';
import { BlockList, isIP, isIPv6 } from 'node:net';
import { RvmError } from '../../error';

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
