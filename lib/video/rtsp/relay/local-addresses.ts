import { BlockList, isIPv4 } from 'node:net';

/** Of this machine, of private networks and of no single machine (IANA, special-purpose address registries). */
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
  // Networks translate to IPv4 here as they like.
  ['64:ff9b:1::', 48],
  // Teredo: the address within is hidden by a mask.
  ['2001::', 32],
];
/** Before an IPv4 address these make it one of IPv6: as is, mapped, and translated (RFC 4291, section 2.5.5; RFC 2765; RFC 6052). */
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

/** As 6to4 has it (RFC 3056, section 2). */
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
