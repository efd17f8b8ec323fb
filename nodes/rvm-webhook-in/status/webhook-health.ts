import type { NodeAPI } from 'node-red';
import type { WebhookFacts } from '../../../lib/watch/findings';
import { shownText } from '../../support/status';
import type { WebhookServer } from '../../support/webhook-server';
import type { ProvenMessages } from '../stations/proven-messages';
import type { ServedStations } from '../stations/served-stations';
import { webhookStatus, type WebhookState } from './webhook-status';

/** What a *webhook in* says of itself to who looks after all of it. */
export interface WebhookHealth extends Pick<
  WebhookFacts,
  'down' | 'isUnproven' | 'isClockBehind' | 'silent'
> {
  /** Short names of the Central Stations that it serves. */
  stations: readonly string[];
}

export function webhookHealth(
  RED: NodeAPI,
  state: WebhookState,
  stations: Pick<ServedStations, 'all' | 'areRunning'>,
  server: WebhookServer,
  { silentSince, silentAfter: hours, isClockBehind }: ProvenMessages,
): WebhookHealth {
  return {
    stations: stations.all.map(({ key }) => key),
    down: downOf(RED, state, stations.areRunning, server),
    isUnproven: state.isUnproven,
    isClockBehind,
    silent: silentSince instanceof Date ? { hours, since: silentSince.toISOString() } : silentSince,
  };
}

function downOf(
  RED: NodeAPI,
  state: WebhookState,
  areRunning: boolean,
  server: WebhookServer,
): WebhookHealth['down'] {
  const listenerFault = server.fault?.();
  if (listenerFault !== undefined) return { reason: listenerFault };
  const { fault, unsetVariables, serverStatus, hasStations, mayJudge } = state;
  const shown = { status: shownText(RED, webhookStatus(RED, state)) };
  // A property that is wrong may keep nothing out.
  const isOut = fault !== undefined && fault !== 'wrongSetting';
  if (isOut || unsetVariables !== undefined || serverStatus !== undefined || !hasStations) return shown;
  if (!areRunning || server.loopbackOrigin() === undefined) return 'unknown';
  return mayJudge ? undefined : shown;
}
