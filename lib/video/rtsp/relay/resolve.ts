import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import { RvmError } from '../../../error';
import { isExempt, type RelayRules } from '../relay-rules';
import { isLocal } from './local-addresses';

/** Of one relay, so many are tried. */
const MOST = 4;

export interface Address {
  address: string;
  family: number;
}

/**
 * The addresses of a relay that the rules allow: the only ones to connect to, since its name may lead elsewhere a moment later.
 * @throws RvmError NETWORK where its name has no address, UNTRUSTED_LINK where it has none that is allowed
 */
export async function resolveRelay(
  place: { host: string; port: number },
  rules: RelayRules,
): Promise<readonly Address[]> {
  const found = await addressesOf(place.host);
  const isFree = rules.localAllowed || isExempt(rules, place);
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
