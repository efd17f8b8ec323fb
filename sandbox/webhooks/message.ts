import { createHmac } from 'node:crypto';
import { zonelessTime } from '../text';
import type { Camera, Site } from '../world/sites';
import type { Station } from '../world/stations';

/** An event at a site, independent of the stations that it is sent to. */
export interface Occurrence {
  alarmId: string;
  eventClass: 'security' | 'health';
  eventName: string;
  eventType: string;
  site: Site;
  /** Undefined for an event of the server. */
  camera: Camera | undefined;
  /** The video clip; only security events have one. */
  clip: { clipId: string; clipUri: string } | undefined;
  /** Milliseconds since 1970. */
  startedAt: number;
}

/** The part of a message that stays the same in every resend. */
export interface Message {
  messageId: string;
  logCorrelationId: string;
  payload: object;
}

const MESSAGE_VERSION = '1.0.0';

/**
 * The payload in the form of the sample messages (specification, section 2, Payload): the version field is `Version`, times
 * have no zone. Events of a server have no camera fields.
 */
export function payloadOf(occurrence: Occurrence, station: Station, endedAt: number | undefined): object {
  const { site, camera, clip } = occurrence;
  const cameraFields = camera && {
    cameraId: camera.id,
    cameraName: camera.name,
    cameraRemoteId: camera.remoteId,
  };
  return {
    Version: MESSAGE_VERSION,
    agentUserId: station.agentUserId,
    agentUserTenantId: station.agentUserTenantId,
    alarmId: occurrence.alarmId,
    alarmTenantId: site.customer.id,
    eventClass: occurrence.eventClass,
    eventName: occurrence.eventName,
    eventType: occurrence.eventType,
    eventRuleName: occurrence.eventName,
    eventStartTime: zonelessTime(occurrence.startedAt),
    eventEndTime: endedAt === undefined ? null : zonelessTime(endedAt),
    entityTenantId: site.customer.id,
    locationId: site.id,
    locationName: site.name,
    serverId: site.server.id,
    serverName: site.server.name,
    ...cameraFields,
    ...clip,
    gatewayId: site.gatewayId,
  };
}

/**
 * The HTTP request of one attempt, with the proof that the scheme of the station's endpoint requires (specification, section
 * 5): https = the phrase in `authenticationToken`, http = the HMAC of the body.
 */
export function signedRequest(
  message: Message,
  station: Station,
  at: number,
): { body: Buffer; headers: Record<string, string> } {
  const envelope = {
    payloadType: 'BlueEvent',
    version: MESSAGE_VERSION,
    messageId: message.messageId,
    transmitTime: new Date(at).toISOString(),
    logCorrelationId: message.logCorrelationId,
    authenticationToken: station.scheme === 'https' ? station.secret : null,
    payload: message.payload,
  };
  const body = Buffer.from(JSON.stringify(envelope), 'utf8');
  const headers = { 'Content-Type': 'application/json', 'Content-Length': String(body.length) };
  if (station.scheme === 'https') return { body, headers };
  const hmac = createHmac('sha256', Buffer.from(station.secret, 'utf8')).update(body).digest('base64');
  return { body, headers: { ...headers, Authorization: `HMAC-SHA256 ${hmac}` } };
}
