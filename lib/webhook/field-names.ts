/** Fields of the envelope (specification, section 2, Envelope). */
export const ENVELOPE_FIELDS: readonly string[] = [
  'payloadType',
  'version',
  'messageId',
  'transmitTime',
  'logCorrelationId',
  'authenticationToken',
  'payload',
];

/** Fields of the event (specification, section 2, Payload). */
export const EVENT_FIELDS: readonly string[] = [
  'version',
  'agentUserId',
  'agentUserTenantId',
  'alarmId',
  'alarmTenantId',
  'eventClass',
  'eventName',
  'eventType',
  'eventRuleName',
  'eventStartTime',
  'eventEndTime',
  'entityTenantId',
  'locationId',
  'locationName',
  'serverId',
  'serverName',
  'cameraId',
  'cameraName',
  'cameraRemoteId',
  'clipId',
  'clipUri',
  'gatewayId',
];

/**
 * A copy whose known fields carry the names of the specification: samples write `Version`, so either case of
 * the first letter is taken. Unknown fields are kept as they are. Undefined where one field comes in both
 * spellings with different values: then nobody can say which was meant.
 */
export function withSpecifiedNames(
  record: Readonly<Record<string, unknown>>,
  names: readonly string[],
): Record<string, unknown> | undefined {
  const specified = new Map(names.map((name) => [name.charAt(0).toUpperCase() + name.slice(1), name]));
  const copy: Record<string, unknown> = {};
  for (const [field, value] of Object.entries(record)) {
    const name = specified.get(field) ?? field;
    if (Object.hasOwn(copy, name) && JSON.stringify(copy[name]) !== JSON.stringify(value)) return undefined;
    copy[name] = value;
  }
  return copy;
}
