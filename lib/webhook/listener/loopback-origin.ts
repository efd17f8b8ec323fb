import type { AddressInfo } from 'node:net';

/**
 * Origin by which this machine reaches a server of its own, such as `https://127.0.0.1:8443`.
 * @param address what the server says of itself; undefined where it does not listen on a port
 */
export function loopbackOrigin(
  scheme: 'http' | 'https',
  address: AddressInfo | string | null,
): string | undefined {
  if (address === null || typeof address === 'string') return undefined;
  const everywhere = address.address === '::' || address.address === '0.0.0.0';
  const host = everywhere ? '127.0.0.1' : address.address;
  return `${scheme}://${host.includes(':') ? `[${host}]` : host}:${address.port}`;
}
