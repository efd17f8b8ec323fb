import { RvmError } from '../../error';

/** Which relays a stream may come from. What a relay redirects to keeps them, too. */
export interface RelayRules {
  /**
   * A relay's host must be one of these, or end with a dot and one of these. None: the first URL came in an authenticated answer
   * of the service and may name any host, and a redirect no other.
   */
  suffixes: readonly string[];
  /** Whether addresses of this machine and of private networks are good as well. */
  localAllowed: boolean;
  /** A server of our own, such as the sandbox's: good wherever it is. */
  exempt?: { host: string; port: number };
}

interface Place {
  host: string;
  port: number;
}

/** Whether it is the server that no rule holds for. */
export function isExempt({ exempt }: RelayRules, { host, port }: Place): boolean {
  return exempt !== undefined && plainHost(exempt.host) === plainHost(host) && exempt.port === port;
}

/**
 * @param first where the stream was looked for at first: the same, unless a relay redirected to this one
 * @throws RvmError UNTRUSTED_LINK for a host that is not allowed
 */
export function checkHost(rules: RelayRules, place: Place, first: Place): void {
  if (isExempt(rules, place)) return;
  const host = plainHost(place.host);
  if (rules.suffixes.length === 0 && host === plainHost(first.host)) return;
  if (rules.suffixes.some((suffix) => isBelow(host, plainHost(suffix)))) return;
  throw new RvmError(
    'UNTRUSTED_LINK',
    place === first
      ? 'The service sent to a video relay that is none of the relay hosts of the cloud; if it is right, add its host there.'
      : 'The video relay sent to another host; if that is right, add both hosts to the relay hosts of the cloud.',
  );
}

function isBelow(host: string, suffix: string): boolean {
  const plain = suffix.replace(/^\./, '');
  return plain !== '' && (host === plain || host.endsWith(`.${plain}`));
}

/** In small letters, without the brackets of IPv6 and without the dot at the end of a whole name. */
function plainHost(host: string): string {
  return host
    .trim()
    .toLowerCase()
    .replace(/^\[(.*)\]$/, '$1')
    .replace(/\.$/, '');
}
