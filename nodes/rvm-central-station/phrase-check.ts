import type { NodeAPI } from 'node-red';
import { sharePhrase } from '../../lib/webhook/proof/receiving-station';
import { allStations } from './find-station';

/**
 * Phrases tell stations apart, so two that have one are told of it: at each start of the flows, and when a station comes to
 * have its phrase later, as it does in the sandbox.
 */
export function checkPhrases(RED: NodeAPI): void {
  const all = allStations(RED).map((station) => ({ station, receiving: station.receiving() }));
  const isCertain = all.every(({ station }) => station.notReceiving() !== 'not-ready');
  for (const mine of all) {
    const others = all.filter((other) => other !== mine && sharePhrase(mine.receiving, other.receiving));
    mine.station.setSamePhrase({ as: others.map(({ station }) => station), isCertain });
  }
}
