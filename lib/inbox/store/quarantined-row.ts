import type { QuarantinedMessage, QuarantineSum } from '../inbox';
import type { Quarantined, QuarantinedSum } from './protocol';

/** What a quarantined message carries besides its columns. */
type QuarantinedFacts = Pick<
  QuarantinedMessage,
  'receivedTime' | 'remoteAddress' | 'authorization' | 'tokenDigest' | 'reason'
>;

export function quarantinedRow({ endpointId, body, ...facts }: QuarantinedMessage): Quarantined {
  return {
    endpoint: endpointId,
    address: facts.remoteAddress ?? '',
    facts: JSON.stringify(facts satisfies QuarantinedFacts),
    bytes: new Uint8Array(body),
  };
}

export function messageOfRow({
  id,
  endpoint,
  facts,
  bytes,
}: Quarantined & { id: number }): QuarantinedMessage & { id: number } {
  return { ...(JSON.parse(facts) as QuarantinedFacts), id, endpointId: endpoint, body: bytes };
}

export function quarantineSum({ endpoint, count, id, facts }: QuarantinedSum): QuarantineSum {
  const { receivedTime, remoteAddress, reason } = JSON.parse(facts) as QuarantinedFacts;
  return {
    endpointId: endpoint,
    count,
    lastId: id,
    lastTime: receivedTime,
    ...(remoteAddress !== undefined && { lastAddress: remoteAddress }),
    ...(reason !== undefined && { lastReason: reason }),
  };
}
