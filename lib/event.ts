/**
 * The event: the payload of an authentic webhook message, with the field names of the specification
 * (section 2, Payload). Every field is optional at run time, because a tolerant receiver refuses nothing
 * that is proven genuine; unknown fields are kept.
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
