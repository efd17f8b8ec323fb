import { createHmac } from 'node:crypto';
import type { ReceivingStation } from '../../lib/webhook/proof/receiving-station';

export const PHRASE = 'seven calm otters cross the quay';

/** A station with a usable phrase; signature by header unless said. */
export function station(changes: Partial<ReceivingStation> = {}): ReceivingStation {
  return {
    key: 'north',
    name: 'North Station',
    scheme: 'http',
    secret: PHRASE,
    // As the nodes tell it: the phrase comes with the variable.
    previousSecret: '',
    agentUserId: '',
    acceptBareSignature: false,
    sandbox: false,
    ...changes,
  };
}

export const AGENT_USER = '5a0c6b0e-1f9b-4f0a-9d6e-0a3f6f2f7b11';

/** Minutes ago as the service writes times of events: UTC without a zone. */
export function minutesAgo(minutes: number): string {
  return new Date(Date.now() - minutes * 60_000).toISOString().replace('Z', '');
}

export function payload(changes: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    Version: '1.0.0',
    agentUserId: AGENT_USER,
    agentUserTenantId: '0e4de3cf-93a1-4f0c-bb8e-3b1f6f1d0a01',
    alarmId: '7d1f8b34-6f0e-4d7e-8d3b-6a5f1c9e2b02',
    alarmTenantId: '9c2e7a45-7a1f-4e8f-9e4c-7b6a2d0f3c03',
    eventClass: 'security',
    eventName: 'Intrusion',
    eventType: 'ObjectEnters',
    eventRuleName: 'Intrusion',
    eventStartTime: minutesAgo(0),
    eventEndTime: null,
    entityTenantId: '9c2e7a45-7a1f-4e8f-9e4c-7b6a2d0f3c03',
    locationId: '1b3d5f70-8b2a-4f9a-af5d-8c7b3e1a4d04',
    locationName: 'Harbour Depot',
    serverId: '2c4e6a81-9c3b-4a0b-b06e-9d8c4f2b5e05',
    serverName: 'Recorder 1',
    cameraId: '3d5f7b92-0d4c-4b1c-817f-0e9d503c6f06',
    cameraName: 'Gate 1',
    cameraRemoteId: 'kq3_Zt-7RmW0a1',
    clipId: '4e608ca3-1e5d-4c2d-9280-1fae614d7007',
    clipUri: 'https://clips.example.com/4e608ca3',
    gatewayId: '5f719db4-2f6e-4d3e-a391-20bf725e8108',
    ...changes,
  };
}

let count = 0;

/** An envelope with an id of its own; `authenticationToken` null unless given. */
export function envelope(
  changes: Record<string, unknown> = {},
  payloadChanges: Record<string, unknown> = {},
): Record<string, unknown> {
  count++;
  return {
    payloadType: 'BlueEvent',
    version: '1.0.0',
    messageId: `message-${count}`,
    transmitTime: new Date().toISOString(),
    logCorrelationId: `correlation-${count}`,
    authenticationToken: null,
    payload: payload(payloadChanges),
    ...changes,
  };
}

export function signatureOf(body: string | Uint8Array, phrase = PHRASE): string {
  return createHmac('sha256', phrase).update(body).digest('base64');
}

/** The `Authorization` value of the service for a body. */
export function authorizationFor(body: string | Uint8Array, phrase = PHRASE): string {
  return `HMAC-SHA256 ${signatureOf(body, phrase)}`;
}

export interface Signed {
  body: string;
  headers: Record<string, string>;
}

/** A message as the service sends it to an endpoint with http. */
export function signed(
  changes: Record<string, unknown> = {},
  payloadChanges: Record<string, unknown> = {},
): Signed {
  const body = JSON.stringify(envelope(changes, payloadChanges));
  return { body, headers: { Authorization: authorizationFor(body) } };
}

/** A message as the service sends it to an endpoint with https. */
export function withToken(changes: Record<string, unknown> = {}): Signed {
  return { body: JSON.stringify(envelope({ authenticationToken: PHRASE, ...changes })), headers: {} };
}
