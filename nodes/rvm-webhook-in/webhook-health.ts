import type { WebhookState } from './webhook-status';

/** What a *webhook in* says of itself to who looks after all of it. */
export interface WebhookHealth {
  /** Short names of the Central Stations that it serves. */
  stations: readonly string[];
  /** Why nothing can come in by it: what its listener says, or '' where its status says why. */
  down: { reason: string } | 'unknown' | undefined;
  /** Messages were refused for a reason that a wrong phrase has, and nobody has seen it. */
  isUnproven: boolean;
  /** True where the last message came from the future; undefined until one has come. */
  isClockBehind: boolean | undefined;
  /** Too many hours without a proven message, and when the last one came. */
  silent: { hours: number; since: string } | 'unknown' | undefined;
}

/** What stands behind that, beside its status. */
interface Circumstances {
  stations: readonly string[];
  /** Its server has a port. */
  isListening: boolean;
  listenerFault: string | undefined;
  areRunning: boolean;
  isClockBehind: boolean | undefined;
  silentSince: Date | 'unknown' | undefined;
  /** Hours. */
  silentAfter: number;
}

export function webhookHealth(state: WebhookState, of: Circumstances): WebhookHealth {
  const { stations, isClockBehind, silentSince, silentAfter: hours } = of;
  return {
    stations,
    down: downOf(state, of),
    isUnproven: state.isUnproven,
    isClockBehind,
    silent: silentSince instanceof Date ? { hours, since: silentSince.toISOString() } : silentSince,
  };
}

function downOf(state: WebhookState, of: Circumstances): WebhookHealth['down'] {
  if (of.listenerFault !== undefined) return { reason: of.listenerFault };
  const { fault, unsetVariables, serverStatus, hasStations, mayJudge } = state;
  // A property that is wrong may keep nothing out.
  const isOut = fault !== undefined && fault !== 'wrongSetting';
  if (isOut || unsetVariables !== undefined || serverStatus !== undefined || !hasStations)
    return { reason: '' };
  if (!of.areRunning || !of.isListening) return 'unknown';
  return mayJudge ? undefined : { reason: '' };
}
