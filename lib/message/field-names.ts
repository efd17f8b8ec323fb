/** Names of the specification, by the same with a capital first letter. */
type SpecifiedNames = ReadonlyMap<string, string>;

/** Fields of the envelope (specification, section 2, Envelope). */
export const ENVELOPE_FIELDS = specifiedNames(
  'payloadType',
  'version',
  'messageId',
  'transmitTime',
  'logCorrelationId',
  'authenticationToken',
  'payload',
);

/** Fields of the event (specification, section 2, Payload). */
export const EVENT_FIELDS = specifiedNames(
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
);

/**
 * A copy whose known fields carry the names of the specification: samples write `Version`, so either case of
 * the first letter is taken. Unknown fields are kept as they are. Undefined where one field comes in both
 * spellings with different values: then nobody can say which was meant.
 */
export function withSpecifiedNames(
  record: Readonly<Record<string, unknown>>,
  names: SpecifiedNames,
): Record<string, unknown> | undefined {
  const fields = Object.entries(record).map(([field, value]) => [names.get(field) ?? field, value] as const);
  const copy: Record<string, unknown> = Object.fromEntries(fields);
  const isAmbiguous = ([name, value]: readonly [string, unknown]): boolean =>
    value !== copy[name] && JSON.stringify(value) !== JSON.stringify(copy[name]);
  return fields.some(isAmbiguous) ? undefined : copy;
}

function specifiedNames(...names: string[]): SpecifiedNames {
  return new Map(names.map((name) => [name.charAt(0).toUpperCase() + name.slice(1), name]));
}
