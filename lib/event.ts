import { isZeroDate } from './time';

/**
 * The event: the payload of an authentic webhook message, with the field names of the specification (section 2, Payload). Every
 * field is optional at run time, because a tolerant receiver refuses nothing that is proven genuine; unknown fields are kept.
 */
export interface RvmEvent {
  version?: string;
  agentUserId?: string;
  agentUserTenantId?: string;
  alarmId?: string;
  alarmTenantId?: string;
  eventClass?: string;
  eventName?: string;
  eventType?: string;
  eventRuleName?: string | null;
  eventStartTime?: string;
  eventEndTime?: string | null;
  entityTenantId?: string;
  locationId?: string;
  locationName?: string;
  serverId?: string;
  serverName?: string | null;
  cameraId?: string | null;
  cameraName?: string | null;
  cameraRemoteId?: string | null;
  clipId?: string | null;
  clipUri?: string | null;
  gatewayId?: string | null;
  [field: string]: unknown;
}

/**
 * True where the event has ended: it carries an `eventEndTime` (specification, section 2: null while the event is ongoing).
 * Null, an empty text and the zero date say that it has not.
 */
export function isEnd(event: RvmEvent): boolean {
  const end: unknown = event.eventEndTime;
  if (typeof end === 'number') return true;
  return typeof end === 'string' && end.trim() !== '' && !isZeroDate(end);
}

/**
 * True for an event of exactly the class `health`. All others count as security, because an alarm too many is better than one
 * too few.
 */
export function isHealth(event: RvmEvent): boolean {
  return event.eventClass === 'health';
}
