export type TransportKind = 'tcp' | 'udp';

/** One alternative of a `Transport` header that we can serve. */
export type TransportChoice =
  | { kind: 'tcp'; channels?: readonly [number, number] }
  | { kind: 'udp'; clientPorts: readonly [number, number] };

/**
 * The first alternative that is allowed and complete; undefined = none (461).
 * `RTP/AVP` and `RTP/AVP/UDP` mean the same (RFC 2326, section 12.39). Where the stream goes is not for the
 * client to say: a `destination` is ignored, packets go to the address its connection came from.
 */
export function chooseTransport(
  header: string,
  allowed: readonly TransportKind[],
): TransportChoice | undefined {
  for (const alternative of header.split(',')) {
    const choice = parseAlternative(alternative.trim());
    if (choice !== undefined && allowed.includes(choice.kind)) return choice;
  }
  return undefined;
}

function parseAlternative(text: string): TransportChoice | undefined {
  const [protocol = '', ...parameters] = text.split(';').map((part) => part.trim());
  const names = parameters.map((parameter) => parameter.toLowerCase());
  if (names.includes('multicast')) return undefined;
  const mode = names.find((name) => name.startsWith('mode='));
  if (mode !== undefined && !/^mode="?play"?$/.test(mode)) return undefined;
  switch (protocol.toUpperCase()) {
    case 'RTP/AVP/TCP':
      return interleaved(names);
    case 'RTP/AVP':
    case 'RTP/AVP/UDP':
      return datagrams(names);
    default:
      return undefined;
  }
}

function interleaved(names: readonly string[]): TransportChoice | undefined {
  const wanted = names.find((name) => name.startsWith('interleaved='));
  if (wanted === undefined) return { kind: 'tcp' };
  const channels = pair(wanted, 255);
  return channels && { kind: 'tcp', channels };
}

function datagrams(names: readonly string[]): TransportChoice | undefined {
  const clientPorts = pair(
    names.find((name) => name.startsWith('client_port=')),
    65_535,
  );
  return clientPorts && clientPorts[0] > 0 ? { kind: 'udp', clientPorts } : undefined;
}

// `name=5` means 5 and its neighbour 6.
function pair(parameter: string | undefined, max: number): readonly [number, number] | undefined {
  const match = /^[a-z_]+=(\d{1,5})(?:-(\d{1,5}))?$/.exec(parameter ?? '');
  if (match === null) return undefined;
  const first = Number(match[1]);
  const second = match[2] === undefined ? first + 1 : Number(match[2]);
  return first <= max && second <= max && first !== second ? [first, second] : undefined;
}
